/** The embedded engine: one file, one writer with group commit, reader processes, and small reads on the event loop. */
import { isDeepStrictEqual } from 'node:util'
import { isLocked, retryWhileLocked } from '../../../store/database/write-lock.ts'
import type { NamedColumn } from '../../batches/row-error.ts'
import type { SpoolEncoder } from '../../batches/spool-file.ts'
import type { CatalogueRow } from '../../catalogue/definition.ts'
import { withHorizon } from '../../catalogue/retention.ts'
import { AgentCallRows } from '../agent-calls.ts'
import { AlertRows } from '../alert-rows.ts'
import { AuditCopy } from '../audit-copy.ts'
import { DelayedRows } from '../delayed-rows.ts'
import { DocumentRows } from '../document-rows.ts'
import type { EmittedSql, Placeholders } from '../emit/parameters.ts'
import type {
  BulkRequest,
  ChangeRequest,
  Engine,
  EngineLoad,
  IdempotencyKey,
  PreparedRead,
  ReadStatement,
  WriteOutcome,
  WriteReply,
  WriteRequest,
} from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'
import { IdempotencyCleanup } from '../idempotency-cleanup.ts'
import { KeeperLease } from '../keeper-lease.ts'
import type { PartsRun } from '../parts-run.ts'
import { readNumber } from '../read-number.ts'
import { RetentionRows } from '../retention-rows.ts'
import { type BuildSql, buildStatement } from '../service-store.ts'
import { TableSizes } from '../table-sizes.ts'
import { WatchRows } from '../watch-rows.ts'
import { readCatalogue } from './catalogue.ts'
import { Compaction } from './columns/compaction.ts'
import { closeDatabase, type OpenDatabase, openDatabase, watched } from './database.ts'
import { sqliteCopies } from './delayed/copy-sql.ts'
import { SQLITE } from './dialect/dialect.ts'
import { asRefusal } from './failure.ts'
import { keeperHeartbeat } from './keeper-heartbeat.ts'
import { SqliteKeptViews } from './kept/kept-views.ts'
import { SqliteLiveSource } from './live/live-source.ts'
import { InlineRead } from './read/inline-read.ts'
import { toSqlite } from './representation.ts'
import { readHorizon } from './retention/retention-changes.ts'
import { RETENTION_SQL } from './retention/retention-sql.ts'
import { auditRowsFrom, serviceStore, tryWrite } from './service-store.ts'
import { SpoolTable } from './spool/spool-table.ts'
import { tableSize } from './table-size.ts'
import { findResponse } from './write/idempotency-keys.ts'
import { change, writeApart, writeBulk, writeShort } from './write-dispatch.ts'

/** A long write of the service itself. */
const SERVICE_WRITE = {
  ...{ owner: undefined, tables: [], returning: [], tracksRows: false, isShort: false },
  ...{ rowLimit: 0, mustBeWhole: false, idempotencyKey: undefined },
}

export function openSqliteEngine(options: EngineOptions): Engine {
  return new SqliteEngine(openDatabase(options), options)
}

class SqliteEngine implements Engine {
  readonly kind = 'sqlite'
  readonly dialect = SQLITE
  readonly bind = toSqlite
  readonly auditCopy: AuditCopy
  readonly documents: DocumentRows
  readonly watches: WatchRows
  readonly sizes: TableSizes
  readonly agentCalls: AgentCallRows
  readonly alerts: AlertRows
  readonly responses: IdempotencyCleanup
  readonly lease: KeeperLease
  readonly live: SqliteLiveSource
  readonly retention: RetentionRows
  readonly delayed: DelayedRows
  readonly columns: Compaction
  readonly kept: SqliteKeptViews
  readonly #open: OpenDatabase
  readonly #keptBytes: number
  /** The catalogue as it was loaded last. */
  #loadedRows: readonly CatalogueRow[] = []

