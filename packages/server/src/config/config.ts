/** The table of settings, from which flags, environment variables, names in files and the docs are derived. */
import { parseDatabaseUrl } from './database-url.ts'
import { parseNatsUrl } from './nats-url.ts'
import {
  LOG_FORMATS,
  LOG_LEVELS,
  oneOf,
  parseAddresses,
  parseBoolean,
  parseBrandName,
  parseBudgets,
  parseColour,
  parseContact,
  parseDays,
  parseFixedToken,
  parseInteger,
  parseIssuer,
  parseLogo,
  parseMasterKey,
  parseOptionalPort,
  parseOptionalSeconds,
  parseOrigins,
  parsePath,
  parsePort,
  parseRatio,
  parseReplicas,
  parseSeconds,
  parseServer,
  parseServices,
  parseText,
  parseTokenLifetime,
  parseWebAddress,
  parseWindowBits,
  parseWorkers,
  SERVICES,
} from './parsers.ts'

export interface Setting<T> {
  readonly default: string
  readonly parse: (text: string) => T
  readonly help: string
  /** Printed as `********`. */
  readonly secret?: true
}

/** The key determines the other names: `databaseUrl` is `GATEHOUSE_DATABASE_URL`, `--database-url`, and `database_url` in a file. */
export const SETTINGS = {
  host: setting('127.0.0.1', parseText, 'Address to listen on.'),
  port: setting('5080', parsePort, 'Port to listen on; 0 picks a free port.'),
  data: setting('./data', parsePath, 'Folder for databases, keys and all other persistent data.'),
  issuer: setting(
    '',
    parseIssuer,
    'Public URL of the identity server, the issuer of tokens. Empty: derived from host and port.',
  ),
  databaseUrl: setting(
    '',
    parseDatabaseUrl,
    'PostgreSQL connection URL (postgres://…), with several hosts if it can fail over. Empty: SQLite in the data folder.',
    'secret',
  ),
  masterKey: setting(
    '',
    parseMasterKey,
    'Key that protects keys and secrets at rest, 32 random bytes in Base64; all nodes that share a database need the same key. Empty: a file generated in the data folder.',
    'secret',
  ),
  settingsFile: setting(
    '',
    parseText,
    'File with settings such as GATEHOUSE_PORT=8080, one per line, in the syntax of the EnvironmentFile of systemd. Environment variables override it.',
  ),
  config: setting('', parseText, 'Declarative file (JSON or YAML), reconciled at every start and on SIGHUP.'),
  services: setting(SERVICES.join(','), parseServices, 'The services that this process runs, separated by commas.'),
  workers: setting(
    '1',
    parseWorkers,
    'Processes that serve the port together, for machines with several cores; auto: one per core. Limits for the node are divided among them; limits for one user or address apply to each process separately.',
  ),
  workerTimeout: setting(
    '30',
    parseSeconds,
    'Seconds without a sign of life after which a worker is killed and replaced, because its event loop is blocked; during start-up, ten times as long. 0: never.',
  ),
  tlsCertificate: setting('', parseText, 'File with the TLS certificate chain (PEM). With the key it enables HTTPS.'),
  tlsKey: setting('', parseText, 'File with the TLS private key (PEM).'),
  trustedProxies: setting(
    '',
    parseAddresses,
    'Addresses or networks of proxies whose X-Forwarded-* headers are trusted.',
  ),
  maxConnectionsPerAddress: setting(
    '2000',
    parseInteger,
    'Maximum HTTP connections from one address to this node, except from trusted_proxies and limit_exempt; 0: no maximum. Streams have a separate limit.',
  ),
  maxArrivingBytes: setting(
    '134217728',
    parseInteger,
    'Maximum bytes of HTTP request bodies that have not arrived completely, on this node. Above this, the oldest of the user or address with the most bytes are refused.',
  ),
  stopDelay: setting(
    '5',
    parseSeconds,
    'Seconds after SIGTERM during which requests are still served, but /readyz returns 503 and every reply closes its connection, so that load balancers stop sending requests. The demonstration does not wait by default.',
  ),
  logLevel: setting('info', oneOf(LOG_LEVELS), 'Minimum level of log messages.'),
  logFormat: setting('json', oneOf(LOG_FORMATS), 'One JSON object per line, or human-readable lines.'),
  logSlowQuery: setting(
    '',
    parseOptionalSeconds,
    'Statements that take at least this many seconds are logged with their text, duration and caller; 0: every statement. Empty: none. Literals in the text may be personal data; parameter values are never logged.',
  ),
  server: setting(
    '',
    parseServer,
    'URL of the server that commands administer, after "gatehouse login". Empty: the data on this machine.',
  ),
  metricsPort: setting(
    '',
    parseOptionalPort,
    'Separate port for /metrics, without an access token. Empty: on the main port, for tokens with Platform/Admin.',
  ),
  metricsHost: setting('127.0.0.1', parseText, 'Address that the metrics port listens on.'),
  metricsToken: setting(
    '',
    parseFixedToken,
    'Token that a scraper must send to the metrics port (Authorization: Bearer …), at least 16 characters. Empty: none is needed.',
    'secret',
  ),
  traceEndpoint: setting(
    '',
    parseWebAddress,
    'URL of an OpenTelemetry collector for traces (OTLP/HTTP), such as http://127.0.0.1:4318/v1/traces. Empty: no traces.',
  ),
  traceRatio: setting('1', parseRatio, 'Fraction of traces that are sampled, from 0 to 1.'),
  auditRetentionDays: setting('400', parseInteger, 'Days that audit rows are kept; 0 keeps them indefinitely.'),
  limitToken: limit('address=1200/60 client=12000/60 user=600/60', 'token, introspection, revocation and userinfo'),
  limitPages: limit('address=1200/60', 'sign-in and other pages and discovery'),
  limitQuery: limit('address=30000/60 client=60000/60 user=12000/60', 'queries'),
  limitStream: limit(
    'address=600/60 client=6000/60 user=120/60',
    'new streaming connections and failed sign-ins on them',
  ),
  limitFeeds: limit('address=30000/60 client=60000/60 user=12000/60', 'publishing to feeds and reading them over HTTP'),
  limitAdmin: limit('address=1200/60 client=6000/60 user=1200/60', 'administration'),
  limitExempt: setting(
    '127.0.0.0/8,::1',
    parseAddresses,
    'Addresses or networks exempt from rate limits. Requests that they forward for other addresses are not exempt: list proxies in trusted_proxies instead.',
  ),
  accessTokenLifetime: setting(
    '3600',
    parseTokenLifetime,
    'Lifetime of access tokens in seconds, at most one day. A client can override it. Existing tokens keep their lifetime.',
  ),
  refreshTokenIdle: setting('2592000', parseSeconds, 'Seconds after which an unused refresh token expires.'),
  refreshTokenLifetime: setting(
    '15552000',
    parseSeconds,
    'Seconds after which a refresh token and all its successors expire, whether used or not.',
  ),
  refreshTokenGrace: setting(
    '10',
    parseSeconds,
    'Seconds within which a rotated refresh token may be used again with the same result, for lost responses and two tabs.',
  ),
  keyRotation: setting('90', parseDays, 'Days between rotations of the signing key.'),
  brandName: setting('Gatehouse', parseBrandName, 'Name shown on the pages and in authenticator apps.'),
  brandColour: setting('#3056d3', parseColour, 'Colour of buttons and links on the pages, as #rrggbb.'),
  brandLogo: setting(
    '',
    parseLogo,
    'File with the logo on the pages (SVG, PNG, WebP or JPEG). Empty: the Gatehouse logo.',
  ),
  supportContact: setting(
    '',
    parseContact,
    'Contact that the pages show to people who need help: an e-mail address, a URL, or a text such as "the service desk, extension 4711". Empty: "your administrator".',
  ),
  console: setting('true', parseBoolean, 'Serve the console at /console, and let its built-in client sign users in.'),
  cliClient: setting(
    'true',
    parseBoolean,
    'Let people log in with "gatehouse login" without registering the client gatehouse-cli. A client registered with this id replaces the built-in one.',
  ),
  sessionIdle: setting('43200', parseSeconds, 'Seconds without a request after which a browser session expires.'),
  sessionLifetime: setting(
    '604800',
    parseSeconds,
    'Seconds after which a browser session expires, even if it is in use.',
  ),
  logoutPrivate: setting(
    'false',
    parseBoolean,
    'Allow back-channel logout to private and loopback addresses, also over http.',
  ),
  demo: setting('false', parseBoolean, 'Create demonstration users, clients and tables. Only on loopback.'),
  demoMarket: setting(
    'true',
    parseBoolean,
    'Simulate a market in the demonstration: quotes and trades a few times a second, and the feed Ticker. Has no effect without demo.',
  ),
  queryRows: setting(
    '100000',
    parseInteger,
    'Maximum rows of a JSON query result. A longer result is truncated and marked as truncated.',
  ),
  queryResultBytes: setting('1073741824', parseInteger, 'Maximum bytes of a query result in any format.'),
  queryStatementBytes: setting('65536', parseInteger, 'Maximum bytes of an IQL statement.'),
  queryBodyBytes: setting('8388608', parseInteger, 'Maximum bytes of the body of a Select, Insert, Update or Delete.'),
  querySeconds: setting(
    '30',
    parseSeconds,
    'Timeout of a query in seconds, from when it starts to run; for CSV, NDJSON and Arrow, until the first rows are sent. A query that waits this long to start gets 503.',
  ),
  queryExportSeconds: setting(
    '600',
    parseSeconds,
    'Timeout in seconds of a result in CSV, NDJSON or Arrow, from its first rows to its last.',
  ),
  queryPerUser: setting('32', parseInteger, 'Maximum concurrent queries of one user.'),
  queryConcurrency: setting(
    '4',
    parseInteger,
    'Maximum long queries executed at once: reader processes for SQLite, connections for PostgreSQL. A few more serve short queries. One user gets at most one fewer than this, and at most half of the connections while other users run queries.',
  ),
  queryWaiting: setting('256', parseInteger, 'Maximum queued queries; further ones get 503.'),
  queryStall: setting(
    '5',
    parseSeconds,
    'Seconds after which a result is aborted if its client does not read it and other queries are waiting; 0: never.',
  ),
  querySendQueueBytes: setting(
    '134217728',
    parseInteger,
    'Maximum bytes of HTTP replies queued for clients that do not read them, on this node. Above this, the connections of the user or address with the most queued bytes are closed.',
  ),
  queryWriteWait: setting(
    '5',
    parseSeconds,
    'On SQLite, seconds that a write waits for a long write of another user before the long write is stopped; 0: never.',
  ),
  queryTempBytes: setting(
    '1073741824',
    parseInteger,
    'Maximum bytes of the temporary files of one query: for sorts, groups and joins that do not fit into memory.',
  ),
  queryTempBytesPerUser: setting(
    '3221225472',
    parseInteger,
    'Maximum bytes of the temporary files of all running queries of one user. On PostgreSQL the limit is divided equally among the connections that a user can have.',
  ),
  liveStatementsPerConnection: setting('100', parseInteger, 'Maximum live statements of one connection.'),
  liveStatementsPerUser: setting('1000', parseInteger, 'Maximum live statements of one user on this node.'),
  liveStatements: setting('20000', parseInteger, 'Maximum live statements of this node.'),
  liveRows: setting('100000', parseInteger, 'Maximum rows of the result of a live statement.'),
  liveBytes: setting(
    '268435456',
    parseInteger,
    'Memory for the results of all live statements of this node. One user gets at most half of it. Results without subscribers are dropped first.',
  ),
  feedPublisherRate: setting(
    '20000',
    parseInteger,
    'Messages per second that one publisher may publish to feeds. A request or message that exceeds it is refused with 429 or Limited.',
  ),
  feedPatterns: setting(
    '100',
    parseInteger,
    'Maximum patterns of feeds that one streaming connection may subscribe to.',
  ),
  feedBytes: setting(
    '10737418240',
    parseInteger,
    'Bytes of the messages that all feeds keep, as states and history. Past it nothing more is published to feeds that keep messages.',
  ),
  natsUrl: setting(
    '',
    parseNatsUrl,
    'Address of NATS (nats://host:4222, or tls://…; several servers of a cluster separated by commas), which then carries and keeps the messages of feeds instead of the database. Empty: not used.',
    'secret',
  ),
  natsCredentials: setting('', parseText, 'File with credentials for NATS (a JWT and its seed, as nsc writes it).'),
  natsTlsCa: setting(
    '',
    parseText,
    'File with the certificates of authorities (PEM) that certificates of NATS are checked against. Empty: those of Node.',
  ),
  natsReplicas: setting(
    '1',
    parseReplicas,
    'Servers of a cluster of NATS that keep each message of a feed: 1, 3 or 5.',
  ),
  natsAtomicBatches: setting(
    'true',
    parseBoolean,
    'Publish the messages of a request to NATS all or none, where it can (2.12 and later). false: many small requests are faster, but a failure may leave a part of one.',
  ),
  liveLogTime: setting(
    '600',
    parseSeconds,
    'Seconds that the changes of a table are kept so that live statements can resume.',
  ),
  liveLogChanges: setting('1000000', parseInteger, 'Maximum changes kept for each table.'),
  streamVendor: setting(
    'Vendor',
    parseText,
    'Prefix of the scopes that streaming clients see, as in Vendor.Platform.Market.',
  ),
  streamOrigins: setting('', parseOrigins, 'Origins whose pages may open streaming connections. Empty: all origins.'),
  streamAuthenticationDeadline: setting(
    '60',
    parseSeconds,
    'Seconds within which a streaming connection must authenticate.',
  ),
  streamExpiryWarning: setting(
    '120',
    parseSeconds,
    'Seconds before expiry at which subscribers of Identify are warned.',
  ),
  streamExpiryGrace: setting(
    '60',
    parseSeconds,
    'Seconds after expiry within which a connection may authenticate again.',
  ),
  streamPingInterval: setting('30', parseSeconds, 'Seconds between pings on a streaming connection.'),
  streamIdleTimeout: setting(
    '60',
    parseSeconds,
    'Seconds without a frame after which a streaming connection is closed.',
  ),
  streamDrainTime: setting('10', parseSeconds, 'Seconds over which a stopping node closes its connections.'),
  streamMaxMessageBytes: setting(
    '1048576',
    parseInteger,
    'Maximum bytes of a message from a streaming client, after decompression.',
  ),
  streamMaxAnonymousMessageBytes: setting(
    '65536',
    parseInteger,
    'Maximum bytes of a message from a streaming client that has not signed in yet, after decompression.',
  ),
  streamMaxUnreadable: setting(
    '10',
    parseInteger,
    'Consecutive unreadable messages after which a streaming connection is closed.',
  ),
  streamReceiveQueueBytes: setting(
    '4194304',
    parseInteger,
    'Bytes of unanswered requests above which the server stops reading from a connection.',
  ),
  streamReceiveQueueBytesPerAddress: setting(
    '67108864',
    parseInteger,
    'Maximum bytes of unread input, incomplete messages and unanswered requests of one address; above this, the connection with the most is closed.',
  ),
  streamReceiveQueueBytesPerNode: setting(
    '134217728',
    parseInteger,
    'Maximum bytes of unread input, incomplete messages and unanswered requests on this node; above this, the connection with the most is closed.',
  ),
  streamSendQueueBytes: setting('1048576', parseInteger, 'Maximum bytes queued for a client that reads slowly.'),
  streamSendQueueBytesPerAddress: setting(
    '67108864',
    parseInteger,
    'Maximum bytes queued for all streaming clients of one address; above this, the slowest connection is closed.',
  ),
  streamSendQueueBytesPerNode: setting(
    '268435456',
    parseInteger,
    'Maximum bytes queued for all streaming clients of this node; above this, the slowest connection is closed.',
  ),
  streamMaxSubscriptions: setting('1000', parseInteger, 'Maximum subscriptions of one connection.'),
  streamMessagesPerSecond: setting(
    '1000',
    parseInteger,
    'Sustained rate of messages per second that one connection may send.',
  ),
  streamMessageBurst: setting(
    '10000',
    parseInteger,
    'Messages that one connection may send in a burst above the sustained rate.',
  ),
  streamMaxConnections: setting('50000', parseInteger, 'Maximum streaming connections of this node.'),
  streamMaxConnectionsPerUser: setting('100', parseInteger, 'Maximum streaming connections of one user to this node.'),
  streamMaxConnectionsPerAddress: setting(
    '1000',
    parseInteger,
    'Maximum streaming connections from one address to this node.',
  ),
  streamMaxSessionsPerUser: setting(
    '20',
    parseInteger,
    'Maximum streaming sessions (sign-ins) of one user on this node; a new one displaces the oldest.',
  ),
  streamDeflate: setting(
    'true',
    parseBoolean,
    'Accept compression (permessage-deflate) when a streaming client offers it.',
  ),
  streamDeflateThreshold: setting('1024', parseInteger, 'Bytes below which a streaming message is not compressed.'),
  streamDeflateWindowBits: setting('12', parseWindowBits, 'Window size of the compression as a power of two, 9 to 15.'),
  streamRestoreTokens: setting('true', parseBoolean, 'Answer AuthToken with a token that restores the connection.'),
  streamEcho: setting('false', parseBoolean, 'Serve /echo, which returns every message; for conformance suites only.'),
  streamControllers: setting('', parseText, 'Module, or folder of modules, with additional streaming controllers.'),
  streamSweepInterval: setting('0.25', parseSeconds, 'Seconds between timeout checks of streaming connections.'),
} as const satisfies Record<string, Setting<unknown>>

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

function setting<T>(fallback: string, parse: (text: string) => T, help: string, secret?: 'secret'): Setting<T> {
  return { default: fallback, parse, help, ...(secret === undefined ? {} : { secret: true as const }) }
}

function limit(fallback: string, routes: string) {
  const help = `Rate limits of ${routes} as requests/seconds per address, client and user. Empty: no limit.`
  return setting(fallback, parseBudgets, help)
}
