/** The PostgreSQL engine: short statements are batched, long ones have a separate connection and can be cancelled. */

import { BatchEncoder, type SpoolEncoder } from '../../batches/spool-file.ts'
import type { CatalogueRow } from '../../catalogue/definition.ts'
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
import { readNumber } from '../read-number.ts'
import { RetentionRows } from '../retention-rows.ts'
import { TableSizes } from '../table-sizes.ts'
import { WatchRows } from '../watch-rows.ts'
import { writeBulk } from './bulk.ts'
import { change, digestCatalogue, readCatalogue } from './catalogue.ts'
import { type OpenDatabase, openDatabase } from './database.ts'
import { POSTGRES_COPIES } from './delayed/copy-sql.ts'
import { boundedRows } from './dialect/bounded-sql.ts'
import { POSTGRES } from './dialect/dialect.ts'
import { findResponse } from './idempotency-keys.ts'
import { PostgresKeptViews } from './kept/kept-views.ts'
import { CommitSignal } from './live/commit-signal.ts'
import { PostgresLiveSource } from './live/live-source.ts'
import { measureSteps } from './measured-steps.ts'
import { withClient } from './pool.ts'
import { streamRows } from './read.ts'
import { rowDecoder, toPostgres } from './representation.ts'
import { RETENTION_SQL } from './retention/retention-sql.ts'
import { auditRowsFrom, serviceStore } from './service-store.ts'
import { tableSize } from './table-size.ts'
import { isOneStatement, write } from './write.ts'

export async function openPostgresEngine(options: EngineOptions): Promise<Engine> {
  return new PostgresEngine(await openDatabase(options), options)
}

class PostgresEngine implements Engine {
  readonly kind = 'postgres'
  readonly dialect = POSTGRES
  readonly bind = toPostgres
  readonly auditCopy: AuditCopy
  readonly documents: DocumentRows
  readonly watches: WatchRows
  readonly sizes: TableSizes
  readonly agentCalls: AgentCallRows
  readonly alerts: AlertRows
  readonly responses: IdempotencyCleanup
  readonly lease: KeeperLease
  readonly live: PostgresLiveSource
  readonly retention: RetentionRows
  readonly kept: PostgresKeptViews
  readonly delayed: DelayedRows
  readonly #open: OpenDatabase
  readonly #signal: CommitSignal
  readonly #ownsServers: boolean
  /** Of the rows that were loaded last. */
  #catalogueDigest = ''

  constructor(open: OpenDatabase, { servers: shared, log, responses }: EngineOptions) {
    const { servers, owner, acquire } = open
    const store = serviceStore(owner)
    this.#open = open
    this.#ownsServers = shared === undefined
    this.#signal = new CommitSignal(servers, owner)
    this.responses = new IdempotencyCleanup(store, responses)
    this.auditCopy = new AuditCopy(store, auditRowsFrom)
    this.documents = new DocumentRows(store)
    this.watches = new WatchRows(store)
    this.sizes = new TableSizes(store, tableSize)
    this.agentCalls = new AgentCallRows(store)
    this.alerts = new AlertRows(store)
    this.lease = new KeeperLease(store)
    this.live = new PostgresLiveSource({ signal: this.#signal, owner, acquire, limits: log, history: servers.history })
    this.kept = new PostgresKeptViews(store, {
      owner,
      acquire: open.acquireKept,
      onWritten: (view) => this.live.committed([{ name: view, isLive: true }]),
    })
    this.retention = new RetentionRows(store, RETENTION_SQL, {
      onCommit: (tables) => this.live.committed(tables),
      readNumber: (statement) => readNumber(this, statement),
    })
    this.delayed = new DelayedRows(store, POSTGRES_COPIES, (tables) => this.live.committed(tables))
  }

  readonly finish = (placeholders: Placeholders, text: string): EmittedSql => placeholders.numbered(text)

  prepareRead(statement: ReadStatement): PreparedRead {
    const { acquire, prepareBatched } = this.#open
    const { sql, columns, keyColumns } = statement
    const query = { ...statement, sql: boundedRows(sql, columns, keyColumns) }
    const decodeRow = rowDecoder([...columns, ...keyColumns])
    return {
      readBatched: prepareBatched(query, decodeRow),
      readStream: (run, running) => streamRows(acquire, query, decodeRow, run, running),
      measureSteps: (run, running) => measureSteps(acquire, sql, run, running),
    }
  }

  async write(request: WriteRequest): Promise<WriteReply> {
    const { acquire, writeBatched } = this.#open
    try {
      const batched = request.isShort && isOneStatement(request) ? await writeBatched(request) : undefined
      if (batched !== undefined) return batched
      const reply = await write(acquire, request)
      this.responses.count(request, reply)
      return reply
    } finally {
      // A failed write may or may not have been committed.
      this.live.committed(request.tables)
    }
  }

  spoolEncoder(): SpoolEncoder {
    return new BatchEncoder()
  }

  async bulk(request: BulkRequest): Promise<WriteReply> {
    try {
      const reply = await writeBulk(this.#open.acquire, request)
      this.responses.count(request, reply)
      return reply
    } finally {
      // A failed write may or may not have been committed.
      this.live.committed(request.tables)
    }
  }

  async loadCatalogue(): Promise<readonly CatalogueRow[]> {
    const rows = await withClient(this.#open.owner, async (client) => {
      // Before the rows: a change between the two is found again by the next look.
      this.#catalogueDigest = await digestCatalogue(client)
      return readCatalogue(client)
    })
    this.live.catalogueLoaded(rows)
    return rows
  }

  async isCatalogueOutdated(): Promise<boolean> {
    return (await withClient(this.#open.owner, digestCatalogue)) !== this.#catalogueDigest
  }

  async change(request: ChangeRequest): Promise<WriteReply | undefined> {
    const reply = await change(this.#open.acquireChange, request, this.#open.tempFiles)
    // Materialized views were brought up to date with it: others read them.
    if (request.kept !== undefined && request.kept.length > 0)
      this.live.committed(request.kept.map(({ view }) => ({ name: view, isLive: true })))
    return reply
  }

  findResponse(key: IdempotencyKey): Promise<WriteOutcome | undefined> {
    return withClient(this.#open.owner, (client) => findResponse(client, key))
  }

  get load(): EngineLoad {
    const { pools, slots, stuck } = this.#open
    const total = pools.reduce((sum, pool) => sum + pool.totalCount, stuck.size)
    const busy = pools.reduce((sum, pool) => sum - pool.idleCount, total)
    return { busy, total, waiting: slots.waiting, stoppedWrites: 0 }
  }

  async check(): Promise<void> {
    await withClient(this.#open.owner, readCatalogue)
  }

  async close(): Promise<void> {
    const { servers, pools, stuck, owner } = this.#open
    await this.#signal.close()
    await Promise.all(pools.map((pool) => pool.end()))
    await stuck.close().catch(() => {})
    await owner.end()
    if (this.#ownsServers) await servers.close()
  }
}
