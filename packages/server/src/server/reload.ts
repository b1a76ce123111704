/** Applies settings that were read again (SIGHUP) to a running server. */
import { fileName } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { takeOver } from '../config/reload.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { ConnectionBound } from '../http/limits/connections.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { Listener } from '../http/listener.ts'
import type { ProxyNetworks } from '../http/request/request-head.ts'
import type { Identity } from '../identity/identity.ts'
import type { Mail } from '../mail/mail.ts'
import type { QueryService } from '../query/index.ts'
import type { Gateway } from '../streaming/streaming.ts'
import { changeLevel, type Logger } from '../telemetry/log.ts'
import type { Wire } from '../wire/wire.ts'
import { mailSettings } from './mail.ts'
import {
  connectionBound,
  feedLimits,
  liveLimits,
  proxyOptions,
  queryLimits,
  rateLimitOptions,
  readTls,
  streamSettings,
  tokenLifetimes,
} from './options.ts'
import type { CertificateExpiry } from './watch/certificate-expiry.ts'

export interface ReloadParts {
  readonly issuer: string
  readonly listener: Pick<Listener, 'setCertificate'>
  /** Undefined where its port is off. */
  readonly wire: Pick<Wire, 'setCertificate'> | undefined
  /** Undefined without TLS. */
  readonly expiry: CertificateExpiry | undefined
  readonly rateLimits: Pick<RateLimits, 'setLimits'>
  readonly setConnectionBound: (bound: ConnectionBound) => void
  /** Which proxies are trusted, and which addresses are exempt from limits. */
  readonly setProxies: (networks: ProxyNetworks) => void
  readonly identity: Pick<Identity, 'setLifetimes'>
  readonly query: Pick<QueryService, 'setLimits'> | undefined
  readonly gateway: Pick<Gateway, 'setSettings'> | undefined
  readonly feeds: Pick<Feeds, 'setLimits'> | undefined
  readonly mail: Pick<Mail, 'setSettings'> | undefined
  readonly logger: Logger
  /** Reads the declarative file and applies it; changes nothing if there is any fault in it. */
  readonly applyDeclared: () => Promise<void>
}

/** Returns the effective settings. Rejects, and changes nothing, if something cannot be used. */
export async function reloadSettings(
  started: LoadedConfig,
  next: LoadedConfig,
  parts: ReloadParts,
): Promise<LoadedConfig> {
  const { listener, expiry, logger } = parts
  const { settings, waiting } = takeOver(['always'], started, next)
  const { config } = settings
  // Files that are no longer named may have been deleted.
  const certificate = next.config.tlsCertificate === '' ? undefined : readTls(config)
  await parts.applyDeclared()
  if (certificate !== undefined) {
    listener.setCertificate(certificate)
    parts.wire?.setCertificate(certificate)
    expiry?.setCertificate(certificate.cert)
  }
  parts.rateLimits.setLimits(rateLimitOptions(config))
  parts.setConnectionBound(connectionBound(config))
  parts.setProxies(proxyOptions(config))
  parts.identity.setLifetimes(tokenLifetimes(config))
  parts.query?.setLimits(queryLimits(config), liveLimits(config))
  parts.gateway?.setSettings(streamSettings(config, parts.issuer))
  parts.feeds?.setLimits(feedLimits(config))
  parts.mail?.setSettings(mailSettings(config))
  changeLevel(logger, config.logLevel, () => {
    logger.info('settings and certificates reloaded')
    if (waiting.length > 0) logger.warn({ settings: waiting.map(fileName) }, 'some changed settings need a restart')
  })
  return settings
}
