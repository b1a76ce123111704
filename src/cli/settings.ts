/** Reads the settings of a command from its flags, the environment and the declarative file. */
import {
  BadSetting,
  type Config,
  flagName,
  loadConfig,
  SETTINGS,
  type SettingName,
  type SourceOf,
  settingNames,
} from '../config.ts'

export function readSettings(args: readonly string[]): { config: Config; sources: SourceOf; rest: string[] } {
  const { flags, rest } = splitFlags(args)
  const { config, sources } = loadConfig({ environment: process.env, flags })
  return { config, sources, rest }
}

/** `--name value`, `--name=value`, and `--name` alone for a setting that is true or false. */
function splitFlags(args: readonly string[]): { flags: Record<string, string>; rest: string[] } {
  const flags: Record<string, string> = {}
  const rest: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (!arg.startsWith('--')) {
      rest.push(arg)
      continue
    }
    const equals = arg.indexOf('=')
    const name = equals < 0 ? arg : arg.slice(0, equals)
    if (equals >= 0) flags[name] = arg.slice(equals + 1)
    else if (isSwitch(name)) flags[name] = 'true'
    else flags[name] = valueAfter(args, index++, name)
  }
  return { flags, rest }
}

function isSwitch(flag: string): boolean {
  const name = settingNames().find((candidate: SettingName) => flagName(candidate) === flag)
  return name !== undefined && SETTINGS[name].default === 'false'
}

function valueAfter(args: readonly string[], index: number, flag: string): string {
  const value = args[index + 1]
  if (value === undefined) throw new BadSetting(`${flag} needs a value`)
  return value
}
