/** Opens the services that a server runs: query, identity, streaming, and the metrics and rate limits that they share. */
import type { Config } from '../config/config.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { RateLimits } from '../http/limits/rate-limits.ts'
import { SlidingWindow } from '../http/limits/sliding-window.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import { type Identity, openIdentity, watchSessions } from '../identity/identity.ts'
import { logAvailability } from '../lib/availability.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { Mail } from '../mail/mail.ts'
import { openQuery, type QueryService } from '../query/index.ts'
import { createStepUp, type StepUp } from '../step-up/step-up.ts'
import { subjectNames } from '../store/accounts/subject-names.ts'
import { readAuditAfter } from '../store/audit/read.ts'
import { openStreaming, type Streaming } from '../streaming/streaming.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openAlertRoutes } from './alerts.ts'
import type { Base } from './base.ts'
import type { LocalFaults } from './faults.ts'
import { openFeedsOnStreams } from './feeds.ts'
import { type Coverage, openCoverage } from './licensing.ts'
import { createLiveController } from './live-controller.ts'
import { openMailIfSet, startMail } from './mail.ts'
import { agentAccess, liveLimits, queryLimits, rateLimitOptions, streamSettings, tokenLifetimes } from './options.ts'
import { openMetrics } from './watch/background-jobs.ts'
import type { Cleanup } from './watch/cleanup.ts'
import { type ClockWatch, watchClock } from './watch/clock.ts'

export interface Services {
  readonly query: QueryService | undefined
  /** Open on every node: all services authenticate with it. Its endpoints are served where the settings say so. */
  readonly identity: Identity
  readonly streaming: Streaming | undefined
  /** Where the query service runs. */
  readonly alerts: LazyRouteGroups | undefined
  /** Where streaming runs. */
  readonly feeds: Feeds | undefined
  /** Where mail is set up. */
  readonly mail: Mail | undefined
  /** What products cover of feeds, controllers and tables. */
  readonly coverage: Coverage
  readonly metrics: Metrics
  /** The metrics of all workers, if there are several. */
  readonly renderMetrics: () => string | Promise<string>
  readonly window: SlidingWindow
  readonly rateLimits: RateLimits
}

export async function openServices(
  base: Base,
  faults: Pick<LocalFaults, 'counts'> | undefined,
  cleanup: Cleanup,
): Promise<Services> {
  const { config, resources, bus, clock, worker } = base
  const metrics = openMetrics(resources, bus, config.data, cleanup)
  metrics.watchCounts('gatehouse_controller_faults_total', 'controller', () => faults?.counts ?? [])
  const render = () => metrics.render()
  const renderMetrics = worker === undefined ? render : worker.shareMetrics(render)
  const window = new SlidingWindow(clock)
  const rateLimits = new RateLimits(window, rateLimitOptions(config), metrics)
  const stepUp = createStepUp({ clock, audit: resources.audit, metrics })
  const clockWatch = await watchClock(resources.database, base, cleanup)
  const identity = await openIdentityService(base, metrics, clockWatch)
  cleanup.add(() => identity.close())
  const mail = await openMailIfSet(config, base.issuer, resources, base.mailTemplates)
  if (mail !== undefined && runs(config, 'identity')) startMail(mail, base, metrics, cleanup)
  const coverage = openCoverage({
    resources,
    bus,
    givenClock: base.givenClock,
    metrics,
    firm: config.licenceFirm,
    mail: mail?.port,
    onError: exceptOutages((error) => base.logger.error({ err: error }, 'licences error')),
  })
  cleanup.add(() => coverage.close())
  const query = runs(config, 'query')
    ? await openQueryService(base, identity, { metrics, stepUp, licences: coverage.tables })
    : undefined
  cleanup.add(() => query?.close())
  if (runs(config, 'identity')) endExpiredSessions(base, identity, cleanup)
  const streaming = runs(config, 'streaming')
    ? await openStreamingService(base, { query, identity, metrics, rateLimits, stepUp, coverage })
    : undefined
  if (streaming !== undefined) coverage.onChanged(() => streaming.gateway.licencesChanged())
  const feeds =
    streaming && openFeedsOnStreams(base, { identity, metrics, gateway: streaming.gateway, stepUp, coverage })
  cleanup.add(() => feeds?.close())
  const alerts = query && openAlertRoutes(base, { query, identity, metrics, mail, feeds: () => feeds }, cleanup)
  cleanup.add(() => streaming?.close())
  return { query, identity, streaming, alerts, feeds, mail, coverage, metrics, renderMetrics, window, rateLimits }
}

export function runs({ services }: Config, service: Config['services'][number]): boolean {
  return services.includes(service)
}

