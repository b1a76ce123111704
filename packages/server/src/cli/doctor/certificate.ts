/** Checks the TLS certificate: readable, valid now, with its key, and for the host of the issuer. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { EXPIRY_WARNING_DAYS } from '../../server/watch/certificate-expiry.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const DAY = 86_400_000

export function checkCertificate(config: Config, now: number): Finding[] {
  if (config.tlsCertificate === '') return []
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(readFileSync(config.tlsCertificate))
  } catch (error) {
    return [
      fault(
        'certificate.unreadable',
        `The certificate ${config.tlsCertificate} cannot be read (${reasonOf(error)})`,
        'Set GATEHOUSE_TLS_CERTIFICATE to a PEM file that this user may read.',
      ),
    ]
  }
  const findings = [
    ...checkValidity(certificate, now),
    ...checkKey(certificate, config.tlsKey),
    ...checkName(certificate, config.issuer),
  ]
  return findings.length > 0
    ? findings
    : [ok('certificate', `The certificate is valid until ${certificate.validToDate.toISOString().slice(0, 10)}`)]
}

function checkValidity(certificate: X509Certificate, now: number): Finding[] {
  const { validFromDate, validToDate } = certificate
  const until = validToDate.toISOString().slice(0, 10)
  const renew = 'Renew it and reload with SIGHUP, or reload the proxy.'
  if (now >= validToDate.getTime()) return [fault('certificate.expired', `The certificate expired on ${until}`, renew)]
  if (now < validFromDate.getTime())
    return [
      fault(
        'certificate.early',
        `The certificate is not valid before ${validFromDate.toISOString().slice(0, 10)}`,
        'Check the clock of this machine.',
      ),
    ]
  const days = Math.floor((validToDate.getTime() - now) / DAY)
  return days < EXPIRY_WARNING_DAYS
    ? [warning('certificate.soon', `The certificate expires in ${days} days`, renew)]
    : []
}

function checkKey(certificate: X509Certificate, file: string): Finding[] {
  try {
    if (certificate.checkPrivateKey(createPrivateKey(readFileSync(file)))) return []
    return [
      fault(
        'certificate.wrong_key',
        `The key ${file} does not belong to the certificate`,
        'Set GATEHOUSE_TLS_KEY to the key of the certificate.',
      ),
    ]
  } catch (error) {
    return [
      fault(
        'certificate.key_unreadable',
        `The key ${file} cannot be read (${reasonOf(error)})`,
        'Set GATEHOUSE_TLS_KEY to a PEM file that this user may read.',
      ),
    ]
  }
}

function checkName(certificate: X509Certificate, issuer: string): Finding[] {
  if (issuer === '') return []
  const hostname = new URL(issuer).hostname.replace(/^\[|\]$/g, '')
  const matches = isIP(hostname) === 0 ? certificate.checkHost(hostname) : certificate.checkIP(hostname)
  if (matches !== undefined) return []
  return [
    fault(
      'certificate.wrong_name',
      `The certificate is not for ${hostname}`,
      'Get one for the host of GATEHOUSE_ISSUER, or set the issuer to a name in the certificate.',
    ),
  ]
}
