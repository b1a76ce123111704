/** Assembles the query service: engine, catalogue, planner and routes. */

import { DEFAULT_LIMITS } from 'gatehouse-iql'
import { type Audit, type Clock, noAudit } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { RouteGroup } from '../http/route.ts'
import { Availability, type AvailabilityChange } from '../lib/availability.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Activity, createActivity } from './activity.ts'
import type { Engine } from './engines/engine.ts'
import type { EngineOptions } from './engines/engine-options.ts'
import { openEngine } from './engines/open.ts'
import { DEFAULT_RESPONSE_LIMITS, type ResponseLimits } from './engines/stored-responses.ts'
import { catalogueGroup } from './http/catalogue.ts'
import { type EndpointsEnv, type QueryEndpoints, queryEndpoints } from './http/endpoints.ts'
import type { LiveQueries } from './live/contract.ts'
import { DEFAULT_LIVE_LIMITS, type LiveLimits } from './live/limits.ts'
import { LiveService } from './live/live-service.ts'
import type { DeriveKey } from './live/position.ts'
import { Planner } from './plan/planner.ts'
import type { TablePage } from './plan/rights.ts'
import { type TableUser, tablesOfUser } from './plan/user-tables.ts'
import { type AuditSource, createAuditTable } from './run/audit-table.ts'
import { Catalogue } from './run/catalogue.ts'
import { createRunner, type RunStatement } from './run/in-process.ts'
import { RunningQueries } from './run/running.ts'
import type { SlowLog } from './run/slow-log.ts'
import { createTables, type Tables } from './run/tables.ts'
import { Documents, type Owners } from './saved/documents.ts'
import { savedGroup } from './saved/endpoints.ts'
import { asUnavailable } from './unavailable.ts'

export interface QueryLimits {
  readonly statementBytes: number
  readonly bodyBytes: number
  readonly resultRows: number
  readonly resultBytes: number
  readonly milliseconds: number
  readonly exportMilliseconds: number
  readonly perUser: number
  /** The number of reader processes of the embedded engine, or of connections to PostgreSQL. */
  readonly concurrency: number
  readonly waiting: number
  /** How long a write waits for a long one of another owner before that one is stopped (embedded engine); 0: it is never stopped. */
  readonly writeWaitMs: number
  /** The most tables of the embedded engine. */
  readonly maxTables: number
  /** Of the temporary files of one statement, and of all running ones of a user. */
  readonly tempBytes: number
  readonly tempBytesPerUser: number
  readonly stallMs: number
  /** From which duration on a statement is logged. */
  readonly slowMs: number
  /** How long the changes of a table are kept for live queries that resume, and how many of them. */
  readonly logMs: number
  readonly logChanges: number
  /** Saved queries and boards. */
  readonly documentsPerOwner: number
  /** Stored for requests with an Idempotency-Key. */
  readonly responses: ResponseLimits
}

export const DEFAULT_QUERY_LIMITS: QueryLimits = {
  statementBytes: DEFAULT_LIMITS.statementBytes,
  bodyBytes: 8 * 1024 * 1024,
  resultRows: 100_000,
  resultBytes: 1024 * 1024 * 1024,
  milliseconds: 30_000,
  exportMilliseconds: 600_000,
  perUser: 32,
  concurrency: 4,
  waiting: 256,
  writeWaitMs: 5000,
  maxTables: 5000,
  tempBytes: 1024 * 1024 * 1024,
  tempBytesPerUser: 3 * 1024 * 1024 * 1024,
  stallMs: 5000,
  slowMs: Number.POSITIVE_INFINITY,
  logMs: 600_000,
  logChanges: 1_000_000,
  documentsPerOwner: 500,
  responses: DEFAULT_RESPONSE_LIMITS,
}

export interface QueryOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly onAvailability?: (change: AvailabilityChange) => void
  readonly onSlow?: SlowLog['onSlow']
  /** A statement continues in the database although it was stopped. */
  readonly onStuck?: EngineOptions['onStuck']
  readonly database: Pick<EngineOptions, 'dataFolder' | 'databaseUrl' | 'shared'>
  readonly limits?: Partial<QueryLimits>
  readonly liveLimits?: Partial<LiveLimits>
  /** Derives keys from a secret that all nodes share. */
  readonly deriveKey: DeriveKey
  /** Records changes of the catalogue. */
  readonly audit?: Audit
  /** The source of the table auditlog. */
  readonly auditLog?: AuditSource
  /** Who can own saved documents. */
  readonly owners?: Owners
}

export interface QueryRouteOptions extends Pick<EndpointsEnv, 'metrics' | 'trace' | 'authenticate'> {
  /** Cancels a query that another node runs. */
  readonly cancelElsewhere?: EndpointsEnv['cancel']
}

export interface QueryService {
  /** For the declarative file and the demonstration data. */
  readonly tables: Tables
  readonly running: RunningQueries
  readonly live: LiveQueries
  /** What callers run here, for operators. */
  readonly activity: Activity
  readonly planner: Planner
  /** Runs a statement for a caller inside this process. */
  readonly run: RunStatement
  /** Saved queries and boards. */
  readonly documents: Documents
  /** The tables that a user could use. */
  tablesOf(user: TableUser, page: TablePage): ReturnType<typeof tablesOfUser>
  /** Of this node, for operators. */
  load(): QueryLoad
  routes(options: QueryRouteOptions): readonly RouteGroup[]
  /** Those that are read at each use change for all statements from now on. */
  setLimits(limits: Partial<QueryLimits>, liveLimits: Partial<LiveLimits>): void
  /** For a health check: rejects if the database does not answer, or cannot write until the server restarts. */
  check(): Promise<void>
  /** Ends the responses of live statements, which would otherwise last until their clients leave. */
  stopLive(): void
  close(): Promise<void>
}

