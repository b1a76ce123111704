/** A server that runs: reloads its settings, and stops in order. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from 'gatehouse-protocol'
import type { LoadedConfig } from '../config/load.ts'
import type { Listener } from '../http/listener.ts'
import type { ClientAddresses } from '../http/request/request-head.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import { hasAdministrator } from '../store/accounts/administrators.ts'
import type { Wire } from '../wire/wire.ts'
import type { Base } from './base.ts'
import type { ConnectionLimits } from './connections.ts'
import { reconcileDeclared } from './declared.ts'
import { type AdministratorLink, offerAdministrator } from './first-administrator.ts'
import { readDeclared } from './preflight.ts'
import type { ServerState } from './readiness.ts'
import { reloadSettings } from './reload.ts'
import type { Services } from './services.ts'
import { CLOSE_MS, STOP_GRACE_MS } from './stop-times.ts'
import type { CertificateExpiry } from './watch/certificate-expiry.ts'
import type { Cleanup } from './watch/cleanup.ts'
import { answerClosed, watchConflicts } from './watch/conflicts.ts'

export interface RunningServer {
  readonly issuer: string
  readonly port: number
  /** Where /metrics is served without a token, if it is. */
  readonly metricsPort: number | undefined
  /** Where tools connect by PostgreSQL's protocol, if they can. */
  readonly wirePort: number | undefined
  hasAdministrator(): Promise<boolean>
  /** A new one-time link with which the first administrator is created; undefined where there is one. */
  offerAdministrator(): Promise<AdministratorLink | undefined>
  /** Applies the settings that can change at run time; rejects, and changes nothing, if one cannot be used. */
  reload(settings: LoadedConfig): Promise<void>
  /** Stops in an orderly way; a second call waits for the first. */
  stop(reason?: StopReason): Promise<void>
}

/**
 * `stopped`: /readyz says so while requests are still served. `replaced`: a worker stays ready, as its successor is, and leaves its
 * clients time to change over. `failed`: after an error with unknown effects, only probes are answered.
 */
export type StopReason = 'stopped' | 'replaced' | 'failed'

export interface Running {
  /** The effective settings. */
  settings: LoadedConfig
  readonly state: ServerState
  readonly ports: {
    readonly listener: Listener
    readonly metricsListener: Listener | undefined
    /** Undefined without TLS. */
    readonly expiry: CertificateExpiry | undefined
    readonly cleanup: Cleanup
  }
  readonly base: Base
  readonly services: Services
  /** Undefined where its port is off. */
  readonly wire: Wire | undefined
  readonly cleanup: Cleanup
}

/** What answers requests. */
export interface Front {
  /** The path of the issuer. */
  readonly basePath: string
  readonly addresses: ClientAddresses
  readonly connections: ConnectionLimits
}

/** Within this time, clients with kept-alive connections learn from a reply that they should open another one. */
const HAND_OVER_MS = 1_000

export function runServer(running: Running, front: Front): RunningServer {
  const { ports, base } = running
  const started = running.settings
  const closed = closeOnConflict(running, front)
  let stopped: Promise<void> | undefined
  return {
    issuer: base.issuer,
    port: ports.listener.port,
    metricsPort: ports.metricsListener?.port,
    wirePort: running.wire?.port,
    hasAdministrator: () => hasAdministrator(base.resources.stores),
    offerAdministrator: () => offerAdministrator(base.resources, base.issuer),
    async reload(next) {
      running.settings = await reload(started, next, running, front)
    },
    stop(reason = 'stopped') {
      if (reason === 'failed') {
        running.state.isFailed = true
        front.connections.refuseAll(failed())
      }
      stopped ??= stop(reason, running, closed)
      return stopped
    },
  }
}

