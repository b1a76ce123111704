/** Every setting of Gatehouse in one table; flags, environment, file and docs are made from it. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { nearest } from './protocol/nearest.ts'

export interface Setting<T> {
  readonly default: string
  readonly parse: (text: string) => T
  readonly help: string
  /** Never shown: printed as `********`. */
  readonly secret?: true
}

export const SERVICES = ['identity', 'streaming', 'query'] as const
export type ServiceName = (typeof SERVICES)[number]
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const LOG_FORMATS = ['json', 'pretty'] as const

/** The key gives the other names: `databaseUrl` is `GATEHOUSE_DATABASE_URL`, `--database-url` and `database_url` in a file. */
export const SETTINGS = {
  host: setting('127.0.0.1', parseText, 'Address to listen on.'),
  port: setting('5080', parsePort, 'Port to listen on; 0 takes a free one.'),
  data: setting('./data', parsePath, 'Folder of the databases, keys and everything else that must be kept.'),
  issuer: setting(
    '',
    parseIssuer,
    'Public address of the identity server, as tokens name it. Empty: made from host and port.',
  ),
  databaseUrl: setting(
    '',
    parseDatabaseUrl,
    'PostgreSQL address (postgres://…). Empty: SQLite in the data folder.',
    'secret',
  ),
  config: setting('', parseText, 'Declarative file (JSON or YAML) that is reconciled at every start.'),
  services: setting(SERVICES.join(','), parseServices, 'Which services this process runs.'),
  tlsCertificate: setting(
    '',
    parseText,
    'File of the TLS certificate chain (PEM). With the key set too, the server speaks HTTPS.',
  ),
  tlsKey: setting('', parseText, 'File of the TLS private key (PEM).'),
  trustedProxies: setting('', parseAddresses, 'Addresses or networks whose X-Forwarded-* headers are believed.'),
  logLevel: setting('info', oneOf(LOG_LEVELS), 'The least severe level that is logged.'),
  logFormat: setting('json', oneOf(LOG_FORMATS), 'One JSON object a line, or lines for a person.'),
  metricsPort: setting(
    '',
    parseOptionalPort,
    'Port of its own for /metrics, without a token. Empty: on the main port for tokens with Platform/Admin.',
  ),
  metricsHost: setting('127.0.0.1', parseText, 'Address that the port of the metrics listens on.'),
  demo: setting('false', parseBoolean, 'Create demonstration users, clients and tables; on loopback only.'),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS
export type Config = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> }
export type Source = 'default' | 'file' | 'environment' | 'flag'
export type SourceOf = { readonly [Name in SettingName]: Source }

/** A setting that is unknown or cannot be read; the message says which and what to do. */
export class BadSetting extends Error {
  override name = 'BadSetting'
}

export interface ConfigSources {
  readonly file?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly flags?: Readonly<Record<string, string>>
}

/** Flags win over the environment, the environment over the file, the file over the defaults. */
export function loadConfig(sources: ConfigSources): { config: Config; sources: SourceOf } {
  const given = new Map<SettingName, { text: string; source: Source; as: string }>()
  for (const [name, text] of Object.entries(sources.file ?? {})) take(name, text, 'file', fileName)
  for (const [name, text] of Object.entries(sources.environment ?? {})) {
    if (name.startsWith('GATEHOUSE_') && text !== undefined) take(name, text, 'environment', environmentName)
  }
  for (const [name, text] of Object.entries(sources.flags ?? {})) take(name, text, 'flag', flagName)

  const config: Record<string, unknown> = {}
  const from: Record<string, Source> = {}
  for (const name of settingNames()) {
    const { text, source, as } = given.get(name) ?? {
      text: SETTINGS[name].default,
      source: 'default',
      as: environmentName(name),
    }
    config[name] = parseSetting(name, text, as)
    from[name] = source
  }
  // Both objects were filled for every key of SETTINGS just above.
  return { config: Object.freeze(check(config as Config)), sources: from as SourceOf }

  function take(written: string, text: string, source: Source, nameOf: (name: SettingName) => string): void {
    const name = settingNames().find((candidate) => nameOf(candidate) === written)
    if (name === undefined) throw unknownSetting(written, settingNames().map(nameOf))
    given.set(name, { text, source, as: written })
  }
}

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

