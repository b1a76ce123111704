/** The query service put together: the engine, the catalogue, the doors, and what the rest of the program may ask of it. */
import type { FastifyInstance } from 'fastify'
import type { Bus } from '../events/bus.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Authenticate } from '../protocol/principal.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { createTables, type Tables } from './catalogue/tables.ts'
import { registerEndpoint } from './endpoint.ts'
import type { Engine } from './engines/engine.ts'
import { openEngine } from './engines/open.ts'
import { DEFAULT_LIMITS } from './iql/limits.ts'
import { Planner } from './planner.ts'
import { RunningQueries } from './running.ts'

export interface QueryLimits {
  readonly statementBytes: number
  readonly bodyBytes: number
  readonly resultRows: number
  readonly resultBytes: number
  readonly milliseconds: number
  readonly perUser: number
  /** Reader processes of the embedded engine, or connections to PostgreSQL. */
  readonly concurrency: number
  readonly waiting: number
}

export const QUERY_LIMITS: QueryLimits = {
  statementBytes: DEFAULT_LIMITS.statementBytes,
  bodyBytes: 8 * 1024 * 1024,
  resultRows: 100_000,
  resultBytes: 1024 * 1024 * 1024,
  milliseconds: 30_000,
  perUser: 32,
  concurrency: 4,
  waiting: 256,
}

export interface QueryDeps {
  readonly authenticate: Authenticate
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: { error(details: object, message: string): void }
  readonly database: { readonly dataFolder: string; readonly databaseUrl: string }
  readonly limits?: Partial<QueryLimits>
}

export interface QueryService {
  /** The tables themselves, for the declarative file and the demonstration data. */
  readonly tables: Tables
  readonly engine: Engine
  /** Queries that run now. */
  readonly running: number
  close(): Promise<void>
}

/** How long an Idempotency-Key is remembered. */
const REMEMBERED_MICROS = 24n * 3_600_000_000n
const FORGET_EVERY_MS = 3_600_000

export async function registerQuery(app: FastifyInstance, deps: QueryDeps): Promise<QueryService> {
  const limits = { ...QUERY_LIMITS, ...deps.limits }
  const onError = (error: unknown): void =>
    deps.logger.error({ err: error }, 'the query service failed in the background')
  const engine = await openEngine({
    ...deps.database,
    concurrency: limits.concurrency,
    waiting: limits.waiting,
    milliseconds: limits.milliseconds,
  })
  const catalogue = await Catalogue.open(engine, deps.bus, onError)
  const planner = new Planner(engine, { ...DEFAULT_LIMITS, statementBytes: limits.statementBytes })
  const running = new RunningQueries(limits)
  registerEndpoint(app, {
    engine,
    catalogue,
    planner,
    running,
    limits,
    clock: deps.clock,
    authenticate: deps.authenticate,
  })
  const forgetting = setInterval(() => {
    engine.forgetRequests(BigInt(deps.clock()) * 1000n - REMEMBERED_MICROS).catch(onError)
  }, FORGET_EVERY_MS)
  forgetting.unref()
  return {
    tables: createTables({ engine, catalogue, clock: deps.clock }),
    engine,
    get running() {
      return running.size
    },
    async close() {
      clearInterval(forgetting)
      running.stopAll()
      catalogue.close()
      await engine.close()
    },
  }
}