function reload(
  started: LoadedConfig,
  next: LoadedConfig,
  { ports, base, services, wire, cleanup }: Running,
  { addresses, connections }: Front,
): Promise<LoadedConfig> {
  const { config, issuer, logger } = base
  const { identity, query, streaming, feeds, mail, rateLimits } = services
  return reloadSettings(started, next, {
    issuer,
    rateLimits,
    identity,
    query,
    logger,
    gateway: streaming?.gateway,
    feeds,
    mail,
    listener: ports.listener,
    wire,
    expiry: ports.expiry,
    setConnectionBound: connections.setBound,
    setProxies: (networks) => addresses.setNetworks(networks),
    async applyDeclared() {
      await reconcileDeclared(await readDeclared(config, base.loadedControllers), base, { query, mail }, cleanup)
      await identity.apis.reload()
    },
  })
}

/**
 * Closes everything except the ports, where replies say why: this node must no longer touch the database. Returns a function that
 * waits until everything is closed.
 */
function closeOnConflict(running: Running, { basePath, addresses }: Front): () => Promise<void> | undefined {
  const { state, ports, base, services, wire, cleanup } = running
  const { cluster, logger } = base
  let closing: Promise<void> | undefined
  const close = async (reason: string): Promise<void> => {
    logger.error({ reason }, 'this node no longer serves requests: upgrade it or correct its settings, then restart it')
    answerClosed(ports.listener, reason, {
      logger,
      metrics: services.metrics,
      readAddress: addresses.read,
      base: basePath,
    })
    state.beginStop()
    await Promise.all([endStreams(services), wire?.drain()])
    await cleanup.run()
  }
  const conflicts = watchConflicts(
    cluster.findConflict,
    (reason) => {
      closing = close(reason)
    },
    exceptOutages((error) => logger.warn({ err: error }, 'could not look for other nodes')),
  )
  state.conflicts = conflicts
  cleanup.add(() => conflicts.stop())
  return () => closing
}

async function stop(reason: StopReason, running: Running, closed: () => Promise<void> | undefined): Promise<void> {
  const { settings, state, ports, base, services, wire, cleanup } = running
  const { logger, worker } = base
  if (reason !== 'replaced') state.beginStop()
  const delayMs = chooseStopDelay(settings, reason, worker !== undefined)
  logger.info({ delayMs }, 'stopping')
  ports.listener.announceClose()
  // The messages of streams are requests too.
  const ended = reason === 'failed' ? Promise.all([endStreams(services), wire?.drain()]) : undefined
  await closed()
  await sleep(delayMs)
  state.beginStop()
  if (reason === 'stopped') await worker?.closePorts()
  await Promise.all([
    ended ?? endStreams(services),
    wire?.drain(),
    ports.listener.close(STOP_GRACE_MS + running.settings.config.streamDrainTime),
  ])
  base.resources.servers?.hurry()
  await Promise.race([cleanup.run(), failAfter(CLOSE_MS, 'The resources of the server could not be closed')])
  await ports.cleanup.run()
  logger.info('stopped')
}

async function endStreams({ query, streaming, feeds }: Services): Promise<void> {
  query?.stopLive()
  feeds?.stop()
  await streaming?.gateway.drain()
}

/** How long requests are served after the stop has begun. */
function chooseStopDelay({ config, sources }: LoadedConfig, reason: StopReason, isWorker: boolean): number {
  // A failed worker can close at once: the others answer.
  if (reason === 'failed' && isWorker) return 0
  // A demonstration has no load balancer that must notice the stop.
  const delay = config.demo && sources.stopDelay === 'default' ? 0 : config.stopDelay
  return reason === 'replaced' ? Math.max(delay, HAND_OVER_MS) : delay
}

async function failAfter(milliseconds: number, what: string): Promise<never> {
  await sleep(milliseconds, undefined, { ref: false })
  throw new Error(`${what} within ${milliseconds / 1000} s`)
}

function failed(): Refusal {
  const headers = { 'retry-after': '1' }
  return new Refusal('server.failed', 503, 'The server is stopping after an internal error', { headers })
}