export interface QueryLoad {
  readonly running: number
  readonly waiting: number
  readonly liveStatements: number
  /** Reader processes or connections that run queries now, and all that exist. */
  readonly busy: number
  readonly total: number
}

/** How long the response to an Idempotency-Key is kept. */
const RESPONSE_MICROS = 24n * 3_600_000_000n
const CLEANUP_INTERVAL_MS = 60_000
/** From one removal of documents whose owners are gone to the next. */
const ORPHANS_INTERVAL_MS = 3_600_000
const NO_OWNERS: Owners = { names: async (subjects) => new Map(subjects.map((subject) => [subject, subject])) }
const EMPTY_LOG: AuditSource = { read: async () => ({ rows: [], first: 0 }) }

export async function openQuery(options: QueryOptions): Promise<QueryService> {
  const { bus, clock, database, limits: overrides, audit = noAudit, auditLog = EMPTY_LOG, owners = NO_OWNERS } = options
  const limits = { ...DEFAULT_QUERY_LIMITS, ...overrides }
  const { concurrency, waiting, milliseconds, exportMilliseconds, writeWaitMs, maxTables } = limits
  const availability = new Availability(options.onAvailability ?? (() => {}))
  const liveLimits = { ...DEFAULT_LIVE_LIMITS, ...options.liveLimits }
  const log = { milliseconds: limits.logMs, changes: limits.logChanges }
  const engine = await openEngine({
    ...database,
    concurrency,
    waiting,
    milliseconds,
    exportMilliseconds,
    writeWaitMs,
    maxTables,
    availability,
    log,
    temp: { statement: limits.tempBytes, user: limits.tempBytesPerUser },
    responses: limits.responses,
    onStuck: options.onStuck,
  })
  /** An outage is logged when it begins and when it ends, not each time something fails in it. */
  const onError = (error: unknown): void => {
    if (asUnavailable(error) === undefined) options.onError(error)
  }
  const catalogue = await Catalogue.open(engine, bus, onError)
  const planner = new Planner(engine, { ...DEFAULT_LIMITS, statementBytes: limits.statementBytes })
  const running = new RunningQueries(limits, clock)
  const auditTable = createAuditTable(auditLog, engine.auditCopy)
  const slowLog: SlowLog = { limits, onSlow: options.onSlow ?? (() => {}) }
  const live = new LiveService({
    engine,
    catalogue,
    planner,
    clock,
    concurrency,
    milliseconds,
    limits: liveLimits,
    deriveKey: options.deriveKey,
    slowLog,
    catchUpAuditLog: (signal) => auditTable.catchUp(signal),
    onError,
  })
  const activity = createActivity(running, live)
  const documents = new Documents({ rows: engine.documents, owners, clock, audit, perOwner: limits.documentsPerOwner })
  const endpoints: QueryEndpoints[] = []
  const cleanup = setInterval(() => {
    engine.deleteResponsesBefore(BigInt(clock()) * 1000n - RESPONSE_MICROS).catch(onError)
    engine.trimResponses().catch(onError)
    auditTable.trim().catch(onError)
    engine.live.trim().catch(onError)
  }, CLEANUP_INTERVAL_MS)
  cleanup.unref()
  const orphans = setInterval(() => documents.removeOrphans().catch(onError), ORPHANS_INTERVAL_MS)
  orphans.unref()
  return {
    tables: createTables({ engine, catalogue, clock }),
    running,
    live,
    activity,
    planner,
    documents,
    tablesOf: (user, page) => tablesOfUser(catalogue.snapshot, user, page),
    load() {
      const { busy, total, waiting } = engine.load
      return {
        running: running.size + live.load.running,
        waiting: waiting + live.load.waiting,
        liveStatements: live.size,
        busy,
        total,
      }
    },
    run: createRunner({ engine, catalogue, planner, running, clock, audit, auditTable }),
    routes({ cancelElsewhere: cancel = async () => false, ...options }) {
      watch(options.metrics, { engine, running, live })
      if (options.metrics !== undefined) live.watch(options.metrics)
      const opened = queryEndpoints({
        ...options,
        cancel,
        engine,
        catalogue,
        planner,
        running,
        live,
        activity,
        bus,
        limits,
        slowLog,
        clock,
        audit,
        auditTable,
      })
      endpoints.push(opened)
      return [opened.group, catalogueGroup(catalogue), savedGroup(documents)]
    },
    setLimits(next, nextLive) {
      Object.assign(limits, next)
      Object.assign(liveLimits, nextLive)
    },
    check: () => engine.check(),
    stopLive() {
      for (const opened of endpoints) opened.stop()
    },
    async close() {
      clearInterval(cleanup)
      clearInterval(orphans)
      running.stopAll()
      live.close()
      catalogue.close()
      await engine.close()
    },
  }
}

interface Watched {
  readonly engine: Engine
  readonly running: RunningQueries
  readonly live: LiveService
}

function watch(metrics: Metrics | undefined, { engine, running, live }: Watched): void {
  metrics?.watch('gatehouse_queries_running', () => [[{}, running.size + live.load.running]])
  metrics?.watch('gatehouse_queries_waiting', () => [[{}, engine.load.waiting + live.load.waiting]])
  metrics?.watch('gatehouse_query_writes_stopped_total', () => [[{}, engine.load.stoppedWrites]])
  metrics?.watch('gatehouse_query_processes', () => {
    const { busy, total } = engine.load
    return [
      [{ state: 'busy' }, busy],
      [{ state: 'idle' }, total - busy],
    ]
  })
}
