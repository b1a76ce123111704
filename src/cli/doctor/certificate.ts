/** The TLS certificate: readable, in time, with its key, for the name that tokens give. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Config } from '../../config.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const DAY = 86_400_000
const SOON_DAYS = 21

export function examineCertificate(config: Config, now: number): Finding[] {
  if (config.tlsCertificate === '') return []
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(readFileSync(config.tlsCertificate))
  } catch (error) {
    return [
      fault(
        'certificate.unreadable',
        `The certificate ${config.tlsCertificate} cannot be read (${reasonOf(error)})`,
        'Name a PEM file that this user may read in GATEHOUSE_TLS_CERTIFICATE.',
      ),
    ]
  }
  const findings = [
    ...timeFindings(certificate, now),
    ...keyFindings(certificate, config.tlsKey),
    ...nameFindings(certificate, config.issuer),
  ]
  return findings.length > 0
    ? findings
    : [ok('certificate', `The certificate is good until ${certificate.validToDate.toISOString().slice(0, 10)}`)]
}

function timeFindings(certificate: X509Certificate, now: number): Finding[] {
  const { validFromDate, validToDate } = certificate
  const until = validToDate.toISOString().slice(0, 10)
  const renew = 'Renew it and restart, or reload the proxy.'
  if (now >= validToDate.getTime()) return [fault('certificate.expired', `The certificate expired on ${until}`, renew)]
  if (now < validFromDate.getTime())
    return [
      fault(
        'certificate.early',
        `The certificate is not good before ${validFromDate.toISOString().slice(0, 10)}`,
        'Check the clock of this machine.',
      ),
    ]
  const days = Math.floor((validToDate.getTime() - now) / DAY)
  return days < SOON_DAYS ? [warning('certificate.soon', `The certificate expires in ${days} days`, renew)] : []
}

function keyFindings(certificate: X509Certificate, file: string): Finding[] {
  try {
    if (certificate.checkPrivateKey(createPrivateKey(readFileSync(file)))) return []
    return [
      fault(
        'certificate.wrong_key',
        `The key ${file} does not belong to the certificate`,
        'Set GATEHOUSE_TLS_KEY to the key that the certificate was made for.',
      ),
    ]
  } catch (error) {
    return [
      fault(
        'certificate.key_unreadable',
        `The key ${file} cannot be read (${reasonOf(error)})`,
        'Name a PEM file that this user may read in GATEHOUSE_TLS_KEY.',
      ),
    ]
  }
}

function nameFindings(certificate: X509Certificate, issuer: string): Finding[] {
  if (issuer === '') return []
  const hostname = new URL(issuer).hostname.replace(/^\[|\]$/g, '')
  const matches = isIP(hostname) === 0 ? certificate.checkHost(hostname) : certificate.checkIP(hostname)
  if (matches !== undefined) return []
  return [
    fault(
      'certificate.wrong_name',
      `The certificate is not for ${hostname}`,
      'Get one for the host of GATEHOUSE_ISSUER, or set the issuer to the name in the certificate.',
    ),
  ]
}
