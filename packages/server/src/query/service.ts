/** Assembles the query service: engine, catalogue, planner and routes. */

import { DEFAULT_LIMITS } from 'gatehouse-iql'
import { type Audit, noAudit } from 'gatehouse-protocol'
import type { RouteGroup } from '../http/route.ts'
import { Availability } from '../lib/availability.ts'
import { createStepUp, type StepUp } from '../step-up/step-up.ts'
import { createQueryActivity, type QueryActivity } from './activity.ts'
import { Spools } from './bulk/spools.ts'
import { NO_ATTRIBUTES } from './catalogue/attributes.ts'
import { type Copies, licenceRefusal, NO_LICENCES, type TableLicences } from './catalogue/licences.ts'
import type { CatalogueSnapshot, TablePage } from './catalogue/snapshot.ts'
import { withViews } from './catalogue/view-licences.ts'
import type { Delayed } from './delayed/delayed.ts'
import type { AgentCallRows } from './engines/agent-calls.ts'
import type { AlertRows } from './engines/alert-rows.ts'
import type { ColumnTables } from './engines/column-tables.ts'
import type { Engine } from './engines/engine.ts'
import { openEngine } from './engines/open.ts'
import type { WatchRows } from './engines/watch-rows.ts'
import { catalogueGroup } from './http/catalogue.ts'
import { type QueryEndpoints, queryEndpoints } from './http/endpoints.ts'
import { Keeper } from './keeper/keeper.ts'
import { KeptViews } from './kept/kept-views.ts'
import type { LiveQueries } from './live/contract.ts'
import { DEFAULT_LIVE_LIMITS, type LiveLimits } from './live/limits.ts'
import { LiveService } from './live/live-service.ts'
import { Planner } from './plan/planner.ts'
import { type TableUser, tablesOfUser } from './plan/user-tables.ts'
import type { RetentionAdministration } from './retention/administration.ts'
import type { Retention } from './retention/retention.ts'
import { type AuditSource, type AuditTable, createAuditTable } from './run/audit-table.ts'
import { createCopies, setDelays } from './run/delays.ts'
import { createRunner, type RunStatement } from './run/in-process.ts'
import { NodeCatalogue } from './run/node-catalogue.ts'
import { type Observe, observer } from './run/observe.ts'
import { RunningQueries } from './run/running.ts'
import { createTables, type Tables } from './run/tables.ts'
import { Documents, type Owners } from './saved/documents.ts'
import { savedGroup } from './saved/endpoints.ts'
import { type QueryLoad, watchQueries } from './service-metrics.ts'
import { DEFAULT_QUERY_LIMITS, type QueryLimits, type QueryOptions, type QueryRouteOptions } from './service-options.ts'
import { asUnavailable } from './unavailable.ts'

/** How long the response to an Idempotency-Key is kept. */
const RESPONSE_MICROS = 24n * 3_600_000_000n
const CLEANUP_INTERVAL_MS = 60_000
/** From one removal of documents whose owners are gone to the next. */
const ORPHANS_INTERVAL_MS = 3_600_000
const NO_OWNERS: Owners = { names: async (subjects) => new Map(subjects.map((subject) => [subject, subject])) }
const EMPTY_LOG: AuditSource = { read: async () => ({ rows: [], first: 0 }) }

export async function openQuery(options: QueryOptions): Promise<QueryService> {
  const limits = { ...DEFAULT_QUERY_LIMITS, ...options.limits }
  /** An outage is logged when it begins and when it ends, not each time something fails in it. */
  const onError = (error: unknown): void => {
    if (asUnavailable(error) === undefined) options.onError(error)
  }
  const engine = await openEngine({
    ...options.database,
    ...limits,
    availability: new Availability(options.onAvailability ?? (() => {})),
    log: { milliseconds: limits.logMs, changes: limits.logChanges },
    temp: { statement: limits.tempBytes, user: limits.tempBytesPerUser },
    onStuck: options.onStuck,
    columns: {
      isOn: limits.columnSegments,
      maxBytes: limits.columnBytes,
      keptBytes: limits.columnPartsBytes,
      timing: options.columnTiming ?? {},
      onError,
    },
  })
  const keeper = new Keeper({ lease: engine.lease, onError, older: options.olderNodes })
  const requireUpgraded = () => keeper.requireUpgraded()
  const catalogue = await NodeCatalogue.open({ ...options, engine, onError, requireUpgraded })
  return new QueryService({ ...options, limits, onError, keeper }, engine, catalogue)
}

