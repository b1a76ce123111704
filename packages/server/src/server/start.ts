/** The composition root: a Config becomes a running server. */
import { VERSION } from 'gatehouse-protocol'
import { createClusterActivity, handleActivityCalls } from '../admin/node-activity.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { createClientErrorHandler } from '../http/client-errors.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { UnreadReplies } from '../http/limits/unread-replies.ts'
import { type Listener, openListener } from '../http/listener.ts'
import { Pipeline } from '../http/pipeline.ts'
import { createResourceMetadata } from '../http/protected-resource.ts'
import { ClientAddresses } from '../http/request/request-head.ts'
import { HeldBytes } from '../lib/held-bytes.ts'
import type { Wire } from '../wire/wire.ts'
import { openChannelSender } from './alerts.ts'
import { type Base, type BaseOptions, openBase } from './base.ts'
import { checkBreakGlass } from './break-glass.ts'
import { limitConnections } from './connections.ts'
import { reconcileDeclared } from './declared.ts'
import type { LocalFaults } from './faults.ts'
import { mcpParts } from './mcp.ts'
import { proxyOptions, readTls } from './options.ts'
import { lazyPages } from './pages.ts'
import { readinessChecks, ServerState } from './readiness.ts'
import { administerReplication, startReplicationIfSet, watchReplicationIfSet } from './replication.ts'
import { routeGroups } from './routes.ts'
import { type Front, type RunningServer, runServer } from './running.ts'
import { openServices, runs, type Services } from './services.ts'
import { listenForMetrics, openMetricsPort, serveMetrics, startBackgroundJobs } from './watch/background-jobs.ts'
import { watchCertificateExpiry } from './watch/certificate-expiry.ts'
import { Cleanup } from './watch/cleanup.ts'
import { createNodeReplies } from './watch/node-status.ts'
import { listenLater, openWire, openWirePort, publicWireAddress } from './wire.ts'

export type { RunningServer }

export interface StartOptions extends BaseOptions {
  /** What the process has caught, for the metrics. */
  readonly faults?: Pick<LocalFaults, 'counts'>
}

const UNLISTED_PROXY =
  'a proxy at an address in limit_exempt forwards requests: they share one rate limit until the proxy is listed in trusted_proxies and sends X-Forwarded-For'
/** How long a statement of the identity store may take once the server answers requests. */
const STATEMENT_MS = 5_000

export async function startServer(settings: LoadedConfig, options: StartOptions): Promise<RunningServer> {
  const { config } = settings
  const { logger, worker, faults } = options
  // A node that starts refuses connections: proxies try another one, also with requests that must not be sent twice.
  const opening = worker?.opensPortLast === true ? 'shared' : 'later'
  const [ports, cleanup] = [new Cleanup(), new Cleanup()]
  try {
    const tls = readTls(config)
    const listener = await openListener({ host: config.host, port: config.port, tls, opening })
    ports.add(() => listener.close(0))
    const metricsListener = await openMetricsPort(config, opening)
    ports.add(() => metricsListener?.close(0))
    const wirePort = await openWirePort(config, opening, logger)
    ports.add(() => wirePort?.close())

    const base = await openBase(config, listener.port, options, cleanup)
    const services = await openServices(base, faults, cleanup)
    const state = new ServerState()
    const readiness = readinessChecks(base, services, state)
    const wire = wirePort && (await openWire(wirePort, base, services, cleanup))
    answerOtherNodes(base, services, wire, listener, readiness, cleanup)
    await finishStart(base, services, cleanup)
    const expiry =
      tls && watchCertificateExpiry(tls.cert, { clock: base.clock, logger, metrics: services.metrics }, cleanup)
    if (metricsListener !== undefined)
      serveMetrics(metricsListener, config, services.metrics, logger, services.renderMetrics)

    const running = {
      settings,
      state,
      ports: { listener, metricsListener, expiry, cleanup: ports },
      base,
      services,
      wire,
      cleanup,
    }
    const front = answerRequests(base, services, listener, {
      state,
      readiness,
      wire: publicWireAddress(config, base.issuer, wire),
      settings: () => running.settings,
    })
    wire?.serve()
    await Promise.all([
      listener.listen(),
      listenForMetrics(metricsListener, config),
      listenLater(wirePort, config, logger),
    ])
    announceStart(base, services, listener, cleanup)
    // Workers have one process that replicates for them all. It stops when nothing is written any more.
    const replication = worker === undefined ? await startReplicationIfSet(config, logger) : undefined
    ports.add(() => replication?.stop())
    return runServer(running, front)
  } catch (error) {
    await cleanup.run()
    await ports.run()
    throw error
  }
}

/** Calls of other nodes, for the administration. */
function answerOtherNodes(
  { config, cluster, resources, bus, worker }: Base,
  { query, streaming, metrics }: Services,
  wire: Wire | undefined,
  { server }: Listener,
  readiness: Readonly<Record<string, ReadinessCheck>>,
  cleanup: Cleanup,
): void {
  const gateway = streaming?.gateway
  const parts = { config, resources, bus, server, readiness, query, gateway, worker, metrics }
  const { status, figures } = createNodeReplies(parts, cleanup)
  handleActivityCalls(cluster, {
    streams: gateway && { list: () => gateway.connections() },
    wire: wire && { list: () => wire.connections() },
    queries: query?.activity,
    listTables: query && ((user, page) => query.listUserTables(user, page)),
    listTopics: gateway && ((scopes) => gateway.topicsFor(new Set(scopes))),
    node: status,
    figures,
  })
}

