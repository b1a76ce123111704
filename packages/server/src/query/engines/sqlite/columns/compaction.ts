/**
 * Writes column segments in the background: one at a time, in a reader process of the lowest priority. Each step that writes to the
 * database is short. Several workers on one file claim segments, so that none is written twice.
 */
import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { GroupCommit } from '../../../../store/database/group-commit.ts'
import { retryWhileLocked } from '../../../../store/database/write-lock.ts'
import {
  type CatalogueRow,
  readDefinition,
  type TableDefinition,
  writeDefinition,
} from '../../../catalogue/definition.ts'
import { canBeStored, SEGMENT_ROWS } from '../../../columns/segment.ts'
import { ENTRIES } from '../../catalogue-sql.ts'
import type {
  ColumnStatus,
  ColumnsExplained,
  ColumnsVerified,
  ColumnTables,
  ExplainedQuery,
  ExplainJob,
  ExplainOutcome,
} from '../../column-tables.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { ColumnOptions, CompactionTiming } from '../../engine-options.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { rowId } from '../dialect/row-id.ts'
import { removeUnusedParts } from './kept-parts.ts'
import { segmentFolder, segmentPath } from './segment-files.ts'
import { leastRows, type SegmentJob, type SegmentOutcome } from './segment-jobs.ts'
import { claimMerge, hasMerge, MERGED_SEGMENTS } from './segment-merges.ts'
import {
  addTable,
  type ClaimedSegment,
  claimDue,
  claimNext,
  findReadableSegments,
  forgetFiles,
  forgetIfVacuumed,
  hasDue,
  listFiles,
  publishSegment,
  readSealed,
  readStatus,
  releaseSegment,
  splitSegment,
  wasVacuumed,
} from './segment-tables.ts'

const DEFAULT_TIMING: CompactionTiming = {
  tickMs: 10_000,
  sweepMs: 60_000,
  rebuildSeconds: 30,
  orphanMs: 600_000,
  pauseMs: 60_000,
  segmentRows: SEGMENT_ROWS,
  smallRows: SEGMENT_ROWS / MERGED_SEGMENTS ** 2,
}

/** The reader processes: they run a job in the background at the lowest priority. */
interface SegmentReaders {
  read(
    owner: string,
    job: SegmentJob | ExplainJob,
    running: { readonly signal: AbortSignal },
    background?: { onStart(): void },
  ): AsyncGenerator<Uint8Array, SegmentOutcome | ExplainOutcome, void>
}

export interface CompactionOptions {
  /** Of the database. */
  readonly path: string
  readonly reading: Database
  readonly writing: Database
  readonly commits: GroupCommit
  readonly pool: SegmentReaders
  readonly columns: ColumnOptions
}

/** The limit of the bytes is not lower by itself. */
const LEAST_MAX_BYTES = 1024 ** 3
/** The values that a process has in memory while it writes a segment. */
const MAX_VALUES = 4 * 1024 * 1024
/** The owner of the jobs, which no user has. */
const OWNER = ''

export class Compaction implements ColumnTables {
  readonly #options: CompactionOptions
  readonly #timing: CompactionTiming
  readonly #stop = new AbortController()
  #tables: readonly TableDefinition[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #sweptAt = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY
  /** Files may be left. */
  #hasFiles = true
  /** The tags of the segments in use, at the last look at the files. */
  #used: ReadonlySet<string> | undefined
  #looksAtParts = 0
  /** After an error. */
  readonly #paused = new Map<string, { readonly table: TableDefinition; readonly until: number }>()
  /** The highest row at which a table may have rows for another segment, if it had too few. */
  readonly #notBefore = new Map<string, { readonly sealed: bigint | null; readonly row: bigint }>()

  constructor(options: CompactionOptions) {
    this.#options = options
    this.#timing = { ...DEFAULT_TIMING, ...options.columns.timing }
  }

