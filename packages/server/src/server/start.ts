/** The composition root: a Config becomes a running server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, Refusal, systemClock, VERSION } from 'gatehouse-protocol'
import { createLive, handleLiveCalls } from '../admin/live.ts'
import { type Config, issuerOf } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { createDemoMarket } from '../demo/market.ts'
import { createClientErrorHandler } from '../http/client-errors.ts'
import { createRateLimits } from '../http/limits/rate-limits.ts'
import { createSlidingWindow } from '../http/limits/sliding-window.ts'
import { UnreadReplies } from '../http/limits/unread-replies.ts'
import { openListener } from '../http/listener.ts'
import { createPipeline } from '../http/pipeline.ts'
import { clientAddress } from '../http/request/client-address.ts'
import { watchSessions } from '../identity/browser/sign-out/session-watch.ts'
import { openIdentity } from '../identity/identity.ts'
import { logAvailability } from '../lib/availability.ts'
import { exceptOutages, unavailableReason } from '../lib/unavailable.ts'
import { openQuery } from '../query/service.ts'
import { hasAdministrator } from '../store/accounts/administrators.ts'
import { subjectNames } from '../store/accounts/subject-names.ts'
import { readAuditAfter } from '../store/audit/read.ts'
import { builtInClients } from '../store/clients/built-in-clients.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { lockStart } from '../store/cluster/start-lock.ts'
import { WritesStopped } from '../store/database/wal-sync.ts'
import { startControllers } from '../streaming/controllers/start.ts'
import { openStreaming } from '../streaming/streaming.ts'
import type { Logger } from '../telemetry/log.ts'
import { limitConnections } from './connections.ts'
import { reconcileDeclared } from './declared.ts'
import type { LocalFaults } from './faults.ts'
import { type AdministratorLink, offerAdministrator } from './first-administrator.ts'
import { watchInstallation } from './installation.ts'
import { createLiveController } from './live-controller.ts'
import { lifetimesOf, liveLimitsOf, queryLimitsOf, rateLimitsOf, readTls, streamSettingsOf } from './options.ts'
import { lazyPages } from './pages.ts'
import { checkBeforeStart, readDeclared, readStartFiles } from './preflight.ts'
import { reloadSettings } from './reload.ts'
import { joinCluster, openResources } from './resources.ts'
import { routeGroups } from './routes.ts'
import { CLOSE_MS, STOP_GRACE_MS } from './stop-times.ts'
import { openTracingIfSet, statementSpans } from './tracing.ts'
import { openMetrics, openMetricsPort, serveMetrics, startBackgroundJobs } from './watch/background-jobs.ts'
import { watchCertificateExpiry } from './watch/certificate-expiry.ts'
import { createCleanup } from './watch/cleanup.ts'
import { answerClosed, type ConflictWatch, watchConflicts } from './watch/conflicts.ts'
import { createNodeStatus } from './watch/node-status.ts'
import type { WorkerLink } from './worker-link.ts'

export interface RunningServer {
  readonly issuer: string
  readonly port: number
  /** Where /metrics is served without a token, if it is. */
  readonly metricsPort: number | undefined
  hasAdministrator(): Promise<boolean>
  /** A new one-time link with which the first administrator is created; undefined where there is one. */
  offerAdministrator(): Promise<AdministratorLink | undefined>
  /** Takes over the settings that can change while it runs; rejects, and changes nothing, if one cannot be used. */
  reload(settings: LoadedConfig): Promise<void>
  /** Ends in order; a second call waits for the first. */
  stop(reason?: StopReason): Promise<void>
}

/**
 * `stopped`: /readyz says so while requests are still served. `replaced`: a worker stays ready, as its successor is, and leaves its
 * clients time to change over. `failed`: after an error that may have damaged anything no more requests are taken, except of probes.
 */
export type StopReason = 'stopped' | 'replaced' | 'failed'

export interface StartOptions {
  readonly logger: Logger
  readonly clock?: Clock
  /** Ends a start that waits for another one; it is then refused with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Where the server is one of several workers. */
  readonly worker?: WorkerLink
  /** What the process has caught, for the metrics. */
  readonly faults?: Pick<LocalFaults, 'counts'>
}

