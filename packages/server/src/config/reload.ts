/** Which settings a reload (SIGHUP) applies. */
import { type SettingName, settingNames } from './config.ts'
import { type LoadedConfig, withTexts } from './load.ts'

/** Whether SIGHUP applies a new value: always, or only with workers, which it replaces. */
export type Reload = 'always' | 'workers' | 'never'

/** Read at each use, or given to the parts of a running server by `server/reload.ts`. */
const ALWAYS: ReadonlySet<string> = new Set<SettingName>([
  'tlsCertificate',
  'tlsKey',
  'trustedProxies',
  'maxConnectionsPerAddress',
  'stopDelay',
  'logLevel',
  'logSlowQuery',
  'limitToken',
  'limitPages',
  'limitQuery',
  'limitStream',
  'limitFeeds',
  'feedPublisherRate',
  'feedPublisherKeys',
  'limitAdmin',
  'limitScim',
  'limitMcp',
  'limitExempt',
  'accessTokenLifetime',
  'refreshTokenIdle',
  'refreshTokenLifetime',
  'refreshTokenGrace',
  'mailRate',
  'mailPassword',
  'queryRows',
  'queryResultBytes',
  'queryBodyBytes',
  'queryImportBytes',
  'queryPerUser',
  'liveStatementsPerConnection',
  'liveStatementsPerUser',
  'liveRows',
  'streamOrigins',
  'streamMaxMessageBytes',
  'streamMaxAnonymousMessageBytes',
  'streamMaxSubscriptions',
  'streamDrainTime',
  'streamMaxConnections',
  'streamMaxConnectionsPerUser',
  'streamMaxConnectionsPerAddress',
])

/** Workers of one server agree on these, or cannot see a change. */
const NEVER: ReadonlySet<string> = new Set<SettingName>([
  'host',
  'port',
  'metricsHost',
  'metricsPort',
  'wireHost',
  'wirePort',
  'workers',
  'data',
  'databaseUrl',
  'natsUrl',
  'natsCredentials',
  'natsTlsCa',
  'natsReplicas',
  'natsAtomicBatches',
  'masterKey',
  'backupUrl',
  'backupKey',
  'backupEvery',
  'backupFull',
  'backupRate',
  'backupSpoolBytes',
  'backupKeepDays',
  'backupVerifyDays',
  'issuer',
  'config',
  'demo',
])

export function reloadKind(name: SettingName): Reload {
  if (NEVER.has(name)) return 'never'
  return ALWAYS.has(name) ? 'always' : 'workers'
}

export interface Reloaded {
  /** The settings that apply from now on. */
  readonly settings: LoadedConfig
  /** The settings that have changed since the start and need a restart. */
  readonly waiting: readonly SettingName[]
}

/** `kinds` are the kinds of settings that can be applied. `current` are the effective settings, if they differ from those of the start. */
export function takeOver(
  kinds: readonly Reload[],
  started: LoadedConfig,
  next: LoadedConfig,
  current = started,
): Reloaded {
  // TLS cannot be turned on or off for an open port.
  const isTlsSwitched = (current.texts.tlsCertificate === '') !== (next.texts.tlsCertificate === '')
  const isKept = (name: SettingName): boolean =>
    !kinds.includes(reloadKind(name)) || (isTlsSwitched && (name === 'tlsCertificate' || name === 'tlsKey'))
  const kept = settingNames().filter(isKept)
  return {
    settings: withTexts(next, current, kept),
    waiting: kept.filter((name) => next.texts[name] !== started.texts[name]),
  }
}