  catalogueLoaded(rows: readonly CatalogueRow[]): void {
    // Most tables have no columns: reading all definitions would take long.
    const columnar = rows.filter(({ definition }) => definition.includes('"columnar":true'))
    this.#tables = columnar.map(readDefinition).filter(({ isColumnar }) => isColumnar)
    this.#keepTime()
  }

  /** There is no timer without work. */
  #keepTime(): void {
    const isNeeded =
      this.#options.columns.isOn && !this.#stop.signal.aborted && (this.#tables.length > 0 || this.#hasFiles)
    if (!isNeeded) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#wake(), this.#timing.tickMs).unref()
      this.#wake()
    }
  }

  #wake(): void {
    if (this.#running !== undefined || performance.now() < this.#pausedUntil) return
    this.#running = this.#run()
      .catch((error) => {
        if (this.#stop.signal.aborted) return
        this.#pausedUntil = performance.now() + this.#timing.pauseMs
        this.#options.columns.onError?.(error)
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  async #run(): Promise<void> {
    if (performance.now() - this.#sweptAt >= this.#timing.sweepMs) {
      await this.#sweep()
      this.#sweptAt = performance.now()
    }
    // One segment of each table at a time.
    let mayHaveWork = true
    while (mayHaveWork) {
      mayHaveWork = false
      for (const table of this.#tables) {
        if (this.#stop.signal.aborted) return
        mayHaveWork = (await this.#stepUnlessPaused(table)) || mayHaveWork
      }
    }
    this.#keepTime()
  }

  /** An error of one table leaves the others as they are. */
  async #stepUnlessPaused(table: TableDefinition): Promise<boolean> {
    const paused = this.#paused.get(table.name)
    if (paused?.table === table && performance.now() < paused.until) return false
    try {
      return await this.#step(table)
    } catch (error) {
      if (this.#stop.signal.aborted || !(await this.#isCurrent(table))) return false
      this.#paused.set(table.name, { table, until: performance.now() + this.#timing.pauseMs })
      this.#options.columns.onError?.(error)
      return false
    }
  }

  /** False if the table was altered or dropped: then the catalogue is about to be loaded again. */
  async #isCurrent(table: TableDefinition): Promise<boolean> {
    return this.#read((database) => isDefinedAs(database, table))
  }

  /** Writes one segment. False if there is none to write. */
  async #step(table: TableDefinition): Promise<boolean> {
    const claimed = (await this.#claimDue(table)) ?? (await this.#claimNext(table)) ?? (await this.#claimMerge(table))
    if (claimed === undefined) return false
    try {
      this.#hasFiles = true
      const outcome = await this.#job({ kind: 'build-segment', ...this.#rowsOf(table), ...claimed })
      if (outcome.kind === 'split') await this.#write((database) => splitSegment(database, claimed, outcome.at))
      if (outcome.kind !== 'built') return true
      const isPublished = await this.#write((database) => publishSegment(database, claimed, outcome))
      if (!isPublished) await removeFile(segmentPath(this.#options.path, outcome.tag))
      return true
    } catch (error) {
      await this.#write((database) => releaseSegment(database, claimed.claim)).catch(() => {})
      throw error
    }
  }

  async #claimDue(table: TableDefinition): Promise<ClaimedSegment | undefined> {
    const { name } = table
    const timing = { now: nowInSeconds(), rebuildSeconds: this.#timing.rebuildSeconds }
    if (!(await this.#read((database) => hasDue(database, name, timing)))) return undefined
    return this.#write((database) => (isDefinedAs(database, table) ? claimDue(database, name, timing) : undefined))
  }

  async #claimNext(table: TableDefinition): Promise<ClaimedSegment | undefined> {
    const { name } = table
    const rows = this.#rowsOf(table)
    const from = `main.${SQLITE.identifier(name)}`
    const [sealed, least, greatest] = await this.#read((database) => [
      readSealed(database, name),
      readNumber(database, `SELECT min(${rows.rowId}) FROM ${from}`),
      readNumber(database, `SELECT max(${rows.rowId}) FROM ${from}`),
    ])
    if (sealed === undefined || least === null || greatest === null || (await this.#isFull())) return undefined
    const known = this.#notBefore.get(name)
    if (known !== undefined && known.sealed === sealed && greatest < known.row) return undefined
    // Few numbers have few rows: no process needs to count them.
    if (greatest - (sealed ?? least - 1n) < BigInt(2 * leastRows(rows, sealed))) return undefined
    const outcome = await this.#job({ kind: 'find-segment', ...rows, after: sealed })
    if (outcome.kind !== 'found') return undefined
    const { last, missingRows } = outcome
    // Each further row has a higher number.
    if (last === undefined) this.#notBefore.set(name, { sealed, row: greatest + BigInt(missingRows) })
    if (last === undefined) return undefined
    const next = { sealed, last, now: nowInSeconds() }
    return this.#write((database) => (isDefinedAs(database, table) ? claimNext(database, name, next) : undefined))
  }

  async #claimMerge(table: TableDefinition): Promise<ClaimedSegment | undefined> {
    const { name } = table
    const timing = { now: nowInSeconds(), maxRows: this.#rowsOf(table).maxRows }
    if (!(await this.#read((database) => hasMerge(database, name, timing)))) return undefined
    return this.#write((database) => (isDefinedAs(database, table) ? claimMerge(database, name, timing) : undefined))
  }

  #rowsOf({ name, columns }: TableDefinition) {
    const id = rowId(columns.map((column) => column.name))
    if (id === undefined) throw new Error(`${name} has no row number`)
    const stored = columns
      .filter(({ type }) => canBeStored(type))
      .map((column) => ({ name: column.name, type: column.type }))
    const maxRows = Math.min(this.#timing.segmentRows, Math.floor(MAX_VALUES / (stored.length + 1)))
    return { table: name, rowId: id, columns: stored, maxRows, smallRows: Math.min(this.#timing.smallRows, maxRows) }
  }

  async #isFull(): Promise<boolean> {
    const { path, columns } = this.#options
    const most = columns.maxBytes ?? Math.max(LEAST_MAX_BYTES, (await stat(path)).size / 2)
    const files = await this.#read(listFiles)
    return [...files.values()].reduce((sum, bytes) => sum + bytes, 0) >= most
  }

  /** Removes files that no segment names, with what was computed from them, and has those written again that are missing, or not as they were. */
  async #sweep(): Promise<void> {
    const { path } = this.#options
    if (await this.#read(wasVacuumed)) await this.#write(forgetIfVacuumed)
    const used = await this.#read(listFiles)
    const folder = segmentFolder(path)
    const found = await readdir(folder).catch(() => [])
    const missing = new Map(used)
    let [left, removed] = [0, 0]
    for (const name of found) {
      const file = await stat(join(folder, name)).catch(() => undefined)
      const tag = name.endsWith('.seg') ? name.slice(0, -'.seg'.length) : ''
      if (file === undefined || file.isDirectory()) continue
      if (used.has(tag)) {
        if (file.size === used.get(tag)) missing.delete(tag)
      } else if (Date.now() - file.mtimeMs < this.#timing.orphanMs) left++
      else {
        await removeFile(join(folder, name))
        removed++
      }
    }
    await this.#removeParts(new Set(used.keys()), left + removed > 0)
    if (missing.size > 0) await this.#write((database) => forgetFiles(database, [...missing.keys()]))
    this.#hasFiles = left > 0 || used.size > 0
  }

  /** Twice after a segment is gone: a statement that still read it may keep what it computed. */
  async #removeParts(used: ReadonlySet<string>, isFileUnused: boolean): Promise<void> {
    if (isFileUnused || this.#used === undefined || !this.#used.isSubsetOf(used)) this.#looksAtParts = 2
    this.#used = used
    if (this.#looksAtParts === 0) return
    this.#looksAtParts--
    await removeUnusedParts(this.#options.path, (tag) => used.has(tag))
  }

  async #job(job: SegmentJob): Promise<SegmentOutcome | ExplainOutcome> {
    const { signal } = this.#stop
    return takeOutcome(this.#options.pool.read(OWNER, job, { signal }, { onStart() {} }))
  }

  #read<Result>(read: (database: Database) => Result): Promise<Result> {
    return retryWhileLocked(() => read(this.#options.reading))
  }

  #write<Result>(write: (database: Database) => Result): Promise<Result> {
    return this.#options.commits.write(() => write(this.#options.writing))
  }

  get isOn(): boolean {
    return this.#options.columns.isOn
  }

  async explain(query: ExplainedQuery, signal: AbortSignal): Promise<ColumnsExplained> {
    const { owner, sql, parameters, parts, isAllSeen } = query
    const job = { kind: 'explain-columns', usual: { sql, parameters }, parts, isAllSeen } as const
    const outcome = await takeOutcome(this.#options.pool.read(owner, job, { signal }))
    if (outcome.kind !== 'explained') throw new Error('The outcome of another job')
    return outcome.explained
  }

  counts(): readonly (readonly ['ready' | 'marked' | 'missing', number])[] {
    // A worker that stops still gives its metrics to the others.
    if (this.#stop.signal.aborted) return []
    const all = this.#tables.map(({ name }) => readStatus(this.#options.reading, name))
    return (['ready', 'marked', 'missing'] as const).map((state) => [
      state,
      all.reduce((sum, one) => sum + one[state], 0),
    ])
  }

  async status(): Promise<readonly ColumnStatus[]> {
    const read = (database: Database) =>
      this.#tables.map(({ name }) => ({ table: name, ...readStatus(database, name) }))
    return this.#read(read)
  }

  async verify(name: string, signal: AbortSignal): Promise<ColumnsVerified | undefined> {
    const table = this.#find(name)
    if (table === undefined) return undefined
    const segments = await this.#read((database) => findReadableSegments(database, table.name))
    let [equal, different, changed] = [0, 0, 0]
    for (const segment of segments) {
      signal.throwIfAborted()
      const outcome = await this.#job({ kind: 'verify-segment', ...this.#rowsOf(table), ...segment })
      if (outcome.kind !== 'verified') continue
      if (outcome.isEqual === undefined) changed++
      else if (outcome.isEqual) equal++
      else {
        different++
        await this.#write((database) => forgetFiles(database, [segment.tag]))
      }
    }
    return { table: table.name, equal, different, changed }
  }

  async rebuild(name: string): Promise<boolean> {
    const table = this.#find(name)
    if (table === undefined) return false
    await this.#write((database) => addTable(database, table))
    this.#notBefore.delete(table.name)
    this.#wake()
    return true
  }

  #find(name: string): TableDefinition | undefined {
    return this.#tables.find((table) => table.name.toLowerCase() === name.toLowerCase())
  }

  /** Resolves when nothing is written any more. Call it before the pool is closed. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stop.abort(new Error('The database is closed'))
    await this.#running
  }
}

async function takeOutcome<Outcome>(chunks: AsyncGenerator<Uint8Array, Outcome, void>): Promise<Outcome> {
  for (;;) {
    const next = await chunks.next()
    if (next.done) return next.value
  }
}

function readNumber(database: Database, sql: Sql): bigint | null {
  return database.prepare<[], bigint | null>(sql).pluck(true).safeIntegers(true).get() ?? null
}

/** False if another process has altered the table: a segment with its former columns must not be written. */
function isDefinedAs(database: Database, table: TableDefinition): boolean {
  const stored = database
    .prepare<[string], string>(`SELECT definition FROM main.${ENTRIES} WHERE key = ?`)
    .pluck()
    .get(table.name.toLowerCase())
  return stored === writeDefinition(table)
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(() => {})
}
