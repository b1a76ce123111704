/** The composition root: a Config becomes a running server; every route group is visible here. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { createSecureContext } from 'node:tls'
import { describeAdmin, registerAdmin } from './admin/admin.ts'
import { createKeyring } from './admin/keyring.ts'
import { showSettings } from './admin/settings.ts'
import { BadSetting, type Config, issuerOf, type LoadedConfig } from './config.ts'
import type { TablesPort } from './declarative/tables-port.ts'
import type { Bus } from './events/bus.ts'
import { openBus } from './events/open-bus.ts'
import { createApp } from './http/app.ts'
import { clientAddress } from './http/client-address.ts'
import { createDoors, guardDoors, sayStanding } from './http/doors.ts'
import { registerHealth } from './http/health.ts'
import { openListener } from './http/listener.ts'
import type { Logger } from './http/log.ts'
import { openMetricsListener, registerMetrics } from './http/metrics-door.ts'
import { registerOpenApi } from './http/openapi.ts'
import { watchProcess } from './http/process-metrics.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import { traceRequests } from './http/traces.ts'
import { openBrowserSide } from './identity/browser/open.ts'
import { openIdentity } from './identity/identity.ts'
import { registerTokenDoors } from './identity/token-doors.ts'
import { type Clock, systemClock } from './protocol/clock.ts'
import { createMetrics, type Metrics } from './protocol/metrics.ts'
import { VERSION } from './protocol/version.ts'
import { openQuery } from './query/service.ts'
import { type AuditLog, openAuditLog } from './store/audit.ts'
import { openDataFolder } from './store/data-folder.ts'
import { type Database, openDatabase } from './store/database.ts'
import { sql } from './store/kysely.ts'
import { type MasterKey, openMasterKey } from './store/master-key.ts'
import { startPruning } from './store/prune.ts'
import { exchangeRates } from './store/rate-exchange.ts'
import { createStores } from './store/stores.ts'
import { openStreaming } from './streaming/streaming.ts'

export interface RunningServer {
  readonly issuer: string
  readonly port: number
  /** Where /metrics is served without a token, if it is. */
  readonly metricsPort: number | undefined
  stop(): Promise<void>
}

export interface Surroundings {
  readonly logger: Logger
  readonly clock?: Clock
  /** What was written for each setting and where, for those who may ask. */
  readonly settings?: Pick<LoadedConfig, 'texts' | 'sources'>
}

const STOP_GRACE_MS = 10_000

