/** The query service put together: the engine, the catalogue, the doors, and what the rest of the program may ask of it. */
import type { Bus } from '../events/bus.ts'
import type { DirectRoute } from '../http/direct-routes.ts'
import { type Audit, noAudit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Metrics } from '../protocol/metrics.ts'
import { type AuditSource, createAuditTable } from './audit-table.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { createTables, type Tables } from './catalogue/tables.ts'
import { type EndpointEnv, queryRoutes } from './endpoint.ts'
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

const QUERY_LIMITS: QueryLimits = {
  statementBytes: DEFAULT_LIMITS.statementBytes,
  bodyBytes: 8 * 1024 * 1024,
  resultRows: 100_000,
  resultBytes: 1024 * 1024 * 1024,
  milliseconds: 30_000,
  perUser: 32,
  concurrency: 4,
  waiting: 256,
}

export interface QueryOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly database: { readonly dataFolder: string; readonly databaseUrl: string }
  readonly limits?: Partial<QueryLimits>
  /** Where changes of the catalogue go on record. */
  readonly audit?: Audit
  /** What the table auditlog shows; nothing new where it is not given. */
  readonly auditLog?: AuditSource
}

export type QueryDoorOptions = Pick<EndpointEnv, 'authenticate' | 'admit' | 'metrics' | 'trace'> & {
  /** Cancels a query that another node runs. */
  readonly cancelElsewhere?: EndpointEnv['cancel']
}

export interface QueryService {
  /** The tables themselves, for the declarative file and the demonstration data. */
  readonly tables: Tables
  readonly running: RunningQueries
  readonly planner: Planner
  /** The doors, which are answered before the application is asked: lookups by key are the most that come. */
  routes(options: QueryDoorOptions): readonly DirectRoute[]
  /** For a health check: rejects when the database does not answer, or takes no writes until a restart. */
  check(): Promise<void>
  close(): Promise<void>
}

/** How long an Idempotency-Key is remembered. */
const REMEMBERED_MICROS = 24n * 3_600_000_000n
const TEND_EVERY_MS = 60_000
const NO_LOG: AuditSource = { read: async () => ({ rows: [], first: 0 }) }

export async function openQuery(options: QueryOptions): Promise<QueryService> {
  const { bus, clock, onError, database, limits: given, audit = noAudit, auditLog = NO_LOG } = options
  const limits = { ...QUERY_LIMITS, ...given }
  const { concurrency, waiting, milliseconds } = limits
  const engine = await openEngine({ ...database, concurrency, waiting, milliseconds })
  const catalogue = await Catalogue.open(engine, bus, onError)
  const planner = new Planner(engine, { ...DEFAULT_LIMITS, statementBytes: limits.statementBytes })
  const running = new RunningQueries(limits, clock)
  const auditTable = createAuditTable(auditLog, engine.auditCopy)
  const tending = setInterval(() => {
    engine.forgetRequests(BigInt(clock()) * 1000n - REMEMBERED_MICROS).catch(onError)
    auditTable.trim().catch(onError)
  }, TEND_EVERY_MS)
  tending.unref()
  return {
    tables: createTables({ engine, catalogue, clock }),
    running,
    planner,
    routes({ cancelElsewhere: cancel = async () => false, ...options }) {
      watch(options.metrics, engine, running)
      return queryRoutes({
        ...options,
        cancel,
        engine,
        catalogue,
        planner,
        running,
        limits,
        clock,
        audit,
        auditTable,
      })
    },
    check: () => engine.check(),
    async close() {
      clearInterval(tending)
      running.stopAll()
      catalogue.close()
      await engine.close()
    },
  }
}

function watch(metrics: Metrics | undefined, engine: Engine, running: RunningQueries): void {
  metrics?.watch('gatehouse_queries_running', () => [[{}, running.size]])
  metrics?.watch('gatehouse_query_processes', () => {
    const { busy, total } = engine.load
    return [
      [{ state: 'busy' }, busy],
      [{ state: 'idle' }, total - busy],
    ]
  })
}
