/** Settings that a running server takes over without a restart (SIGHUP). */
import { type Config, fileName, SETTINGS, settingNames } from '../config/config.ts'
import type { Listener } from '../http/listener.ts'
import type { AdjustableRateLimits } from '../http/rate-limits.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CertificateExpiry } from './certificate-expiry.ts'
import { budgetsOf, readTls } from './options.ts'

export interface ReloadParts {
  readonly listener: Pick<Listener, 'setCertificate'>
  /** Undefined without TLS. */
  readonly expiry: CertificateExpiry | undefined
  readonly rateLimits: Pick<AdjustableRateLimits, 'setBudgets'>
  readonly logger: Logger
}

/** Everything is read before anything is changed: a certificate that cannot be used changes nothing. */
export function reloadSettings(started: Config, next: Config, parts: ReloadParts): void {
  const { listener, expiry, rateLimits, logger } = parts
  const certificate = readTls(next)
  const differ = settingNames().filter((name) => JSON.stringify(started[name]) !== JSON.stringify(next[name]))
  const isTlsSwitched = (started.tlsCertificate === '') !== (next.tlsCertificate === '')
  const waiting = differ.filter(
    (name) => SETTINGS[name].reload !== true || (name === 'tlsCertificate' && isTlsSwitched),
  )
  if (certificate !== undefined && !isTlsSwitched) {
    listener.setCertificate(certificate)
    expiry?.setCertificate(certificate.cert)
  }
  rateLimits.setBudgets(budgetsOf(next))
  logger.info('settings and certificates reloaded')
  if (waiting.length > 0) logger.warn({ settings: waiting.map(fileName) }, 'settings that need a restart were changed')
}