/** The address that tokens, pages and banners name; the host of a request is never believed. */
export function issuerOf(config: Config, port: number = config.port): string {
  if (config.issuer !== '') return config.issuer
  const scheme = config.tlsCertificate === '' ? 'http' : 'https'
  const host =
    config.host === '0.0.0.0' || config.host === '::' || config.host === '127.0.0.1'
      ? 'localhost'
      : bracketed(config.host)
  return `${scheme}://${host}:${port}`
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

function words(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
}

function unknownSetting(written: string, known: string[]): BadSetting {
  const near = nearest(written, known)
  return new BadSetting(`Unknown setting ${written}${near === undefined ? '' : `; did you mean ${near}?`}`)
}

function parseSetting(name: SettingName, text: string, writtenAs: string): unknown {
  try {
    return SETTINGS[name].parse(text)
  } catch (error) {
    if (error instanceof BadSetting) throw new BadSetting(`${writtenAs}: ${error.message}`)
    throw error
  }
}

/** What no single setting can know. */
function check(config: Config): Config {
  if ((config.tlsCertificate === '') !== (config.tlsKey === '')) {
    throw new BadSetting('GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY go together: set both or neither')
  }
  if (config.demo && !isLoopback(config.host)) {
    throw new BadSetting(
      `The demonstration data has known passwords and runs on loopback only: take away --demo, or listen on 127.0.0.1 instead of ${config.host}`,
    )
  }
  return config
}

function setting<T>(fallback: string, parse: (text: string) => T, help: string, secret?: 'secret'): Setting<T> {
  return { default: fallback, parse, help, ...(secret === undefined ? {} : { secret: true as const }) }
}

function parseText(text: string): string {
  return text
}

function parsePath(text: string): string {
  if (text === '') throw new BadSetting('a folder is needed')
  return resolve(text)
}

function parsePort(text: string): number {
  const port = parseInteger(text)
  if (port > 65535) throw new BadSetting(`${text} is not a port (0 to 65535)`)
  return port
}

function parseOptionalPort(text: string): number | undefined {
  return text === '' ? undefined : parsePort(text)
}

export function parseInteger(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new BadSetting(`"${text}" is not a whole number`)
  return Number(text)
}

export function parseBoolean(text: string): boolean {
  if (text === 'true' || text === '1' || text === 'yes') return true
  if (text === 'false' || text === '0' || text === 'no') return false
  throw new BadSetting(`"${text}" is neither true nor false`)
}

function parseList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function parseServices(text: string): readonly ServiceName[] {
  const names = parseList(text)
  if (names.length === 0) throw new BadSetting(`name at least one of ${SERVICES.join(', ')}`)
  return names.map(oneOf(SERVICES))
}

function parseAddresses(text: string): readonly string[] {
  const addresses = parseList(text)
  for (const address of addresses) {
    if (isIP(address.replace(/\/\d{1,3}$/, '')) === 0)
      throw new BadSetting(`"${address}" is neither an address nor a network like 10.0.0.0/8`)
  }
  return addresses
}

function parseIssuer(text: string): string {
  if (text === '') return text
  const address = URL.parse(text)
  if (address === null || !['http:', 'https:'].includes(address.protocol))
    throw new BadSetting(`"${text}" is not an http or https address`)
  if (
    address.search !== '' ||
    address.hash !== '' ||
    address.username !== '' ||
    text.includes('?') ||
    text.includes('#')
  ) {
    throw new BadSetting('an issuer has no query, fragment or user')
  }
  if (address.protocol === 'http:' && !isLoopback(address.hostname.replace(/^\[|\]$/g, ''))) {
    throw new BadSetting(`"${text}" must be https: http is for loopback only`)
  }
  return text.replace(/\/$/, '')
}

function parseDatabaseUrl(text: string): string {
  if (text === '') return text
  const address = URL.parse(text)
  if (address === null || !['postgres:', 'postgresql:'].includes(address.protocol)) {
    throw new BadSetting('it must look like postgres://user:password@host:5432/database')
  }
  return text
}

function oneOf<const T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    if (choice !== undefined) return choice
    const near = nearest(text, choices)
    throw new BadSetting(
      `"${text}" is not one of ${choices.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    )
  }
}
