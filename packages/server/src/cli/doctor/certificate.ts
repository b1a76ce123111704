/** Checks the TLS certificate: readable, valid now, with its key, and for the host of the issuer. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { EXPIRY_WARNING_DAYS } from '../../server/watch/certificate-expiry.ts'
import { type Checked, collect, errorReason, type Finding, fault, ok, warning } from './finding.ts'

const DAY = 86_400_000

export function checkCertificate({ tlsCertificate, tlsKey, issuer }: Config, now: number): readonly Finding[] {
  if (tlsCertificate === '') return []
  try {
    const certificate = new X509Certificate(readFileSync(tlsCertificate))
    return collect(
      [checkValidity(certificate, now), checkKey(certificate, tlsKey), checkName(certificate, issuer)],
      ok('certificate', `The certificate is valid until ${formatDay(certificate.validToDate)}`),
    )
  } catch (error) {
    return [
      fault(
        'certificate.unreadable',
        `The certificate ${tlsCertificate} cannot be read (${errorReason(error)})`,
        'Set GATEHOUSE_TLS_CERTIFICATE to a PEM file that this user can read.',
      ),
    ]
  }
}

function checkValidity({ validFromDate, validToDate }: X509Certificate, now: number): Checked {
  const renew = 'Renew it and reload with SIGHUP, or reload the proxy.'
  if (now >= validToDate.getTime())
    return fault('certificate.expired', `The certificate expired on ${formatDay(validToDate)}`, renew)
  if (now < validFromDate.getTime())
    return fault(
      'certificate.early',
      `The certificate is not valid before ${formatDay(validFromDate)}`,
      'Check the clock of this machine.',
    )
  const days = Math.floor((validToDate.getTime() - now) / DAY)
  if (days >= EXPIRY_WARNING_DAYS) return undefined
  return warning('certificate.soon', `The certificate expires in ${days} days`, renew)
}

function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}

function checkKey(certificate: X509Certificate, file: string): Checked {
  try {
    if (certificate.checkPrivateKey(createPrivateKey(readFileSync(file)))) return undefined
    return fault(
      'certificate.wrong_key',
      `The key ${file} does not belong to the certificate`,
      'Set GATEHOUSE_TLS_KEY to the key of the certificate.',
    )
  } catch (error) {
    return fault(
      'certificate.key_unreadable',
      `The key ${file} cannot be read (${errorReason(error)})`,
      'Set GATEHOUSE_TLS_KEY to a PEM file that this user can read.',
    )
  }
}

function checkName(certificate: X509Certificate, issuer: string): Checked {
  if (issuer === '') return undefined
  const hostname = new URL(issuer).hostname.replace(/^\[|\]$/g, '')
  const matches = isIP(hostname) === 0 ? certificate.checkHost(hostname) : certificate.checkIP(hostname)
  if (matches !== undefined) return undefined
  return fault(
    'certificate.wrong_name',
    `The certificate is not for ${hostname}`,
    'Get one for the host of GATEHOUSE_ISSUER, or set the issuer to a name in the certificate.',
  )
}
