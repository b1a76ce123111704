/** Live queries on SQLite: small reads on the event loop, others in reader processes; other processes are noticed by polling. */
import type { Database } from 'better-sqlite3'
import { inTurns, TurnQueue } from '../../../../lib/turns.ts'
import type { GroupCommit } from '../../../../store/database/group-commit.ts'
import type { SharedFile } from '../../../../store/database/shared-file.ts'
import type { CatalogueRow } from '../../../catalogue/definition.ts'
import { BOUNDED_ROWS } from '../../../model/cost-class.ts'
import type { LiveStatement } from '../../../model/live-statement.ts'
import { readLiveTexts } from '../../../results/live-rows.ts'
import { CHUNK_BYTES } from '../../bounded-rows.ts'
import { LOG_PREFIX } from '../../change-log.ts'
import { type CommitListener, CommitListeners, type WrittenTable } from '../../commit-listeners.ts'
import { sizeOfAll } from '../../emit/parameters.ts'
import { KEPT_STATES, type ViewsByLog, viewsByLog } from '../../kept-state-sql.ts'
import {
  type LiveReadRequest,
  type LiveReply,
  type LiveSource,
  type LogLimits,
  LostPosition,
  type Positions,
  type Since,
  type TablePosition,
} from '../../live-source.ts'
import { isCounted, OwnCommits, unloggedNames } from '../../own-commits.ts'
import { asRefusal } from '../failure.ts'
import type { ReaderPool } from '../processes/reader-pool.ts'
import { boundedSql } from '../read/bounded-query.ts'
import {
  comparePositions,
  findSeq,
  hasMoreChanges,
  type LiveJob,
  type LiveOutcome,
  readHead,
  readLive,
} from '../read/live-read.ts'
import type { StatementCache } from '../statement-cache.ts'
import { neededFrom } from './needed-changes.ts'

export interface SqliteLiveOptions {
  readonly reading: Database
  readonly statements: StatementCache
  readonly writing: Database
  readonly commits: GroupCommit
  readonly pool: ReaderPool
  readonly limits: LogLimits
  readonly shared: Pick<SharedFile, 'onCommit'> | undefined
}

/** How soon commits of other processes are noticed. */
const POLL_MS = 250
/** How long reads may use the event loop before other work gets a turn. */
const INLINE_MS = 2
/** Changes whose rows may be read on the event loop. */
const MAX_INLINE_CHANGES = 250
/** Characters of a result that may be read there. */
const MAX_INLINE_LENGTH = 4 * CHUNK_BYTES
/** Log rows that are deleted in one transaction, on the event loop. */
const TRIMMED_AT_ONCE = 5000

export class SqliteLiveSource implements LiveSource {
  readonly #options: SqliteLiveOptions
  readonly #own = new OwnCommits()
  readonly #listeners = new CommitListeners((count) => this.#watch(count > 0))
  /** After a commit thousands of statements may read: queries get their turn in between. */
  readonly #inlineReads = new TurnQueue(INLINE_MS)
  #poll: NodeJS.Timeout | undefined
  #stopListening: (() => void) | undefined
  /** The last number of each log at some times. */
  #notes: { readonly at: number; readonly last: ReadonlyMap<string, number> }[] = []

  /** The keys of the materialized views of each table, by the name of its log. */
  #views: ViewsByLog = new Map()

  logged: readonly number[] = []

  constructor(options: SqliteLiveOptions) {
    this.#options = options
  }

  /** This node has committed writes to these tables. */
  committed(tables: readonly WrittenTable[]): void {
    this.#own.add(unloggedNames(tables))
    this.#listeners.wake(tables)
  }

