/** Every setting of Gatehouse in one table; flags, environment, file and docs are made from it. */
import { isIP } from 'node:net'
import { nearest } from './protocol/nearest.ts'
import {
  BadSetting,
  isLoopback,
  LOG_FORMATS,
  LOG_LEVELS,
  oneOf,
  parseAddresses,
  parseBoolean,
  parseBrandName,
  parseBudgets,
  parseColour,
  parseDatabaseUrl,
  parseDays,
  parseInteger,
  parseIssuer,
  parseLogo,
  parseMasterKey,
  parseOptionalPort,
  parseOrigins,
  parsePath,
  parsePort,
  parseRatio,
  parseSeconds,
  parseServer,
  parseServices,
  parseText,
  parseTokenLifetime,
  parseWebAddress,
  parseWindowBits,
  SERVICES,
} from './setting-parsers.ts'

export interface Setting<T> {
  readonly default: string
  readonly parse: (text: string) => T
  readonly help: string
  /** Never shown: printed as `********`. */
  readonly secret?: true
}

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
  masterKey: setting(
    '',
    parseMasterKey,
    'Base-64 of 32 random bytes that protect keys and secrets at rest; the same for every node of a database. Empty: a file made in the data folder.',
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
  server: setting(
    '',
    parseServer,
    'Address of a running server that commands administer, after "gatehouse login". Empty: the data of this machine.',
  ),
  metricsPort: setting(
    '',
    parseOptionalPort,
    'Port of its own for /metrics, without a token. Empty: on the main port for tokens with Platform/Admin.',
  ),
  metricsHost: setting('127.0.0.1', parseText, 'Address that the port of the metrics listens on.'),
  traceEndpoint: setting(
    '',
    parseWebAddress,
    'Address of an OpenTelemetry collector for traces (OTLP/HTTP), such as http://127.0.0.1:4318/v1/traces. Empty: none.',
  ),
  traceRatio: setting('1', parseRatio, 'The part of traces that is kept, from 0 to 1.'),
  auditRetentionDays: setting('400', parseInteger, 'Days that rows of the audit log are kept; 0 keeps them for ever.'),
  limitToken: limit('address=1200/60 client=12000/60 user=600/60', 'token, introspection, revocation, userinfo'),
  limitPages: limit('address=1200/60', 'sign-in and other pages, discovery'),
  limitQuery: limit('address=30000/60 client=60000/60 user=12000/60', 'queries'),
  limitStream: limit(
    'address=600/60 client=6000/60 user=120/60',
    'new streaming connections, and rejected sign-ins on them',
  ),
  limitAdmin: limit('address=1200/60 client=6000/60 user=1200/60', 'administration'),
  limitExempt: setting(
    '127.0.0.0/8,::1',
    parseAddresses,
    'Addresses or networks that no rate limit counts; this machine itself by default.',
  ),
  accessTokenLifetime: setting(
    '3600',
    parseTokenLifetime,
    'Seconds that an access token lives; a client may have its own. A day at most. Tokens that are out keep theirs.',
  ),
  refreshTokenIdle: setting('2592000', parseSeconds, 'Seconds after which an unused refresh token expires.'),
  refreshTokenLifetime: setting(
    '15552000',
    parseSeconds,
    'Seconds after which a refresh token and all that replaced it expire, used or not.',
  ),
  refreshTokenGrace: setting(
    '10',
    parseSeconds,
    'Seconds within which a refresh token may be used again and gets the same answer, for lost replies and two tabs.',
  ),
  keyRotation: setting('90', parseDays, 'Days after which a new signing key takes over.'),
  brandName: setting('Gatehouse', parseBrandName, 'Name that the pages show, and that authenticator apps remember.'),
  brandColour: setting('#3056d3', parseColour, 'Colour of buttons and links on the pages, as #rrggbb.'),
  brandLogo: setting(
    '',
    parseLogo,
    'File of the mark on the pages (SVG, PNG, WebP or JPEG). Empty: that of Gatehouse.',
  ),
  sessionIdle: setting('43200', parseSeconds, 'Seconds without a request after which a browser session ends.'),
  sessionLifetime: setting('604800', parseSeconds, 'Seconds after which a browser session ends in any case.'),
  logoutPrivate: setting(
    'false',
    parseBoolean,
    'Let back-channel logout call private and loopback addresses, by http too.',
  ),
  demo: setting('false', parseBoolean, 'Create demonstration users, clients and tables; on loopback only.'),
  queryRows: setting('100000', parseInteger, 'Most rows of a JSON query result; a longer one is cut, and says so.'),
  queryResultBytes: setting('1073741824', parseInteger, 'Most bytes of a query result in any format.'),
  queryStatementBytes: setting('65536', parseInteger, 'Most bytes of an IQL statement.'),
  queryBodyBytes: setting('8388608', parseInteger, 'Most bytes of the body of a Select, Insert, Update or Delete.'),
  querySeconds: setting('30', parseSeconds, 'Seconds that a query may take.'),
  queryPerUser: setting('32', parseInteger, 'Most queries that one user may have running.'),
  queryConcurrency: setting(
    '4',
    parseInteger,
    'Most queries that leave the server at once: reader processes of SQLite, or connections to PostgreSQL.',
  ),
  queryWaiting: setting('256', parseInteger, 'Most queries that wait for their turn; further ones are answered 503.'),
  streamVendor: setting(
    'Vendor',
    parseText,
    'First word of the scopes that streaming clients are shown: Vendor.Platform.Market.',
  ),
  streamOrigins: setting('', parseOrigins, 'Origins whose pages may open streaming connections. Empty: every origin.'),
  streamAuthenticationDeadline: setting(
    '60',
    parseSeconds,
    'Seconds within which a streaming connection must authenticate.',
  ),
  streamExpiryWarning: setting(
    '120',
    parseSeconds,
    'Seconds before expiry at which a subscriber of Identify is warned.',
  ),
  streamExpiryGrace: setting(
    '60',
    parseSeconds,
    'Seconds that a connection may stay after expiry to authenticate again.',
  ),
  streamPingInterval: setting('30', parseSeconds, 'Seconds between the pings of a streaming connection.'),
  streamIdleTimeout: setting(
    '60',
    parseSeconds,
    'Seconds without any frame after which a streaming connection is closed.',
  ),
  streamDrainTime: setting(
    '10',
    parseSeconds,
    'Seconds over which a stopping node spreads the closing of its connections.',
  ),
  streamMaxMessageBytes: setting(
    '1048576',
    parseInteger,
    'Largest message that a streaming client may send, after inflating it.',
  ),
  streamMaxUnreadable: setting('10', parseInteger, 'Unreadable messages in a row that close a streaming connection.'),
  streamReceiveQueueBytes: setting(
    '4194304',
    parseInteger,
    'Bytes of unanswered requests after which a connection is read no further.',
  ),
  streamSendQueueBytes: setting('1048576', parseInteger, 'Bytes that may wait for a client that reads slowly.'),
  streamMaxSubscriptions: setting('1000', parseInteger, 'Subscriptions of one connection.'),
  streamMessagesPerSecond: setting('1000', parseInteger, 'Messages a second that one connection may send for long.'),
  streamMessageBurst: setting(
    '10000',
    parseInteger,
    'Messages that one connection may send at once before the rate counts.',
  ),
  streamMaxConnections: setting('50000', parseInteger, 'Streaming connections of this node.'),
  streamMaxConnectionsPerUser: setting('100', parseInteger, 'Streaming connections of one user on this node.'),
  streamMaxConnectionsPerAddress: setting('1000', parseInteger, 'Streaming connections from one address to this node.'),
  streamMaxSessionsPerUser: setting(
    '20',
    parseInteger,
    'Streaming sessions (sign-ins) of one user on this node; the oldest gives way.',
  ),
  streamDeflate: setting('true', parseBoolean, 'Agree to compression when a streaming client offers it.'),
  streamDeflateThreshold: setting('1024', parseInteger, 'Bytes below which a streaming message is not compressed.'),
  streamDeflateWindowBits: setting('12', parseWindowBits, 'Memory of the compression, as a power of two: 9 to 15.'),
  streamRestoreTokens: setting('true', parseBoolean, 'Answer AuthToken with a token that restores the connection.'),
  streamEcho: setting(
    'false',
    parseBoolean,
    'Serve /echo, which sends every message back; for conformance suites only.',
  ),
  streamControllers: setting('', parseText, 'Module, or folder of modules, with further streaming controllers.'),
  streamSweepInterval: setting(
    '0.25',
    parseSeconds,
    'Seconds between two looks for connections that something is due for.',
  ),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS
export type Config = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> }
export type Source = 'default' | 'file' | 'environment' | 'flag'
export type SourceOf = { readonly [Name in SettingName]: Source }