interface OpenOptions extends QueryOptions {
  readonly limits: QueryLimits
  readonly keeper: Keeper
}

export class QueryService {
  readonly #options: OpenOptions
  readonly #liveLimits: LiveLimits
  readonly #engine: Engine
  readonly #catalogue: NodeCatalogue
  readonly #auditTable: AuditTable
  readonly #audit: Audit
  readonly #stepUp: StepUp
  readonly #licences: TableLicences
  readonly #observe: Observe
  readonly #live: LiveService
  readonly #endpoints: QueryEndpoints[] = []
  /** Loaded when the first table is delayed. */
  #delayed: Delayed | undefined
  #loadingDelayed: Promise<void> | undefined
  /** What plans read for callers with delayed access. */
  readonly #copies: Copies
  /** Loaded when the first table has a retention. */
  #retention: Promise<Retention> | undefined
  readonly #timers: readonly NodeJS.Timeout[]
  /** For the declarative file and the demonstration data. */
  readonly tables: Tables
  readonly running: RunningQueries
  /** What callers run here, for operators. */
  readonly activity: QueryActivity
  readonly planner: Planner
  /** The rows of bulk inserts while they arrive. */
  readonly spools: Spools
  /** Runs a statement for a caller inside this process. */
  readonly query: RunStatement
  /** Runs a statement for a program of the server itself, which needs no licence. */
  readonly ownQuery: RunStatement
  /** Saved queries and boards. */
  readonly documents: Documents
  /** Materialized views. */
  readonly views: KeptViews
  /** Chooses the node that does the work of what is kept. */
  readonly keeper: Keeper

