/** The composition root: a Config becomes a running server; every route group is visible here. */
import { answerForHere, createLive } from './admin/live.ts'
import { type Config, issuerOf, type LoadedConfig } from './config.ts'
import { createApp } from './http/app.ts'
import { clientAddress } from './http/client-address.ts'
import { directFirst } from './http/direct-routes.ts'
import { type Documents, documentsFirst, registerDocuments } from './http/documents.ts'
import { admitCaller, createDoors, guardDoors } from './http/doors.ts'
import { noteAnswers } from './http/every-answer.ts'
import { registerHealth } from './http/health.ts'
import { openListener } from './http/listener.ts'
import type { Logger } from './http/log.ts'
import { registerMetrics } from './http/metrics-door.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import { watchSessions } from './identity/browser/session-watch.ts'
import { publicDocuments } from './identity/discovery.ts'
import { openIdentity } from './identity/identity.ts'
import { registerTokenDoors } from './identity/token-doors.ts'
import { type Clock, systemClock } from './protocol/clock.ts'
import { openQuery } from './query/service.ts'
import { createClosing } from './server/closing.ts'
import { reconcileDeclared } from './server/declared.ts'
import { openGround, recordStart } from './server/ground.ts'
import { openLater } from './server/later.ts'
import { budgetsOf, lifetimesOf, queryLimitsOf, readBrand, readTls } from './server/options.ts'
import { bySide } from './server/sides.ts'
import { traceIfAsked } from './server/tracing.ts'
import { openMetrics, startUpkeep } from './server/upkeep.ts'
import { readAuditAfter } from './store/audit-read.ts'
import { nodeName } from './store/nodes.ts'
import { WritesStopped } from './store/wal-sync.ts'
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

export async function startServer(config: Config, surroundings: Surroundings): Promise<RunningServer> {
  const { logger, clock = systemClock, settings } = surroundings
  const closing = createClosing()
  // The port first: two servers must not both work on one data folder.
  const listener = await openListener({ host: config.host, port: config.port, tls: readTls(config) })
  closing.add(() => listener.close(0))
  try {
    const issuer = issuerOf(config, listener.port)
    const runs = (service: Config['services'][number]) => config.services.includes(service)
    const trace = await traceIfAsked(config, nodeName(), logger, closing)
    const ground = await openGround(config, { logger, clock, trace }, closing)
    const { stores, database, audit, bus, assembly, masterKey } = ground
    const live = createLive(assembly)

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
          clock,
          database: { dataFolder: config.data, databaseUrl: config.databaseUrl },
          limits: queryLimitsOf(config),
          onError: (error) => logger.error({ err: error }, 'the query service stumbled'),
        })
      : undefined
    closing.add(() => query?.close())
    await reconcileDeclared(config, ground, { tables: query?.tables, logger, clock })

    const { metrics, metricsPort } = await openMetrics(config, ground, closing)
    const limiter = createRateLimiter(clock)
    const doors = createDoors({ limiter, budgets: budgetsOf(config), exempt: config.limitExempt, metrics })
    startUpkeep(config, { ground, limiter, metrics, clock, logger }, closing)

    const identity = await openIdentity({
      issuer,
      stores,
      bus,
      audit,
      clock,
      metrics,
      sealingKey: masterKey.derive('signing keys'),
      rotateKeysEveryMs: config.keyRotation,
      lifetimes: lifetimesOf(config),
      onError: (error) => logger.error({ err: error }, 'the signing keys could not be tended'),
    })
    closing.add(() => identity.close())
    const { authenticate } = identity

    const base = new URL(issuer).pathname.replace(/\/$/, '')
    const addressOf = clientAddress(config.trustedProxies)
    const queries = query?.routes({
      authenticate,
      admit: admitCaller(doors, 'query'),
      metrics,
      trace,
      cancelElsewhere: (id, owner) => live.cancel(id, owner),
    })
    const direct = queries ?? []
    const makeApp = () => {
      const app = createApp({ logger, trustedProxies: config.trustedProxies, listener, metrics, direct })
      trace?.follow(app)
      guardDoors(app, doors)
      return app
    }
    const app = makeApp()
    closing.add(() => app.close())

    const documents: Documents = runs('identity') ? publicDocuments(issuer, identity.signer) : new Map()
    if (runs('identity')) {
      registerDocuments(app, documents)
      registerTokenDoors(app, { ...identity, stores, audit, clock, doors, metrics })
      const watch = watchSessions({
        ...identity,
        stores,
        bus,
        audit,
        clock,
        allowPrivateLogout: config.logoutPrivate,
        onLogoutFailure: (client, reason) =>
          logger.warn({ client, reason }, 'a client could not be told that a session ended'),
        onError: (error) => logger.warn({ err: error }, 'expired sessions could not be ended'),
      })
      closing.add(() => watch.close())
    }

    const streaming = runs('streaming')
      ? await openStreaming(app, listener.server, {
          authenticate,
          bus,
          audit,
          clock,
          doors,
          logger,
          metrics,
          settings: config,
          name: config.brandName,
          base,
          addressOf,
        })
      : undefined
    closing.add(() => streaming?.drain())

    answerForHere(assembly, { streams: streaming && { list: streaming.liveSessions }, queries: query?.running })
    const brand = runs('identity') ? readBrand(config) : undefined
    const annex = openLater({
      async build() {
        const { openAnnex } = await import('./annex.ts')
        const parts = { issuer, ground, identity, doors, metrics, clock, live, brand, settings }
        return openAnnex(makeApp(), { ...parts, describesQuery: query !== undefined })
      },
      onError: (error, reqId) =>
        logger.error({ reqId, err: error }, 'the pages and the administration could not be opened'),
    })
    closing.add(() => annex.close())
    registerMetrics(app, metrics, authenticate)
    let stopping = false
    registerHealth(app, {
      process: async () => (stopping ? 'stopping' : undefined),
      database: async () => answers(database.check()),
      ...(query === undefined ? {} : { query: async () => answers(query.check()) }),
    })

    await app.ready()
    const directEnv = { doors, addressOf, note: noteAnswers(logger, metrics), logger, tracing: trace }
    const answer = bySide(base, directFirst(direct, directEnv, app.routing), annex.routing)
    const documentsEnv = {
      ...directEnv,
      base,
      onError: (error: unknown, reqId: string) => logger.error({ reqId, err: error }, 'failed'),
    }
    // Traces are kept by the application: where they are, it answers everything.
    listener.answerWith(trace === undefined ? documentsFirst(documents, documentsEnv, answer) : answer)
    logger.info({ issuer, port: listener.port, services: config.services, database: database.location }, 'started')
    recordStart(ground, config, closing)

    return {
      issuer,
      port: listener.port,
      metricsPort,
      async stop() {
        if (stopping) return
        stopping = true
        await Promise.all([streaming?.drain(), listener.close(STOP_GRACE_MS + config.streamDrainTime)])
        await closing.run()
        logger.info('stopped')
      },
    }
  } catch (error) {
    await closing.run()
    throw error
  }
}

async function answers(check: Promise<void>): Promise<string | undefined> {
  try {
    await check
    return undefined
  } catch (error) {
    return error instanceof WritesStopped ? 'the disk failed, restart the server' : 'no answer'
  }
}
