/** The argument parser of every command: its own options, settings given as flags, and positional arguments. */
import { parseArgs } from 'node:util'
import { nearest } from 'gatehouse-protocol'
import { flagName, SETTINGS, type SettingName, settingNames } from '../config/config.ts'
import { UsageError } from './errors.ts'
import { programName } from './program.ts'

export type OptionName = `--${string}`

export interface CommandOption {
  /** Placeholder of the value in the help; an option without one is a flag. */
  readonly value?: string
  readonly short?: string
  readonly repeatable?: true
  readonly required?: true
  readonly help: string
}

export type OptionTable = Readonly<Record<OptionName, CommandOption>>

export interface Syntax {
  readonly name: string
  /** In order; `[NAME]` is optional. */
  readonly positionals?: readonly string[]
  readonly options?: OptionTable
  /** Whether every setting is accepted as a flag. */
  readonly settings?: true
}

/** The arguments of one call. Asking for an option that the command does not declare is a programming error. */
export class Arguments {
  readonly positionals: readonly string[]
  /** Settings by their flag, as written. */
  readonly settings: Readonly<Record<string, string>>
  readonly #declared: OptionTable
  readonly #given: ReadonlyMap<string, readonly string[]>

  constructor(
    declared: OptionTable,
    given: ReadonlyMap<string, readonly string[]>,
    positionals: readonly string[],
    settings: Readonly<Record<string, string>>,
  ) {
    this.#declared = declared
    this.#given = given
    this.positionals = positionals
    this.settings = settings
  }

  values(name: OptionName): readonly string[] {
    if (!Object.hasOwn(this.#declared, name)) throw new Error(`The command does not declare ${name}`)
    return this.#given.get(name) ?? []
  }

  value(name: OptionName): string | undefined {
    return this.values(name)[0]
  }

  has(name: OptionName): boolean {
    return this.values(name).length > 0
  }

  integer(name: OptionName, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}): number | undefined {
    const text = this.value(name)
    if (text === undefined) return undefined
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    throw new UsageError(`${name} takes a whole number ${range}, not "${text}"`)
  }

  choice<const T extends string>(name: OptionName, choices: readonly T[]): T | undefined {
    const text = this.value(name)
    const chosen = choices.find((choice) => choice === text)
    if (text !== undefined && chosen === undefined)
      throw new UsageError(`${name} takes one of ${choices.join(', ')}, not "${text}"`)
    return chosen
  }

  /** The `NAME=VALUE` pairs of a repeatable option. */
  pairs(name: OptionName): ReadonlyMap<string, string> {
    const pairs = new Map<string, string>()
    for (const text of this.values(name)) {
      const equals = text.indexOf('=')
      const key = text.slice(0, equals)
      if (equals < 1) throw new UsageError(`${name} takes NAME=VALUE, not "${text}"`)
      if (pairs.has(key)) throw new UsageError(`${name} ${key} is given twice`)
      pairs.set(key, text.slice(equals + 1))
    }
    return pairs
  }
}

export function parseArguments(command: Syntax, args: readonly string[]): Arguments {
  const options = new Map<string, CommandOption>(Object.entries(command.options ?? {}))
  const flags = new Map(command.settings ? settingNames().map((name) => [flagName(name), name]) : [])
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  const settings = new Map<string, string>()
  for (const token of tokenize(args, options, flags)) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const name = options.has(`--${token.name}`) ? `--${token.name}` : token.rawName
    const option = options.get(name)
    const setting = flags.get(name)
    if (option !== undefined) {
      if (option.value !== undefined && option.repeatable !== true && given.has(name))
        throw new UsageError(`${name} is given twice`)
      given.set(name, [...(given.get(name) ?? []), option.value === undefined ? flagValue(token) : valueAfter(token)])
    } else if (setting !== undefined) {
      // The last one counts, so that a wrapper script can be overridden.
      settings.set(name, isBoolean(setting) ? (token.value ?? 'true') : valueAfter(token))
    } else {
      throw unknownOption(name, command.name, [...options.keys(), ...flags.keys()])
    }
  }
  for (const [name, { required, value }] of options)
    if (required && !given.has(name)) throw new UsageError(`${command.name} needs ${name} ${value}`)
  checkCount(command, positionals.length)
  return new Arguments(command.options ?? {}, given, positionals, Object.fromEntries(settings))
}

/** `user add USERNAME [OPTIONS] [SETTINGS]` */
export function formatUsage({ name, positionals = [], options = {}, settings }: Syntax): string {
  const all = Object.entries(options)
  const required = all.filter(([, option]) => option.required).map(([long, { value }]) => `${long} ${value}`)
  return [
    name,
    ...positionals,
    ...required,
    ...(all.length > required.length ? ['[OPTIONS]'] : []),
    ...(settings ? ['[SETTINGS]'] : []),
  ].join(' ')
}

interface OptionToken {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

/** Not strict, because the parser's own messages do not say what to do. */
function tokenize(
  args: readonly string[],
  options: ReadonlyMap<string, CommandOption>,
  flags: ReadonlyMap<string, SettingName>,
) {
  const known = [
    ...[...options].map(([name, { value, short }]) => [
      name.slice(2),
      { type: value === undefined ? 'boolean' : 'string', ...(short === undefined ? {} : { short }) } as const,
    ]),
    ...[...flags].map(([name, setting]) => [
      name.slice(2),
      { type: isBoolean(setting) ? 'boolean' : 'string' } as const,
    ]),
  ]
  return parseArgs({ args: [...args], options: Object.fromEntries(known), strict: false, tokens: true }).tokens
}

function isBoolean(name: SettingName): boolean {
  return ['true', 'false'].includes(SETTINGS[name].default)
}

function flagValue({ rawName, inlineValue }: OptionToken): string {
  if (inlineValue) throw new UsageError(`${rawName} takes no value`)
  return ''
}

function valueAfter({ rawName, value, inlineValue }: OptionToken): string {
  if (value === undefined) throw new UsageError(`${rawName} needs a value`)
  if (!inlineValue && /^-./.test(value))
    throw new UsageError(`${rawName} needs a value; write ${rawName}=VALUE if it starts with a dash`)
  return value
}

function unknownOption(name: string, command: string, known: readonly string[]): UsageError {
  if (name === '--token' && known.includes('--token-file'))
    return new UsageError('Other users of this machine could see a token on the command line: use --token-file FILE')
  const near = nearest(name, known)
  const suggestion = near === undefined ? '.' : `; did you mean ${near}?`
  return new UsageError(`Unknown option ${name}${suggestion} See "${programName()} ${command} --help".`)
}

/** The arguments are not repeated: one of them may be a password. */
function checkCount(command: Syntax, count: number): void {
  const { name, positionals = [] } = command
  const required = positionals.filter((word) => !word.startsWith('[')).length
  if (count >= required && count <= positionals.length) return
  const takes = positionals.length === 0 ? 'no arguments' : positionals.join(' ')
  const number = `${count} ${count === 1 ? 'argument was' : 'arguments were'} given`
  throw new UsageError(`${name} takes ${takes}; ${number}. Usage: gatehouse ${formatUsage(command)}`)
}