  constructor(open: OpenDatabase, options: EngineOptions) {
    const { log, shared, responses, columns = { isOn: true } } = options
    const store = serviceStore(open)
    this.#open = open
    this.responses = new IdempotencyCleanup(store, responses)
    this.auditCopy = new AuditCopy(store, auditRowsFrom)
    this.documents = new DocumentRows(store)
    this.watches = new WatchRows(store)
    this.sizes = new TableSizes(store, tableSize)
    this.agentCalls = new AgentCallRows(store)
    this.alerts = new AlertRows(store)
    this.lease = new KeeperLease(store, keeperHeartbeat(options.dataFolder))
    this.live = new SqliteLiveSource({ ...open, statements: open.readingStatements, limits: log, shared })
    this.retention = new RetentionRows(store, RETENTION_SQL, {
      onCommit: (tables) => this.live.committed(tables),
      readNumber: (statement) => readNumber(this, statement),
    })
    this.kept = new SqliteKeptViews(store, { ...open, write: (request) => this.write(request) })
    const copies = sqliteCopies((builds) => this.#runApart(builds))
    this.delayed = new DelayedRows(store, copies, (tables) => this.live.committed(tables))
    this.columns = new Compaction({ ...open, columns })
    this.#keptBytes = columns.keptBytes ?? 0
  }

  readonly finish = (placeholders: Placeholders, text: string): EmittedSql => placeholders.positional(text)

  prepareRead(query: ReadStatement): PreparedRead {
    const { pool, readingStatements } = this.#open
    const { sql, columns, keyColumns } = query
    let inline: InlineRead | undefined
    return {
      readInline(run) {
        try {
          inline ??= new InlineRead(readingStatements, query)
          return inline.read(run)
        } catch (error) {
          // A reader process can wait.
          if (isLocked(error)) return undefined
          throw asRefusal(error) ?? error
        }
      },
      readStream: ({ owner, parts, ...run }, running) =>
        pool.read(owner, { sql, columns, keyColumns, ...run, parts: this.#allowed(parts) }, running),
    }
  }

  #allowed(parts: PartsRun | undefined): PartsRun | undefined {
    if (parts?.columns === undefined) return parts
    return { ...parts, columns: this.columns.isOn ? { ...parts.columns, keptBytes: this.#keptBytes } : undefined }
  }

  async write(request: WriteRequest): Promise<WriteReply> {
    try {
      const reply = request.isShort ? await writeShort(this.#open, request) : undefined
      const written = reply ?? (await writeApart(this.#open, request))
      this.responses.count(request, written)
      return written
    } catch (error) {
      throw this.#refusal(error)
    } finally {
      // A failed write may or may not have been committed.
      this.live.committed(request.tables)
    }
  }

  /** Returns the rows that all statements have changed. */
  async #runApart(builds: readonly BuildSql[]): Promise<number> {
    const steps = builds.map((build) => {
      const { sql, parameters } = buildStatement(build, () => '?')
      return { sql, parameterSets: [parameters] }
    })
    const { outcome } = await writeApart(this.#open, { ...SERVICE_WRITE, steps, running: new AbortController() })
    return outcome.rowsAffected
  }

  /** SQLite's triggers cannot say what the horizon is. */
  #refusal(error: unknown): unknown {
    const refusal = asRefusal(error)
    if (refusal?.code !== 'Data.TooOld') return refusal ?? error
    const horizon = readHorizon(this.#open.reading, String(refusal.details.members?.Table))
    return horizon === undefined ? refusal : withHorizon(refusal, horizon)
  }

  spoolEncoder(columns: readonly NamedColumn[]): SpoolEncoder {
    return new SpoolTable(columns)
  }

  async bulk(request: BulkRequest): Promise<WriteReply> {
    try {
      const reply = await writeBulk(this.#open, request)
      this.responses.count(request, reply)
      return reply
    } catch (error) {
      throw this.#refusal(error)
    } finally {
      // A failed write may or may not have been committed.
      this.live.committed(request.tables)
    }
  }

  async loadCatalogue(): Promise<readonly CatalogueRow[]> {
    const rows = await retryWhileLocked(() => readCatalogue(this.#open.reading))
    this.#loadedRows = rows
    this.live.catalogueLoaded(rows)
    this.columns.catalogueLoaded(rows)
    return rows
  }

  async isCatalogueOutdated(): Promise<boolean> {
    if (!this.#open.isShared) return false
    const rows = await retryWhileLocked(() => readCatalogue(this.#open.reading))
    return !isDeepStrictEqual(rows, this.#loadedRows)
  }

  async change(request: ChangeRequest): Promise<WriteReply | undefined> {
    const reply = await change(this.#open, request)
    // Materialized views were brought up to date with it: others read them.
    if (request.kept !== undefined && request.kept.length > 0)
      this.live.committed(request.kept.map(({ view }) => ({ name: view, isLive: true })))
    return reply
  }

  findResponse(key: IdempotencyKey): Promise<WriteOutcome | undefined> {
    return retryWhileLocked(() => findResponse(this.#open.reading, key))
  }

  get load(): EngineLoad {
    const { pool, longWrites } = this.#open
    return { busy: pool.busy, total: pool.size, waiting: pool.waiting, stoppedWrites: longWrites.stopped }
  }

  async check(): Promise<void> {
    const { commits, writing } = this.#open
    commits.check()
    await watched(this.#open, async () => commits.write(() => tryWrite(writing)))
  }

  async close(): Promise<void> {
    this.live.close()
    await this.columns.close()
    await closeDatabase(this.#open)
  }
}
