/** The wire in a server: loaded and opened where its port is set. */
import { isLoopback, VERSION } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { BadSetting } from '../config/parsers.ts'
import { effectiveWireHost, effectiveWirePort, takesWirePasswords } from '../config/wire.ts'
import type { Opening } from '../http/listener.ts'
import type { Identity } from '../identity/identity.ts'
import { lazily } from '../lib/once.ts'
import { TOOLS_CLIENT } from '../store/clients/built-in-clients.ts'
import type { Logger } from '../telemetry/log.ts'
import type { WirePort } from '../wire/listener/port.ts'
import type { Sessions, Wire } from '../wire/wire.ts'
import type { Base } from './base.ts'
import { readTls } from './options.ts'
import type { Services } from './services.ts'
import type { Cleanup } from './watch/cleanup.ts'

const PORT_ERRORS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'is in use'],
  ['EACCES', 'cannot be opened by this user'],
  ['EADDRNOTAVAIL', 'is not an address of this machine'],
])

/** Checked with the main port, before anything is written; undefined where it is off. */
export async function openWirePort(config: Config, opening: Opening, logger: Logger): Promise<WirePort | undefined> {
  const port = effectiveWirePort(config)
  if (port === undefined || !config.services.includes('query')) return undefined
  const host = effectiveWireHost(config)
  const { openPort } = await import('../wire/listener/port.ts')
  try {
    return await openPort({ host, port, opening })
  } catch (error) {
    onClosedPort(error, config, logger)
    return undefined
  }
}

/** Opens the port if it was not opened at creation. */
export async function listenLater(port: WirePort | undefined, config: Config, logger: Logger): Promise<void> {
  await port?.listen().catch((error) => onClosedPort(error, config, logger))
}

/** Throws if the port was set explicitly. */
function onClosedPort(error: unknown, config: Config, logger: Logger): void {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const text = PORT_ERRORS.get(reason) ?? `cannot be opened (${reason})`
  const [host, port] = [effectiveWireHost(config), effectiveWirePort(config)]
  if (config.wirePort !== 'auto')
    throw new BadSetting(`The wire port ${port} on ${host} ${text}: change GATEHOUSE_WIRE_PORT or GATEHOUSE_WIRE_HOST.`)
  logger.warn({ host, port }, `the wire port ${text}: tools cannot connect; choose another one with --wire-port`)
}

/** How tools reach the port, for the console; undefined where it is off. */
export function publicWireAddress(config: Config, issuer: string, wire: Wire | undefined) {
  if (wire === undefined) return undefined
  const isLocal = isLoopback(effectiveWireHost(config))
  return {
    host: isLocal ? 'localhost' : new URL(issuer).hostname,
    port: wire.port,
    tls: config.tlsCertificate !== '',
    passwords: takesWirePasswords(config),
  }
}

/** Serves the port. */
export async function openWire(
  port: WirePort,
  base: Base,
  { identity, query, metrics, rateLimits }: Pick<Services, 'identity' | 'query' | 'metrics' | 'rateLimits'>,
  cleanup: Cleanup,
): Promise<Wire | undefined> {
  if (query === undefined) return undefined
  const { config, issuer, bus, clock, cluster, logger, tracing } = base
  const { audit } = base.resources
  const { openSessions, Wire: WireServer } = await import('../wire/wire.ts')
  const startedAt = clock()
  let sessions: Sessions | undefined
  const loadSessions = lazily(async () => {
    sessions = await openSessions({
      query: { ...query.sessionParts, way: 'wire' },
      rateLimits,
      trace: tracing,
      allowsWrites: () => config.wireWrites,
      version: VERSION,
      startedAt,
      dataFolder: config.data,
      onError: (error, requestId) => logger.error({ err: error, reqId: requestId }, 'failed'),
    })
    return sessions.openSession
  })
  cleanup.add(() => sessions?.close())
  const wire = new WireServer(
    {
      issuer,
      bus,
      clock,
      rateLimits,
      audit,
      metrics,
      logger,
      loadSessions,
      authenticate: identity.authenticate,
      checkSecret: await createCheckSecret(base, identity, rateLimits),
      findUsername: async (subject) => (await identity.users.findById(subject))?.username,
      certificate: readTls(config),
      settings: {
        statementBytes: config.queryStatementBytes,
        bindBytes: config.queryBodyBytes,
        keptBytes: 2 * config.maxArrivingBytes,
        connections: config.wireConnections,
        idleMs: config.wireIdle,
        exempt: config.limitExempt,
      },
      async passCancelOn(processId, digest) {
        const { replies } = await cluster.callAll('wire-cancel', { process: String(processId), digest })
        return replies.some(({ body }) => body === true)
      },
      async passOwnCancelOn(processId, subject) {
        const { replies } = await cluster.callAll('wire-cancel-own', { process: String(processId), subject })
        return replies.some(({ body }) => body === true)
      },
    },
    port,
  )
  cluster.handle('wire-cancel', ({ process: processId = '', digest = '' }) => wire.cancel(Number(processId), digest))
  cluster.handle('wire-cancel-own', ({ process: processId = '', subject = '' }) =>
    wire.cancelOwn(Number(processId), subject),
  )
  cleanup.add(() => wire.close())
  return wire
}

async function createCheckSecret(
  { config, resources, clock }: Base,
  identity: Identity,
  rateLimits: Services['rateLimits'],
) {
  const { createConnectionSignIn } = await import('../identity/endpoints/connection-sign-in.ts')
  const { stores, audit } = resources
  return createConnectionSignIn({
    issuer: identity.issuer,
    apis: identity.apis,
    revocations: identity.revocations,
    revocationList: identity.revocationList,
    checkPassword: identity.checkPassword,
    providers: identity.providers,
    remoteKeys: identity.remoteKeys,
    authenticate: identity.authenticate,
    lifetimes: identity.lifetimes,
    undelivered: identity.undelivered,
    clients: identity.clients,
    secretThrottle: identity.secretThrottle,
    stores,
    audit,
    clock,
    rateLimits,
    clientId: TOOLS_CLIENT,
    passwords: takesWirePasswords(config),
    sessionMs: config.wireSession,
  })
}
