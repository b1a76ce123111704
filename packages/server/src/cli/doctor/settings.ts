/** Checks for settings that are valid on their own but not together. */
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isLoopback } from 'gatehouse-protocol'
import type { Config } from '../../config/config.ts'
import { effectiveWireHost, effectiveWirePort, takesWirePasswords } from '../../config/wire.ts'
import { collect, type Finding, fault, ok, warning } from './finding.ts'

export function checkSettings(config: Config): readonly Finding[] {
  return collect(conflicts(config), ok('settings', 'The settings are consistent'))
}

function* conflicts(config: Config): Generator<Finding> {
  const exposed = !isLoopback(config.host)
  const issuer = config.issuer === '' ? undefined : new URL(config.issuer)
  if (exposed && config.issuer === '')
    yield warning(
      'settings.issuer_missing',
      `The server listens on ${config.host}, but tokens would have the issuer http://localhost`,
      'Set GATEHOUSE_ISSUER to the public https address.',
    )
  if (exposed && config.tlsCertificate === '' && config.trustedProxies.length === 0)
    yield warning(
      'settings.no_tls',
      `The server listens on ${config.host} without TLS, and no trusted proxy is set`,
      'Set GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY, or GATEHOUSE_TRUSTED_PROXIES for the proxy in front.',
    )
  if (issuer?.protocol === 'https:' && config.tlsCertificate === '' && config.trustedProxies.length === 0)
    yield warning(
      'settings.https_unserved',
      `The issuer is ${config.issuer}, but neither TLS nor a trusted proxy is set`,
      'Set the TLS files, or name the proxy in GATEHOUSE_TRUSTED_PROXIES: otherwise every caller appears to have the address of the proxy.',
    )
  if (issuer?.protocol === 'http:' && config.tlsCertificate !== '')
    yield warning(
      'settings.http_issuer',
      'The server uses TLS, but the issuer is an http address',
      'Set GATEHOUSE_ISSUER to the https address.',
    )
  if (config.metricsPort !== undefined && !isLoopback(config.metricsHost) && config.metricsToken === '')
    yield warning(
      'settings.metrics_open',
      `Everyone who can reach port ${config.metricsPort} on ${config.metricsHost} can read the metrics`,
      'Set GATEHOUSE_METRICS_TOKEN, or let only the monitoring reach the port.',
    )
  if (!config.demo && effectiveWirePort(config) !== undefined && takesWirePasswords(config))
    yield warning(
      'settings.wire_passwords',
      'Users may sign in to the wire port with their passwords alone',
      'Set GATEHOUSE_WIRE_PASSWORDS to false once all tools use access tokens or client secrets.',
    )
  if (effectiveWirePort(config) !== undefined && !config.services.includes('query'))
    yield warning(
      'settings.wire_without_query',
      'The wire port is set, but this node does not run the query service: the port stays closed',
      'Add query to GATEHOUSE_SERVICES, or set GATEHOUSE_WIRE_PORT to off.',
    )
  if (
    exposed &&
    effectiveWirePort(config) !== undefined &&
    isLoopback(effectiveWireHost(config)) &&
    config.tlsCertificate === ''
  )
    yield warning(
      'settings.wire_local',
      'The wire port listens on loopback only, because the server has no TLS certificate of its own',
      'Set GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY, so that tools on other machines can connect.',
    )
  if (config.demo)
    yield warning(
      'settings.demo',
      'The server creates demonstration users with publicly known passwords',
      'Remove --demo before anyone else can reach this server.',
    )
  if (config.settingsFile !== '' && (statSync(config.settingsFile).mode & 0o007) !== 0)
    yield fault(
      'settings.file_open',
      `Other users can read ${config.settingsFile}, which may have the master key and the password of the database`,
      `chmod o= ${config.settingsFile}`,
    )
  const cores = availableParallelism()
  if (config.workers > cores)
    yield warning(
      'settings.workers_many',
      `There are ${config.workers} workers for ${cores} ${cores === 1 ? 'core' : 'cores'}`,
      'Set GATEHOUSE_WORKERS to auto or a lower number: more workers than cores use memory without being faster.',
    )
  if (config.databaseUrl !== '' && config.masterKey === undefined)
    yield warning(
      'settings.master_key_local',
      'The master key is only in the data folder of this node',
      'Set the same GATEHOUSE_MASTER_KEY on every node before a second one starts.',
    )
}