  constructor(options: OpenOptions, engine: Engine, catalogue: NodeCatalogue) {
    const { limits, clock, audit = noAudit, owners = NO_OWNERS, auditLog = EMPTY_LOG, onError } = options
    this.#options = options
    this.#engine = engine
    this.#catalogue = catalogue
    this.#audit = audit
    this.#stepUp = options.stepUp ?? createStepUp({ clock, audit })
    this.#auditTable = createAuditTable(auditLog, engine.auditCopy)
    this.#observe = observer(engine, options.metrics, { limits, onSlow: options.onSlow ?? (() => {}) })
    this.#liveLimits = { ...DEFAULT_LIVE_LIMITS, ...options.liveLimits }
    this.#licences = withViews(options.licences ?? NO_LICENCES, () => catalogue.snapshot)
    this.#copies = createCopies(() => this.#delayed, catalogue)
    const planLimits = { ...DEFAULT_LIMITS, statementBytes: limits.statementBytes }
    this.planner = new Planner(engine, planLimits, this.#licences, this.#copies)
    this.running = new RunningQueries(limits, clock)
    this.#licences.onChanged((tables) => {
      const text = 'What products cover of a table has changed: run the statement again'
      this.running.stopReading(tables, licenceRefusal('Licence.Needed', text, { Products: [], Reason: 'changed' }))
    })
    this.keeper = options.keeper
    this.views = new KeptViews({
      engine,
      catalogue,
      keeper: this.keeper,
      milliseconds: limits.exportMilliseconds,
      onError,
    })
    this.spools = new Spools(options.database.dataFolder, limits)
    this.spools.removeLeft().catch(onError)
    this.#live = new LiveService({
      ...this.#parts,
      concurrency: limits.concurrency,
      milliseconds: limits.milliseconds,
      limits: this.#liveLimits,
      bus: options.bus,
      deriveKey: options.deriveKey,
      catchUpAuditLog: (signal) => this.#auditTable.catchUp(signal),
      onError,
    })
    if (options.metrics !== undefined) {
      this.#live.watch(options.metrics)
      watchQueries(options.metrics, engine, { load: () => this.load(), views: this.views })
    }
    this.activity = createQueryActivity(this.running, this.#live)
    this.documents = new Documents({ rows: engine.documents, owners, clock, audit, perOwner: limits.documentsPerOwner })
    this.tables = createTables({ engine, catalogue, clock, audit, kept: this.views })
    this.query = createRunner(this.#parts)
    this.ownQuery = createRunner({ ...this.#parts, licences: NO_LICENCES })
    catalogue.onChange(() => this.#followRetention())
    this.#followRetention()
    catalogue.onChange(() => this.#followDelays())
    this.#licences.onChanged(() => this.#followDelays())
    this.#followDelays()
    this.#timers = [
      setInterval(() => this.#cleanUp(), CLEANUP_INTERVAL_MS).unref(),
      setInterval(() => this.documents.removeOrphans().catch(onError), ORPHANS_INTERVAL_MS).unref(),
    ]
  }

  /** What statements are planned and run with. */
  get #parts() {
    return {
      engine: this.#engine,
      catalogue: this.#catalogue,
      planner: this.planner,
      running: this.running,
      clock: this.#options.clock,
      audit: this.#audit,
      auditTable: this.#auditTable,
      attributes: this.#options.attributes ?? NO_ATTRIBUTES,
      stepUp: this.#stepUp,
      licences: this.#licences,
      copies: this.#copies,
      way: 'query' as const,
      observe: this.#observe,
      kept: this.views,
    }
  }

  #cleanUp(): void {
    const { clock, onError } = this.#options
    this.#engine.responses.deleteBefore(BigInt(clock()) * 1000n - RESPONSE_MICROS).catch(onError)
    this.#engine.responses.trim().catch(onError)
    this.#auditTable.trim().catch(onError)
    this.#engine.live.trim().catch(onError)
  }

  get live(): LiveQueries {
    return this.#live
  }

  /** What agents watch. */
  get watches(): WatchRows {
    return this.#engine.watches
  }

  /** Whether callers need a licence to read its rows. */
  isLicensed(table: string): boolean {
    return this.#licences.covers(table.toLowerCase()) !== undefined
  }

  /** Whether some who may know of the table do not see all its rows: then nobody is shown how many it has. */
  hidesRows(table: string): boolean {
    const { catalogue } = this
    return (
      catalogue.findRowFilter(table) !== undefined || catalogue.readNeed(table) !== undefined || this.isLicensed(table)
    )
  }

  /** About how many rows a table has; undefined for a view. Says nothing of rights. */
  async estimateRows(name: string): Promise<number | undefined> {
    const table = this.#catalogue.snapshot.table(name)
    return table === undefined || table.isSystem ? undefined : this.#engine.sizes.estimate(table)
  }

  /** The states, events and deliveries of alerts. */
  get alerts(): AlertRows {
    return this.#engine.alerts
  }

  /** How much agents have called. */
  get agentCalls(): AgentCallRows {
    return this.#engine.agentCalls
  }

  /** Calls the listener when tables were defined, changed or dropped. Returns the function that ends that. */
  onCatalogueChange(listener: () => void): () => void {
    return this.#catalogue.onChange(listener)
  }

  /** The tables of this moment. */
  get catalogue(): CatalogueSnapshot {
    return this.#catalogue.snapshot
  }

  /** The column segments of tables; undefined if the engine has none. */
  get columns(): ColumnTables | undefined {
    return this.#engine.columns
  }

  /** How long rows are kept, for operators. */
  async retention(): Promise<RetentionAdministration> {
    const { administerRetention } = await import('./retention/administration.ts')
    return administerRetention({
      rows: this.#engine.retention,
      snapshot: () => this.#catalogue.snapshot,
      query: this.query,
      audit: this.#audit,
      wake: () => void this.#retention?.then((retention) => retention.wake()),
    })
  }

  /** Copies are kept of the tables that products cover with a delay. */
  #followDelays(): void {
    const { definitions } = this.#catalogue.snapshot
    this.#delayed?.follow(definitions)
    if (this.#delayed !== undefined) return
    const isNeeded = definitions.some(
      ({ name, delays = [] }) => delays.length > 0 || this.#wantedDelays(name).length > 0,
    )
    if (!isNeeded || this.#loadingDelayed !== undefined) return
    const { metrics, onError } = this.#options
    this.#loadingDelayed = import('./delayed/delayed.ts')
      .then(({ Delayed }) => {
        this.#delayed = new Delayed({
          ...{ keeper: this.keeper, rows: this.#engine.delayed, metrics, onError },
          wanted: ({ name }) => this.#licences.delays(name.toLowerCase()),
          setDelays: (table, delays) => setDelays(this.#catalogue, table, delays),
          onChanged: () => this.#live.replanAll(),
        })
        this.#delayed.follow(this.#catalogue.snapshot.definitions)
      })
      .catch((error: unknown) => {
        this.#loadingDelayed = undefined
        onError(error)
      })
  }

  #wantedDelays(table: string): readonly number[] {
    return this.#licences.delays(table.toLowerCase()) ?? []
  }

  #followRetention(): void {
    const find = () => this.#catalogue.snapshot.definitions.filter(({ retention }) => retention !== undefined)
    if (this.#retention === undefined && find().length === 0) return
    const { clock, metrics, onError } = this.#options
    const rows = this.#engine.retention
    const views = this.views.findViews
    const options = { keeper: this.keeper, rows, clock, audit: this.#audit, metrics, onError, views }
    const reload = () => this.#catalogue.refresh()
    this.#retention ??= import('./retention/retention.ts').then(
      ({ Retention }) => new Retention({ ...options, reload }),
    )
    this.#retention.then((retention) => retention.catalogueLoaded(find())).catch(onError)
  }

  /** The tables that a user could use. */
  listUserTables(user: TableUser, page: TablePage): ReturnType<typeof tablesOfUser> {
    return tablesOfUser(this.#catalogue.snapshot, user, page)
  }

  /** The load of this node, for operators. */
  load(): QueryLoad {
    const { busy, total, waiting } = this.#engine.load
    const { load } = this.#live
    return {
      running: this.running.size + load.running,
      waiting: waiting + load.waiting,
      liveStatements: this.#live.size,
      busy,
      total,
    }
  }

  routes({ cancelElsewhere: cancel = async () => false, ...options }: QueryRouteOptions): readonly RouteGroup[] {
    const { bus, limits, metrics } = this.#options
    const opened = queryEndpoints({
      ...this.#parts,
      ...options,
      cancel,
      live: this.#live,
      activity: this.activity,
      spools: this.spools,
      bus,
      limits,
      metrics,
    })
    this.#endpoints.push(opened)
    return [
      opened.group,
      catalogueGroup(this.#catalogue, this.views, (table) => this.hidesRows(table)),
      savedGroup(this.documents),
    ]
  }

  /** What sessions of other protocols run statements with. */
  get sessionParts() {
    return { ...this.#parts, spools: this.spools, limits: this.#options.limits }
  }

  /** Those that are read at each use change for all statements from now on. */
  setLimits(limits: Partial<QueryLimits>, liveLimits: Partial<LiveLimits>): void {
    Object.assign(this.#options.limits, limits)
    Object.assign(this.#liveLimits, liveLimits)
  }

  /** For a health check: rejects if the database does not answer, or cannot write until the server restarts. */
  check(): Promise<void> {
    return this.#engine.check()
  }

  /** Ends the responses of live statements, which would otherwise last until their clients leave. */
  stopLive(): void {
    for (const opened of this.#endpoints) opened.stop()
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.running.stopAll()
    this.#live.close()
    this.views.close()
    await this.#delayed?.close()
    await this.keeper.close()
    this.#catalogue.close()
    await this.#engine.close()
  }
}
