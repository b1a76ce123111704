/** The table of settings, from which flags, environment variables, names in files and the docs are derived. */
import { AGENT_SETTINGS } from './agent-settings.ts'
import { ALERT_SETTINGS } from './alert-settings.ts'
import { BACKUP_SETTINGS } from './backup-settings.ts'
import { IDENTITY_SETTINGS } from './identity-settings.ts'
import { MAIL_SETTINGS } from './mail-settings.ts'
import { NODE_SETTINGS } from './node-settings.ts'
import { QUERY_SETTINGS } from './query-settings.ts'
import { STREAMING_SETTINGS } from './streaming-settings.ts'
import { WIRE_SETTINGS } from './wire-settings.ts'

/** The key determines the other names: `databaseUrl` is `GATEHOUSE_DATABASE_URL`, `--database-url`, and `database_url` in a file. */
export const SETTINGS = {
  ...NODE_SETTINGS,
  ...BACKUP_SETTINGS,
  ...IDENTITY_SETTINGS,
  ...MAIL_SETTINGS,
  ...QUERY_SETTINGS,
  ...ALERT_SETTINGS,
  ...STREAMING_SETTINGS,
  ...WIRE_SETTINGS,
  ...AGENT_SETTINGS,
} as const

export type SettingName = keyof typeof SETTINGS
export type Config = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> }

export function settingNames(): SettingName[] {
  return Object.keys(SETTINGS) as SettingName[]
}

export function environmentName(name: SettingName): string {
  return `GATEHOUSE_${words(name).join('_').toUpperCase()}`
}

export function flagName(name: SettingName): string {
  return `--${words(name).join('-')}`
}

export function fileName(name: SettingName): string {
  return words(name).join('_')
}

function words(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
}
