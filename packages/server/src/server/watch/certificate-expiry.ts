/** Reports in the log and as a metric when the TLS certificate expires. */
import { X509Certificate } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Cleanup } from './cleanup.ts'

const DAY = 86_400_000
export const EXPIRY_WARNING_DAYS = 21

export interface ExpiryParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

export interface CertificateExpiry {
  /** After a reload: watches this certificate from now on. */
  setCertificate(cert: Buffer): void
}

/** Logs at the start, after a reload and once a day, but only from three weeks before the expiry. */
export function watchCertificateExpiry(
  cert: Buffer,
  { clock, logger, metrics }: ExpiryParts,
  cleanup: Cleanup,
): CertificateExpiry {
  let { validToDate } = new X509Certificate(cert)
  const report = () => {
    const days = Math.floor((validToDate.getTime() - clock()) / DAY)
    const details = { expires: validToDate.toISOString(), days }
    if (days < 0) logger.error(details, 'the TLS certificate has expired: renew it and reload with SIGHUP')
    else if (days < EXPIRY_WARNING_DAYS)
      logger.warn(details, 'the TLS certificate expires soon: renew it and reload with SIGHUP')
  }
  metrics.watch('gatehouse_tls_certificate_expiry_seconds', () => [[{}, (validToDate.getTime() - clock()) / 1000]])
  report()
  const timer = setInterval(report, DAY)
  timer.unref()
  cleanup.add(() => clearInterval(timer))
  return {
    setCertificate(next) {
      validToDate = new X509Certificate(next).validToDate
      report()
    },
  }
}