/** Applies the declarative file; then the next node may start. */
async function finishStart(
  base: Base,
  { identity, query, streaming, feeds, mail, coverage, window, metrics }: Services,
  cleanup: Cleanup,
): Promise<void> {
  const { config, declared, resources, cluster, logger, worker } = base
  if (worker?.appliesFile !== false) await reconcileDeclared(declared, base, { query, mail }, cleanup)
  // Before anything of a feed can be read.
  await coverage.reload()
  await Promise.all([
    identity.apis.reload(),
    identity.agents?.reload(),
    identity.providers.load(),
    streaming?.loadDeclared(),
    feeds?.load(),
  ])
  await checkBreakGlass(config.localSignIn, resources.stores)
  await cluster.registered
  await base.unlock()
  resources.database.limitStatements(STATEMENT_MS)
  await watchReplicationIfSet(config, metrics)
  startBackgroundJobs(config, { resources, window, metrics, logger, worker }, cleanup)
}

interface Answering {
  readonly state: ServerState
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  /** How tools reach the wire port; undefined where it is off. */
  readonly wire: ReturnType<typeof publicWireAddress>
  /** The effective settings. */
  readonly settings: () => LoadedConfig
}

/** From now on the listener answers requests. */
function answerRequests(
  base: Base,
  services: Services,
  listener: Listener,
  { state, readiness, wire, settings }: Answering,
): Front {
  const { config, issuer, resources, bus, cluster, builtInClients, tracing, logger } = base
  const { query, identity, streaming, alerts, feeds, mail, coverage, metrics, renderMetrics, rateLimits } = services
  const { authenticate, checkProof } = identity
  const activity = createClusterActivity(cluster)
  const basePath = new URL(issuer).pathname.replace(/\/$/, '')
  const pages = lazyPages(basePath, base.brand, linkedPlaces(config))
  const addresses = new ClientAddresses(proxyOptions(config), (address) => logger.warn({ address }, UNLISTED_PROXY))
  const connections = limitConnections(listener.server, config, { logger, metrics })
  const arriving = new HeldBytes(config.maxArrivingBytes)
  metrics.watch('gatehouse_http_arriving_bytes', () => [[{}, arriving.bytes]])
  const pipeline = new Pipeline({
    groups: routeGroups({
      resources,
      bus,
      identity,
      rateLimits,
      window: services.window,
      metrics,
      renderMetrics,
      activity,
      settings,
      builtInClients,
      pages,
      readiness,
      runsIdentity: runs(config, 'identity'),
      scim: config.scim,
      authzen: config.authzen,
      licenceFirm: config.licenceFirm,
      discovery: config.discovery,
      console: config.console
        ? { issuer, services: config.services, demo: config.demo, mail: mail !== undefined, wire }
        : undefined,
      tables: query?.tables,
      columns: query?.columns,
      channels: () => openChannelSender(resources, config),
      alertStates: query && ((alerts) => query.alerts.findRuns(alerts)),
      retention: query && (() => query.retention()),
      replication: administerReplication(config),
      views: query?.views,
      query: query?.routes({
        trace: tracing,
        authenticate,
        cancelElsewhere: (id, owner) => activity.cancel(id, owner),
      }),
      alerts,
      mcp: mcpParts(base, query),
      streaming: streaming?.routes,
      attributesChanged: async () => {
        await identity.attributes.reload()
        await query?.tables.refresh()
      },
      loadedControllers: base.loadedControllers,
      feeds,
      coverage,
      mail,
      stopping: state.stopping,
      onError: (error, text) => logger.error({ err: error }, text),
      prices: query && base.market?.prices(query, base.clock),
    }),
    base: basePath,
    problemPage: pages.problemPage,
    resourceMetadata: createResourceMetadata(issuer, () => identity.apis.known().agents?.scopes ?? []),
    arriving,
    unread: new UnreadReplies({ maxBytes: config.querySendQueueBytes, metrics }),
    readAddress: addresses.read,
    admit: connections.admit,
    authenticate,
    checkProof,
    rateLimits,
    metrics,
    logger,
    tracing,
  })
  listener.server.on('clientError', createClientErrorHandler(logger, metrics))
  listener.answerWith(streaming === undefined ? { handle: pipeline.handle } : pipeline)
  return { basePath, addresses, connections }
}

function linkedPlaces(config: Config) {
  return { console: config.console, account: runs(config, 'identity'), documentation: true }
}

function announceStart(
  { config, issuer, market, resources: { database, audit }, clock, logger }: Base,
  { query, feeds }: Services,
  { port }: Listener,
  cleanup: Cleanup,
): void {
  const trading = query && market?.start(query, { clock, logger, feeds: feeds?.service })
  cleanup.add(() => trading?.stop())
  logger.info({ issuer, port, services: config.services, database: database.location }, 'started')
  audit.record({ event: 'server.started', details: { version: VERSION, services: config.services } })
  cleanup.add(() => audit.record({ event: 'server.stopped', details: { version: VERSION } }))
}