function openQueryService(
  { config, resources, bus, cluster, clock, worker, logger }: Base,
  { users, clients }: Pick<Identity, 'users' | 'clients'>,
  observers: { readonly metrics: Metrics; readonly stepUp: StepUp; readonly licences: Coverage['tables'] },
): Promise<QueryService> {
  const { database, stores, audit, masterKey } = resources
  return openQuery({
    bus,
    settle: cluster.settle,
    audit,
    metrics: observers.metrics,
    stepUp: observers.stepUp,
    licences: observers.licences,
    auditLog: {
      async read(after, most) {
        await audit.flush()
        return readAuditAfter(database.db, after, most)
      },
    },
    attributes: {
      definitions: () => stores.attributes.list(),
      currentValues({ kind, subject, clientId }) {
        const known = kind === 'user' ? users.recent(subject) : clients.recent(clientId)
        if (known !== undefined) return known.attributes
        const found = kind === 'user' ? users.findById(subject) : clients.find(clientId)
        return found.then((holder) => holder?.attributes ?? {})
      },
    },
    owners: { names: (subjects) => subjectNames(database, subjects) },
    clock,
    olderNodes: () => stores.nodes.older(),
    database: {
      dataFolder: config.data,
      databaseUrl: config.databaseUrl,
      servers: resources.servers,
      shared: worker?.queryFile,
    },
    limits: queryLimits(config),
    liveLimits: liveLimits(config),
    deriveKey: masterKey.derive,
    onError: (error) => logger.error({ err: error }, 'query service error'),
    onAvailability: logAvailability(logger, 'query'),
    onSlow: (slow) => logger.warn(slow, 'slow statement'),
    onStuck: (stuck) => logger.warn(stuck, 'an abandoned statement is still running in the database'),
  })
}

function openIdentityService(base: Base, metrics: Metrics, clockWatch: ClockWatch): Promise<Identity> {
  const { config, issuer, resources, builtInClients, bus, clock, logger } = base
  const { database, stores, audit, masterKey } = resources
  return openIdentity({
    issuer,
    database,
    stores,
    builtInClients,
    bus,
    audit,
    clock,
    metrics,
    nodes: base.cluster,
    sealingKey: masterKey.derive('signing keys'),
    rotateKeysEveryMs: config.keyRotation,
    provisioning: config.scim,
    agents: agentAccess(config, issuer),
    signingAlgs: config.signingAlgs,
    lifetimes: tokenLifetimes(config),
    dpop: {
      publicOrigins: config.publicOrigins,
      nonce: config.dpopNonce,
      replay: config.dpopReplay,
      nonceKey: masterKey.derive('dpop nonces'),
      usedProofs: base.worker?.usedProofs,
    },
    localSignIn: config.localSignIn,
    pushed: { lifetimeMs: config.parLifetime, required: config.requirePushedAuthorizationRequests },
    onError: exceptOutages((error) => logger.error({ err: error }, 'the signing keys could not be rotated')),
    onEarlyToken: (notBefore) => clockWatch.earlyToken(notBefore),
    allowPrivateKeys: config.clientJwksPrivate,
    onRemoteFailure: (uri, reason) => logger.warn({ uri, reason }, 'keys or metadata could not be fetched'),
  })
}

function endExpiredSessions(
  { config, resources, bus, clock, logger }: Base,
  identity: Identity,
  cleanup: Cleanup,
): void {
  const { stores, audit } = resources
  const watch = watchSessions({
    clients: identity.clients,
    issuer: identity.issuer,
    revocations: identity.revocations,
    stores,
    bus,
    audit,
    clock,
    allowPrivateLogout: config.logoutPrivate,
    onLogoutFailure: (client, reason) => logger.warn({ client, reason }, 'back-channel logout could not be delivered'),
    onError: exceptOutages((error) => logger.warn({ err: error }, 'expired sessions could not be ended')),
  })
  cleanup.add(() => watch.close())
}

function openStreamingService(
  { config, issuer, controllers, resources: { audit, stores }, bus, clock, logger, tracing, worker }: Base,
  {
    query,
    identity,
    metrics,
    rateLimits,
    stepUp,
    coverage,
  }: Pick<Services, 'query' | 'identity' | 'metrics' | 'rateLimits' | 'coverage'> & { readonly stepUp: StepUp },
): Promise<Streaming> {
  return openStreaming({
    authenticate: identity.authenticate,
    checkProof: identity.checkProof,
    findUsername: async (subject) => (await identity.users.findById(subject))?.username,
    bus,
    audit,
    clock,
    rateLimits,
    logger,
    metrics,
    controllers,
    stepUp,
    licences: coverage.controllers,
    settings: streamSettings(config, issuer),
    queryController: query && createLiveController(query.live, audit),
    name: config.brandName,
    trace: tracing,
    remoteControllers: stores.controllers,
    processes: worker === undefined ? 1 : config.workers,
    callToken: (url, caller, requestId) => identity.issuer.callToken(url, caller, requestId),
  })
}