export interface LoadedConfig {
  readonly config: Config
  readonly sources: SourceOf
  /** What was written for each setting, before it was read. */
  readonly texts: { readonly [Name in SettingName]: string }
}

export interface ConfigSources {
  readonly file?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly flags?: Readonly<Record<string, string>>
}

/** Flags win over the environment, the environment over the file, the file over the defaults. */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const given = new Map<SettingName, { text: string; source: Source; as: string }>()
  for (const [name, text] of Object.entries(sources.file ?? {})) take(`settings.${name}`, text, 'file', pathInFile)
  for (const [name, text] of Object.entries(sources.environment ?? {})) {
    if (name.startsWith('GATEHOUSE_') && text !== undefined) take(name, text, 'environment', environmentName)
  }
  for (const [name, text] of Object.entries(sources.flags ?? {})) take(name, text, 'flag', flagName)

  const config: Record<string, unknown> = {}
  const from: Record<string, Source> = {}
  const texts: Record<string, string> = {}
  for (const name of settingNames()) {
    const { text, source, as } = given.get(name) ?? {
      text: SETTINGS[name].default,
      source: 'default',
      as: environmentName(name),
    }
    config[name] = parseSetting(name, text, as)
    from[name] = source
    texts[name] = text
  }
  // All three were filled for every key of SETTINGS just above.
  return {
    config: Object.freeze(check(config as Config)),
    sources: from as SourceOf,
    texts: texts as LoadedConfig['texts'],
  }

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

/** How messages about the declarative file name a setting. */
function pathInFile(name: SettingName): string {
  return `settings.${fileName(name)}`
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

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

function words(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
}

export function unknownSetting(written: string, known: string[]): BadSetting {
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

function limit(fallback: string, door: string) {
  return setting(
    fallback,
    parseBudgets,
    `Most requests in so many seconds for ${door}: by address, client and user. Empty: no limit.`,
  )
}
