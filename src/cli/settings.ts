/** Reads the command line of a command: its own options, the settings, and what stands alone. */
import {
  environmentName,
  flagName,
  type LoadedConfig,
  loadConfig,
  SETTINGS,
  type SettingName,
  settingNames,
  unknownSetting,
} from '../config.ts'
import { BadSetting } from '../setting-parsers.ts'

/** `switch` stands alone, `value` takes what follows, `values` may come again. */
export type OptionKind = 'switch' | 'value' | 'values'
export type OptionTable = Readonly<Record<`--${string}`, OptionKind>>

export interface CommandLine extends LoadedConfig {
  /** The values of the command's own options by their name; a switch that is given has an empty list. */
  readonly options: ReadonlyMap<string, readonly string[]>
  /** What is neither an option nor the value of one. */
  readonly rest: readonly string[]
}

/** Flags win over the environment, the environment over the declarative file. */
export async function readSettings(args: readonly string[], own: OptionTable = {}): Promise<CommandLine> {
  const { flags, options, rest } = splitFlags(args, own)
  const environment = process.env
  const path = flags[flagName('config')] ?? environment[environmentName('config')] ?? ''
  const file = path === '' ? {} : await settingsOfFile(path, environment)
  return { ...loadConfig({ environment, flags, file }), options, rest }
}

async function settingsOfFile(path: string, environment: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const { readDeclaration, settingsOf } = await import('../declarative/read.ts')
  return settingsOf(readDeclaration(path), environment)
}

/** `--name value`, `--name=value`, and `--name` alone for what is true or false. */
function splitFlags(args: readonly string[], own: OptionTable) {
  const kinds = new Map<string, OptionKind>(Object.entries(own))
  const flags: Record<string, string> = {}
  const options = new Map<string, string[]>()
  const rest: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (!arg.startsWith('--')) {
      rest.push(arg)
      continue
    }
    const equals = arg.indexOf('=')
    const name = equals < 0 ? arg : arg.slice(0, equals)
    const written = equals < 0 ? undefined : arg.slice(equals + 1)
    const kind = kinds.get(name)
    if (kind === 'switch') {
      if (written !== undefined) throw new BadSetting(`${name} takes no value`)
      options.set(name, [])
    } else if (kind !== undefined) {
      const value = written ?? valueAfter(args, index++, name)
      if (kind === 'value' && options.has(name)) throw new BadSetting(`${name} is given twice`)
      options.set(name, [...(options.get(name) ?? []), value])
    } else {
      const setting = settingNames().find((candidate) => flagName(candidate) === name)
      if (setting === undefined) throw unknownFlag(name, own)
      flags[name] = written ?? (isSwitch(setting) ? 'true' : valueAfter(args, index++, name))
    }
  }
  return { flags, options, rest }
}

function isSwitch(name: SettingName): boolean {
  return ['true', 'false'].includes(SETTINGS[name].default)
}

function unknownFlag(flag: string, own: OptionTable): BadSetting {
  return unknownSetting(flag, [...Object.keys(own), ...settingNames().map(flagName)])
}

function valueAfter(args: readonly string[], index: number, flag: string): string {
  const value = args[index + 1]
  if (value === undefined) throw new BadSetting(`${flag} needs a value`)
  return value
}
