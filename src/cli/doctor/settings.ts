/** Settings that each are fine and together are not. */
import type { Config } from '../../config.ts'
import { isLoopback } from '../../setting-parsers.ts'
import { type Finding, ok, warning } from './finding.ts'

export function examineSettings(config: Config): Finding[] {
  const findings: Finding[] = []
  const exposed = !isLoopback(config.host)
  const issuer = config.issuer === '' ? undefined : new URL(config.issuer)
  if (exposed && config.issuer === '')
    findings.push(
      warning(
        'settings.issuer_missing',
        `The server listens on ${config.host}, and tokens would name http://localhost as their issuer`,
        'Set GATEHOUSE_ISSUER to the public https address.',
      ),
    )
  if (exposed && config.tlsCertificate === '' && config.trustedProxies.length === 0)
    findings.push(
      warning(
        'settings.no_tls',
        `The server listens on ${config.host} without TLS, and no proxy is trusted to speak it`,
        'Set GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY, or GATEHOUSE_TRUSTED_PROXIES for the proxy in front.',
      ),
    )
  if (issuer?.protocol === 'https:' && config.tlsCertificate === '' && config.trustedProxies.length === 0)
    findings.push(
      warning(
        'settings.https_unserved',
        `Tokens name ${config.issuer}, but neither TLS nor a trusted proxy is set`,
        'Set the TLS files, or name the proxy in GATEHOUSE_TRUSTED_PROXIES: else every caller has the address of the proxy.',
      ),
    )
  if (issuer?.protocol === 'http:' && config.tlsCertificate !== '')
    findings.push(
      warning(
        'settings.http_issuer',
        'The server speaks TLS, and tokens name an http address',
        'Set GATEHOUSE_ISSUER to the https address.',
      ),
    )
  if (config.demo)
    findings.push(
      warning(
        'settings.demo',
        'Demonstration users with known passwords are made',
        'Take away --demo before anybody else can reach this server.',
      ),
    )
  if (config.databaseUrl !== '' && config.masterKey === undefined)
    findings.push(
      warning(
        'settings.master_key_local',
        'The key that protects data at rest is in the data folder of this node alone',
        'Give every node the same GATEHOUSE_MASTER_KEY before a second one starts.',
      ),
    )
  return findings.length > 0 ? findings : [ok('settings', 'The settings go together')]
}