export async function startServer(
  config: Config,
  { logger, clock = systemClock, settings }: Surroundings,
): Promise<RunningServer> {
  const listener = await openListener({ host: config.host, port: config.port, tls: readTls(config) })
  const cleanUp: (() => Promise<void>)[] = [() => listener.close(0)]
  try {
    const issuer = issuerOf(config, listener.port)
    const folder = openDataFolder(config.data)
    cleanUp.unshift(async () => folder.close())
    const masterKey = openMasterKey(folder, config.masterKey)
    const database = await openDatabase({ dataFolder: config.data, url: config.databaseUrl })
    cleanUp.unshift(() => database.close())
    const node = `${hostname()}:${process.pid}`
    const audit = openAuditLog(database, {
      clock,
      node,
      onError: (error) => logger.error({ err: error }, 'the audit log could not be written'),
    })
    cleanUp.unshift(() => audit.close())
    const stores = createStores(database, clock, {
      sessions: { idle: config.sessionIdle, absolute: config.sessionLifetime },
    })
    const bus = await openBus(database, stores.events, config.databaseUrl, (error) =>
      logger.warn({ err: error }, 'the bus stumbled'),
    )
    cleanUp.unshift(() => bus.close())
    const query = config.services.includes('query')
      ? await openQuery({
          bus,
          clock,
          database: { dataFolder: config.data, databaseUrl: config.databaseUrl },
          limits: queryLimitsOf(config),
          onError: (error) => logger.error({ err: error }, 'the query service stumbled'),
        })
      : undefined
    cleanUp.unshift(async () => query?.close())
    await reconcileDeclared(config, { database, audit, logger, clock, masterKey, tables: query?.tables })

    const metrics = createMetrics()
    watchParts(metrics, { database, audit, bus })
    const unwatch = watchProcess(metrics)
    cleanUp.unshift(async () => unwatch())
    const metricsListener =
      config.metricsPort === undefined
        ? undefined
        : await openMetricsListener(metrics, config.metricsHost, config.metricsPort)
    cleanUp.unshift(async () => metricsListener?.close())

    const app = createApp({ logger, trustedProxies: config.trustedProxies, listener, metrics })
    const tracing =
      config.traceEndpoint === ''
        ? undefined
        : traceRequests(app, {
            endpoint: config.traceEndpoint,
            ratio: config.traceRatio,
            node,
            onError: (error) => logger.warn({ err: error }, 'traces could not be sent'),
          })
    cleanUp.unshift(async () => tracing?.stop())
    const limiter = createRateLimiter(clock)
    const doors = createDoors({ limiter, budgets: budgetsOf(config), exempt: config.limitExempt, metrics })
    guardDoors(app, doors)
    const rates = exchangeRates(database, {
      clock,
      node: randomUUID(),
      ...limiter,
      onError: (error) => logger.warn({ err: error }, 'rate counts could not be exchanged'),
    })
    cleanUp.unshift(() => rates.stop())
    const pruning = startPruning(database, {
      clock,
      node,
      auditKept: config.auditRetentionDays === 0 ? undefined : config.auditRetentionDays * 86_400_000,
      onPruned: (table, rows) => metrics.count('gatehouse_pruned_rows_total', { table }, rows),
      onError: (error) => logger.warn({ err: error }, 'expired rows could not be removed'),
    })
    cleanUp.unshift(() => pruning.stop())
    const identity = await openIdentity({
      issuer,
      stores,
      bus,
      audit,
      clock,
      metrics,
      sealingKey: masterKey.derive('signing keys'),
      rotateKeysEveryMs: config.keyRotation,
      lifetimes: {
        accessTokenMs: config.accessTokenLifetime,
        refreshMs: config.refreshTokenLifetime,
        idleMs: config.refreshTokenIdle,
        graceMs: config.refreshTokenGrace,
      },
      onError: (error) => logger.error({ err: error }, 'the signing keys could not be tended'),
    })
    cleanUp.unshift(async () => identity.close())
    if (config.services.includes('identity')) {
      registerTokenDoors(app, { ...identity, stores, audit, clock, doors, metrics })
      const browserSide = openBrowserSide(app, {
        ...identity,
        stores,
        db: database.db,
        bus,
        audit,
        clock,
        sealingKey: masterKey.derive('second factors'),
        brand: { name: config.brandName, colour: config.brandColour, logoFile: config.brandLogo },
        allowPrivateLogout: config.logoutPrivate,
        onLogoutFailure: (client, reason) =>
          logger.warn({ client, reason }, 'a client could not be told that a session ended'),
        onError: (error) => logger.warn({ err: error }, 'expired sessions could not be ended'),
      })
      app.addHook('onClose', () => browserSide.close())
    }
    query?.register(app, {
      authenticate: identity.authenticate,
      admit: (request, reply, { clientId, subject, kind }) => {
        const user = kind === 'user' ? subject : undefined
        sayStanding(reply, doors.admit('query', request.ip, { client: clientId, user }))
      },
      metrics,
    })
    const streaming = config.services.includes('streaming')
      ? await openStreaming(app, listener.server, {
          authenticate: identity.authenticate,
          bus,
          audit,
          clock,
          doors,
          logger,
          metrics,
          settings: config,
          name: config.brandName,
          addressOf: clientAddress(config.trustedProxies),
        })
      : undefined
    cleanUp.unshift(async () => streaming?.drain())
    registerAdmin(app, {
      authenticate: identity.authenticate,
      admit: (request, reply, { clientId, subject, kind }) => {
        const user = kind === 'user' ? subject : undefined
        sayStanding(reply, doors.admit('admin', request.ip, { client: clientId, user }))
      },
      env: {
        database,
        stores,
        clock,
        audit,
        publish: bus.publish,
        keyring: createKeyring({
          keys: stores.signingKeys,
          sealingKey: masterKey.derive('signing keys'),
          clock,
          publish: bus.publish,
        }),
        settings: () => (settings === undefined ? [] : showSettings(settings)),
        streams: streaming && { list: streaming.liveSessions },
        queries: query && {
          list: () => query.running.list(),
          cancel: (requestId) => query.running.cancel(requestId, undefined),
        },
      },
    })
    registerMetrics(app, metrics, identity.authenticate)
    registerOpenApi(app, issuer, describeAdmin())
    let stopping = false
    registerHealth(app, {
      process: async () => (stopping ? 'stopping' : undefined),
      database: async () => answers(sql`select 1`.execute(database.db)),
      ...(query === undefined ? {} : { query: async () => answers(query.check()) }),
    })

    await app.ready()
    listener.answerWith(app.routing)
    logger.info(
      { issuer, port: listener.port, services: config.services, database: database.location, started: clock() },
      'started',
    )
    audit.record({ event: 'server.started', details: { version: VERSION, services: config.services } })

    return {
      issuer,
      port: listener.port,
      metricsPort: metricsListener?.port,
      async stop() {
        if (stopping) return
        stopping = true
        await Promise.all([streaming?.drain(), listener.close(STOP_GRACE_MS + config.streamDrainTime)])
        await app.close()
        await tracing?.stop()
        await metricsListener?.close()
        unwatch()
        await rates.stop()
        await pruning.stop()
        identity.close()
        await query?.close()
        await bus.close()
        audit.record({ event: 'server.stopped', details: { version: VERSION } })
        await audit.close()
        await database.close()
        folder.close()
        logger.info('stopped')
      },
    }
  } catch (error) {
    for (const undo of cleanUp) await undo()
    throw error
  }
}