  /** The system tables show the catalogue. */
  catalogueLoaded(rows: readonly CatalogueRow[]): void {
    this.#views = viewsByLog(rows)
    if (this.#own.addCatalogue(rows)) this.#listeners.wake()
  }

  onCommit(listener: CommitListener): () => void {
    return this.#listeners.add(listener)
  }

  async changedSince(positions: Positions): Promise<ReadonlyMap<string, 'changed' | 'lost'>> {
    const changes = new Map<string, 'changed' | 'lost'>()
    for (const [table, position] of positions) {
      const state = this.#comparePosition(table, position)
      if (state !== 'same') changes.set(table, state)
    }
    return changes
  }

  #comparePosition(table: string, position: TablePosition): 'same' | 'changed' | 'lost' {
    const { statements } = this.#options
    const head = readHead(statements, table)
    if (head === undefined) return this.#own.compareToNow(table, position)
    if (head.position === position) return 'same'
    return findSeq(statements, table, position) === undefined ? 'lost' : 'changed'
  }

  compare(a: TablePosition, b: TablePosition): number | undefined {
    return isCounted(a) ? this.#own.compare(a, b) : comparePositions(a, b)
  }

  async read(request: LiveReadRequest, signal: AbortSignal): Promise<LiveReply> {
    signal.throwIfAborted()
    // Before the read, which may or may not see concurrent commits.
    const counted = request.tables.map((table) => this.#own.position(table))
    const job = toJob(request)
    try {
      const inline = isCheap(request, job)
        ? await this.#inlineReads.run(() => (signal.aborted ? undefined : this.#readInline(job)))
        : undefined
      signal.throwIfAborted()
      const { outcome, texts } = inline ?? (await this.#readApart(request, job, signal))
      if (outcome.isLost) throw new LostPosition(request.tables)
      const positions = request.tables.map(
        (table, index) => [table, outcome.positions[index] ?? counted[index] ?? ''] as const,
      )
      const { changed, exceeded } = outcome
      return { positions: new Map(positions), rows: await inTurns(readLiveTexts(texts)), changed, exceeded }
    } catch (error) {
      throw asRefusal(error) ?? error
    }
  }

  /** Undefined if it turns out to be too much work: many changes, many rows or long ones. */
  #readInline(job: LiveJob): LiveRead | undefined {
    const { reading, statements } = this.#options
    if (hasMoreChanges(statements, job, MAX_INLINE_CHANGES)) return undefined
    const { columns, keyColumns = [], routeColumns } = job.columns
    const { sql, longColumns } = boundedSql(job.sql, columns, [...keyColumns, ...routeColumns])
    const maxRows = Math.min(job.maxRows, job.since === undefined ? BOUNDED_ROWS : MAX_INLINE_CHANGES)
    const bounded = {
      ...job,
      sql: `${sql} LIMIT ${maxRows + 1}`,
      maxRows,
      maxBytes: Math.min(job.maxBytes, MAX_INLINE_LENGTH),
    }
    const texts: string[] = []
    const outcome = readLive(reading, statements, bounded, (encoder) => texts.push(encoder.takeText()), longColumns)
    return outcome.exceeded === 'no' ? { outcome, texts } : undefined
  }

  async #readApart({ owner, background }: LiveReadRequest, job: LiveJob, signal: AbortSignal): Promise<LiveRead> {
    const chunks = this.#options.pool.read(owner, job, { signal }, background)
    const texts: string[] = []
    for (;;) {
      const next = await chunks.next()
      if (next.done) return { outcome: next.value, texts }
      texts.push(Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length).toString('utf8'))
    }
  }

  async trim(): Promise<void> {
    const { reading, limits } = this.#options
    const { milliseconds, changes } = limits
    const now = performance.now()
    const last = this.#lastOfAll()
    this.#notes.push({ at: now, last })
    const due = this.#notes.findLastIndex(({ at }) => at <= now - milliseconds)
    // Older records are no longer needed.
    if (due > 0) this.#notes.splice(0, due)
    const old = due === -1 ? undefined : this.#notes[0]?.last
    const logged: number[] = []
    const needed = neededFrom(reading)
    for (const [log, seq] of last) {
      const seen = Math.min(old?.get(log) ?? 0, this.#keptTo(log))
      const before = Math.max(seen, seq - changes)
      const first = await this.#deleteBefore(log, Math.min(before, needed.get(log) ?? before))
      logged.push(Math.max(0, seq - first))
    }
    this.logged = logged
  }

  /** The change up to which all materialized views of the table have read its log. */
  #keptTo(log: string): number {
    const views = this.#views.get(log)
    if (views === undefined) return Number.POSITIVE_INFINITY
    const positions = this.#options.reading
      .prepare<[string], string | null>(
        `SELECT position FROM main.${KEPT_STATES} WHERE key IN (SELECT value FROM json_each(?))`,
      )
      .pluck(true)
      .all(JSON.stringify(views))
    return Math.min(...positions.map((position) => Number.parseInt(position ?? '0', 10)))
  }

  #lastOfAll(): Map<string, number> {
    const { reading } = this.#options
    const logs = reading
      .prepare<[number, string], string>(
        `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND substr(name, 1, ?) = ?`,
      )
      .pluck(true)
      .all(LOG_PREFIX.length, LOG_PREFIX)
    return new Map(
      logs.map((log) => [log, reading.prepare<[], number>(`SELECT max(seq) FROM main.${log}`).pluck(true).get() ?? 0]),
    )
  }

  /** The last row stays, because `seq` is before it. Returns the first remaining row. */
  async #deleteBefore(log: string, seq: number): Promise<number> {
    const { writing, commits } = this.#options
    for (;;) {
      const first = await commits.write(() => {
        const hasLog = writing.prepare('SELECT 1 FROM main.sqlite_schema WHERE name = ?').get(log) !== undefined
        if (!hasLog) return seq
        const first = writing.prepare<[], number>(`SELECT min(seq) FROM main.${log}`).pluck(true).get() ?? seq
        if (first >= seq) {
          forgetRow(writing, log, seq)
          return first
        }
        const before = Math.min(seq, first + TRIMMED_AT_ONCE)
        writing.prepare(`DELETE FROM main.${log} WHERE seq < ?`).run(before)
        return before
      })
      if (first >= seq) return first
    }
  }

  close(): void {
    this.#listeners.clear()
  }

  /** The version of the data changes when another connection has committed, in this process or in another. */
  #watch(hasListeners: boolean): void {
    if (hasListeners === (this.#poll !== undefined)) return
    clearInterval(this.#poll)
    this.#poll = undefined
    this.#stopListening?.()
    this.#stopListening = undefined
    if (!hasListeners) return
    const dataVersion = (): unknown => this.#options.reading.pragma('data_version', { simple: true })
    let known = dataVersion()
    const poll = (): void => {
      const version = dataVersion()
      if (version === known) return
      known = version
      this.#listeners.wake()
    }
    this.#poll = setInterval(poll, POLL_MS).unref()
    this.#stopListening = this.#options.shared?.onCommit(poll)
  }
}

/** The first row stays, but without values: changed or deleted values are not kept longer than the log. */
function forgetRow(writing: Database, log: string, seq: number): void {
  const names = writing
    .prepare<[string], string>(`SELECT name FROM pragma_table_info(?) WHERE name = 'kept' OR name GLOB '[on][0-9]*'`)
    .pluck(true)
    .all(log)
  if (names.length === 0) return
  const values = names.map((name) => `${name} = NULL`).join(', ')
  const held = names.map((name) => `${name} IS NOT NULL`).join(' OR ')
  writing.prepare(`UPDATE main.${log} SET ${values} WHERE seq = ? AND (${held})`).run(seq)
}

interface LiveRead {
  readonly outcome: LiveOutcome
  /** Each of whole rows. */
  readonly texts: readonly string[]
}

/** Whether it is likely to be little work. */
function isCheap({ statement }: LiveReadRequest, { since, parameters }: LiveJob): boolean {
  const isBounded = since === undefined ? statement.cost !== 'unbounded' : isSimpleChange(since, statement)
  return isBounded && sizeOfAll(parameters) <= CHUNK_BYTES
}

function isSimpleChange(since: Since, { isSimple }: LiveStatement): boolean {
  return since.of === 'changed rows' && isSimple
}

function toJob({ statement, ...request }: LiveReadRequest): LiveJob {
  const { columns, keyColumns, routeColumns, sql } = statement
  const { tables, parameters, encoding, since, maxRows, maxBytes } = request
  const returned = { columns, keyColumns, routeColumns }
  return { kind: 'live', sql, columns: returned, tables, parameters, encoding, since, maxRows, maxBytes }
}
