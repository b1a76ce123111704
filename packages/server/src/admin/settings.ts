/** The effective settings for administrators: each with its source, secrets masked. */
import { environmentName, fileName, SETTINGS, settingNames } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { SettingInForce } from './ports.ts'

const MASK = '********'

export function showSettings({ texts, sources }: Pick<LoadedConfig, 'texts' | 'sources'>): SettingInForce[] {
  return settingNames().map((name) => ({
    name: fileName(name),
    environment: environmentName(name),
    value: texts[name] !== '' && 'secret' in SETTINGS[name] && SETTINGS[name].secret ? MASK : texts[name],
    source: sources[name],
    description: SETTINGS[name].help,
  }))
}