/** Before the services read their state; on a start that declares nothing none of it is even loaded. */
async function reconcileDeclared(
  config: Config,
  parts: {
    database: Database
    audit: AuditLog
    logger: Logger
    clock: Clock
    masterKey: MasterKey
    tables: TablesPort | undefined
  },
): Promise<void> {
  if (config.config === '' && !config.demo) return
  const { findDeclared, reconcile, summarise } = await import('./declarative/reconcile.ts')
  const declared = await findDeclared(config)
  if (declared === undefined) return
  const { database, audit, logger, clock, masterKey, tables } = parts
  const digestKey = masterKey.derive('declared passwords')
  const changes = await reconcile(declared, { database, clock, environment: process.env, tables, digestKey })
  if (changes.length === 0) return
  logger.info({ source: declared.source, ...summarise(changes) }, 'declaration applied')
  audit.record({ event: 'declaration.applied', details: summarise(changes) })
}

function watchParts(metrics: Metrics, parts: { database: Database; audit: AuditLog; bus: Bus }): void {
  const { database, audit, bus } = parts
  metrics.watch('gatehouse_database_connections', () =>
    Object.entries(database.pool() ?? {}).map(([state, count]) => [{ state }, count] as const),
  )
  metrics.watch('gatehouse_audit_waiting_rows', () => [[{}, audit.waiting]])
  metrics.watch('gatehouse_audit_lost_total', () => [[{}, audit.lost]])
  bus.subscribe(({ kind }) => metrics.count('gatehouse_bus_events_total', { kind }))
}

function budgetsOf(config: Config) {
  return {
    token: config.limitToken,
    pages: config.limitPages,
    query: config.limitQuery,
    stream: config.limitStream,
    admin: config.limitAdmin,
  }
}

function queryLimitsOf(config: Config) {
  return {
    resultRows: config.queryRows,
    resultBytes: config.queryResultBytes,
    statementBytes: config.queryStatementBytes,
    bodyBytes: config.queryBodyBytes,
    milliseconds: config.querySeconds,
    perUser: config.queryPerUser,
    concurrency: config.queryConcurrency,
    waiting: config.queryWaiting,
  }
}

function readTls(config: Config): { cert: Buffer; key: Buffer } | undefined {
  if (config.tlsCertificate === '') return undefined
  try {
    const tls = { cert: readFileSync(config.tlsCertificate), key: readFileSync(config.tlsKey) }
    createSecureContext(tls)
    return tls
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BadSetting(`GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY cannot be used: ${reason}`)
  }
}

async function answers(query: Promise<unknown>): Promise<string | undefined> {
  try {
    await query
    return undefined
  } catch {
    return 'no answer'
  }
}