/** Clients that keep their connections learn from a reply within this time that they should open another one. */
const HAND_OVER_MS = 1_000
const UNLISTED_PROXY =
  'a proxy forwards requests from an address in limit_exempt: they are limited as one address until trusted_proxies lists the proxy and it sends X-Forwarded-For'
/** How long a statement of the identity store may take once the server answers requests. */
const STATEMENT_MS = 5_000

export async function startServer(settings: LoadedConfig, options: StartOptions): Promise<RunningServer> {
  const { logger, clock = systemClock, signal, worker, faults } = options
  const { config } = settings
  let inForce = settings
  const isLater = worker?.opensPortLast ?? false
  const [ports, cleanup] = [createCleanup(), createCleanup()]
  // Everything that can refuse the start comes first: a refused start changes nothing.
  const tls = readTls(config)
  const listener = await openListener({ host: config.host, port: config.port, tls, isLater })
  ports.add(() => listener.close(0))
  try {
    const metricsListener = await openMetricsPort(config, isLater)
    ports.add(() => metricsListener?.close(0))
    const { brand, controllers, declared } = await readStartFiles(config, worker?.appliesFile ?? true)
    const unlock = await lockStart({
      dataFolder: config.data,
      url: config.databaseUrl,
      onWait: () => logger.info('waiting for another node that is starting'),
      signal,
    })
    cleanup.add(unlock)
    await checkBeforeStart(config, listener.port, declared)
    const market = await createDemoMarket(config, declared)
    const startedControllers = startControllers(
      market?.controllers(controllers) ?? controllers,
      clock,
      (error, controller) => logger.error({ err: error, controller }, 'a controller could not stop'),
    )
    cleanup.add(() => startedControllers.stop())

    const issuer = issuerOf(config, listener.port)
    const runs = (service: Config['services'][number]) => config.services.includes(service)
    const tracing = await openTracingIfSet(config, nodeName(), logger, cleanup)
    const resources = await openResources(
      config,
      {
        clock,
        onAuditError: exceptOutages((error) => logger.error({ err: error }, 'the audit log could not be written')),
        onAvailability: logAvailability(logger, 'identity'),
        onStatement: tracing && statementSpans(tracing, config.databaseUrl),
        shared: worker?.identityFile,
      },
      cleanup,
    )
    const { stores, database, audit, masterKey } = resources
    const ownClients = builtInClients({ issuer, console: config.console })
    const { bus, cluster } = await joinCluster(config, issuer, resources, logger, cleanup, worker)
    const live = createLive(cluster)

    const query = runs('query')
      ? await openQuery({
          bus,
          audit,
          auditLog: {
            async read(after, most) {
              await audit.flush()
              return readAuditAfter(database.db, after, most)
            },
          },
          owners: { names: (subjects) => subjectNames(database, subjects) },
          clock,
          database: { dataFolder: config.data, databaseUrl: config.databaseUrl, shared: worker?.queryFile },
          limits: queryLimitsOf(config),
          liveLimits: liveLimitsOf(config),
          deriveKey: masterKey.derive,
          onError: (error) => logger.error({ err: error }, 'query service error'),
          onAvailability: logAvailability(logger, 'query'),
          onSlow: (slow) => logger.warn(slow, 'slow statement'),
          onStuck: (stuck) => logger.warn(stuck, 'a statement goes on in the database'),
        })
      : undefined
    cleanup.add(() => query?.close())
    const metrics = openMetrics(resources, bus, config.data, cleanup)
    metrics.watch('gatehouse_controller_faults_total', () =>
      [...(faults?.counts ?? [])].map(([controller, count]) => [{ controller }, count] as const),
    )
    const renderMetrics = worker === undefined ? metrics.render : worker.shareMetrics(metrics.render)
    const window = createSlidingWindow(clock)
    const rateLimits = createRateLimits({ window, ...rateLimitsOf(config), metrics })

    const identity = await openIdentity({
      issuer,
      database,
      stores,
      builtInClients: ownClients,
      bus,
      audit,
      clock,
      metrics,
      sealingKey: masterKey.derive('signing keys'),
      rotateKeysEveryMs: config.keyRotation,
      lifetimes: lifetimesOf(config),
      onError: exceptOutages((error) => logger.error({ err: error }, 'the signing keys could not be rotated')),
    })
    cleanup.add(() => identity.close())
    const { authenticate } = identity
    if (runs('identity')) {
      const watch = watchSessions({
        ...identity,
        stores,
        bus,
        audit,
        clock,
        allowPrivateLogout: config.logoutPrivate,
        onLogoutFailure: (client, reason) =>
          logger.warn({ client, reason }, 'back-channel logout could not be delivered'),
        onError: exceptOutages((error) => logger.warn({ err: error }, 'expired sessions could not be ended')),
      })
      cleanup.add(() => watch.close())
    }

    const streaming = runs('streaming')
      ? await openStreaming({
          authenticate,
          usernameOf: async (subject) => (await identity.users.findById(subject))?.username,
          bus,
          audit,
          clock,
          rateLimits,
          logger,
          metrics,
          settings: streamSettingsOf(config, issuer),
          controllers: startedControllers,
          queryController: query && createLiveController(query.live, audit),
          name: config.brandName,
        })
      : undefined
    cleanup.add(() => streaming?.gateway.drain())
    const stopping = new AbortController()
    let isFailed = false
    let conflicts: ConflictWatch | undefined
    const readiness = {
      process: async () => (isFailed ? 'failed' : stopping.signal.aborted ? 'stopping' : undefined),
      database: async () => failureOf(database.check().then(() => conflicts?.check())),
      ...(query === undefined ? {} : { query: async () => failureOf(query.check()) }),
      installation: watchInstallation(config, logger),
    }
    const gateway = streaming?.gateway
    handleLiveCalls(cluster, {
      streams: gateway && { list: gateway.liveSessions },
      queries: query?.activity,
      tablesOf: query?.tablesOf,
      topicsOf: gateway && ((scopes) => gateway.topicsFor(new Set(scopes))),
      node: createNodeStatus(
        { config, resources, bus, server: listener.server, readiness, query, gateway, worker },
        cleanup,
      ),
    })

    if (worker?.appliesFile !== false) await reconcileDeclared(declared, resources, query, logger)
    await cluster.registered
    await unlock()
    database.limitStatements(STATEMENT_MS)
    startBackgroundJobs(config, { resources, window, metrics, logger, worker }, cleanup)
    const expiry = tls && watchCertificateExpiry(tls.cert, { clock, logger, metrics }, cleanup)
    if (metricsListener !== undefined) serveMetrics(metricsListener, metrics, logger, renderMetrics)

    const base = new URL(issuer).pathname.replace(/\/$/, '')
    const pages = lazyPages(base, brand, { console: config.console, account: runs('identity'), documentation: true })
    const addressesOf = ({ trustedProxies, limitExempt }: Config) =>
      clientAddress({
        trustedProxies,
        exempt: limitExempt,
        onUnlistedProxy: (address) => logger.warn({ address }, UNLISTED_PROXY),
      })
    let addressOf = addressesOf(config)
    const connections = limitConnections(listener.server, config, { logger, metrics })
    const pipeline = createPipeline({
      groups: routeGroups({
        resources,
        bus,
        identity,
        rateLimits,
        metrics,
        renderMetrics,
        live,
        settings: () => inForce,
        builtInClients: ownClients,
        pages,
        runsIdentity: runs('identity'),
        console: config.console ? { issuer, services: config.services, demo: config.demo } : undefined,
        query: query?.routes({
          metrics,
          trace: tracing,
          authenticate,
          cancelElsewhere: (id, owner) => live.cancel(id, owner),
        }),
        streaming: streaming?.routes,
        readiness,
        stopping: stopping.signal,
      }),
      base,
      problemPage: pages.problemPage,
      unread: new UnreadReplies({ maxBytes: config.querySendQueueBytes, metrics }),
      addressOf: (request) => addressOf(request),
      authenticate,
      rateLimits,
      admit(request) {
        if (isFailed) throw failed()
        connections.admit(request)
      },
      metrics,
      logger,
      tracing,
    })
    listener.server.on('clientError', createClientErrorHandler(logger, metrics))
    listener.answerWith(streaming === undefined ? { handle: pipeline.handle } : pipeline)
    if (isLater) await Promise.all([listener.listen(), metricsListener?.listen()])
    const trading = query && market?.start(query, { clock, logger })
    cleanup.add(() => trading?.stop())
    logger.info({ issuer, port: listener.port, services: config.services, database: database.location }, 'started')
    audit.record({ event: 'server.started', details: { version: VERSION, services: config.services } })
    cleanup.add(() => audit.record({ event: 'server.stopped', details: { version: VERSION } }))

    let closing: Promise<void> | undefined
    conflicts = watchConflicts(
      cluster.findConflict,
      (reason) => {
        closing = close(reason)
      },
      exceptOutages((error) => logger.warn({ err: error }, 'the other nodes could not be looked for')),
    )
    cleanup.add(() => conflicts?.stop())

    /** Everything except the ports, on which it says why: nothing of this node may touch the database any more. */
    async function close(reason: string): Promise<void> {
      logger.error({ reason }, 'this node does not serve any more: upgrade it, or correct its settings, and restart it')
      answerClosed(listener, reason, { logger, metrics, addressOf, base })
      stopping.abort()
      query?.stopLive()
      await streaming?.gateway.drain()
      await cleanup.run()
    }

    const stop = async (reason: StopReason): Promise<void> => {
      isFailed = reason === 'failed'
      const isReplaced = reason === 'replaced'
      if (!isReplaced) stopping.abort()
      // A worker that failed is not missed: the others answer.
      const mayWait = !isFailed || worker === undefined
      const delayMs = mayWait ? Math.max(stopDelayOf(inForce), isReplaced ? HAND_OVER_MS : 0) : 0
      logger.info({ delayMs }, 'stopping')
      listener.announceClose()
      const endStreams = async (): Promise<void> => {
        query?.stopLive()
        await streaming?.gateway.drain()
      }
      // Their messages are requests too.
      const ended = isFailed ? endStreams() : undefined
      await closing
      await sleep(delayMs)
      stopping.abort()
      if (reason === 'stopped') await worker?.closePorts()
      await Promise.all([ended ?? endStreams(), listener.close(STOP_GRACE_MS + inForce.config.streamDrainTime)])
      await Promise.race([cleanup.run(), failAfter(CLOSE_MS, 'The resources of the server could not be closed')])
      await ports.run()
      logger.info('stopped')
    }
    let stopped: Promise<void> | undefined
    return {
      issuer,
      port: listener.port,
      metricsPort: metricsListener?.port,
      hasAdministrator: () => hasAdministrator(stores),
      offerAdministrator: () => offerAdministrator(resources, issuer),
      async reload(next) {
        inForce = await reloadSettings(settings, next, {
          ...{
            issuer,
            listener,
            expiry,
            rateLimits,
            setConnectionBound: connections.setBound,
            identity,
            query,
            gateway,
            logger,
          },
          setProxies(next) {
            addressOf = addressesOf(next)
          },
          applyDeclared: async () => reconcileDeclared(await readDeclared(config), resources, query, logger),
        })
      },
      stop(reason = 'stopped') {
        if (reason === 'failed') isFailed = true
        stopped ??= stop(reason)
        return stopped
      },
    }
  } catch (error) {
    await cleanup.run()
    await ports.run()
    throw error
  }
}

async function failAfter(milliseconds: number, what: string): Promise<never> {
  await sleep(milliseconds, undefined, { ref: false })
  throw new Error(`${what} within ${milliseconds / 1000} s`)
}

function failed(): Refusal {
  const headers = { 'retry-after': '1' }
  return new Refusal('server.failed', 503, 'The server stops after an internal error', { headers })
}

/** Nobody balances the load of a demonstration. */
function stopDelayOf({ config, sources }: LoadedConfig): number {
  return config.demo && sources.stopDelay === 'default' ? 0 : config.stopDelay
}

async function failureOf(check: Promise<void>): Promise<string | undefined> {
  try {
    await check
    return undefined
  } catch (error) {
    return error instanceof WritesStopped
      ? 'the disk failed, restart the server'
      : (unavailableReason(error) ?? 'failed')
  }
}
