/**
 * Reads a grouping of a table by parts: see emit/part-groups.ts. The parts are column segments, and ranges of rows: those without a
 * segment, or those of the whole table, which are sorted faster than all rows at once (../../DESIGN.md).
 */
import type { Database, Statement } from 'better-sqlite3'
import { MAX_INTEGER, MIN_INTEGER } from 'gatehouse-iql'
import type { ExecutorMemory } from '../../../columns/executor-memory.ts'
import type { Evaluate } from '../../../columns/filters.ts'
import { JoinedRows } from '../../../columns/joined-rows.ts'
import type { OwnRows } from '../../../columns/plan.ts'
import { DamagedSegment, type RawValue, type Segment } from '../../../columns/segment.ts'
import { forgetRuns } from '../../../columns/states/run-references.ts'
import { HeldBytes } from '../../../columns/states/state.ts'
import type { SqlStatement } from '../../emit/parameters.ts'
import { FEW_FOUND_ROWS, PART_ROWS, PARTS } from '../../emit/part-groups.ts'
import type { ColumnsRun, PartsRun } from '../../parts-run.ts'
import type { KeptParts } from '../columns/kept-parts.ts'
import { fromWide, WIDE_BYTES } from '../representation.ts'
import { withNamed } from './named-parameters.ts'
import { resultRows } from './result-rows.ts'
import { RowSegments } from './row-segments.ts'
import { openSegment, type ReadableSegment, SegmentBatches } from './segment-batches.ts'

/** The rows of a part: few enough to be sorted in a processor's cache, many enough to have several rows per group. */
const PART_SIZE = 16_384
/** A part whose conditions leave fewer rows than this is followed by a larger one. */
const FEW_ROWS = PART_SIZE / 4
const MAX_PART_SIZE = 16 * PART_SIZE
/** With fewer rows to a group the parts take as long as a sort of all rows; */
const LEAST_ROWS_OF_GROUP = 8
/** unless reading the table takes longest, because conditions leave few groups. */
const LEAST_SCANNED_OF_GROUP = 128
/** Gaps cost little in a table whose row identifiers span no more than this. */
const MAX_DENSE = 2n ** 26n
/** A group takes five times as long in the table of the parts; rows without a segment are faster there if there are few groups. */
const LEAST_MERGED_GROUPS = 2048
/** What the other table of a join may take. */
const MAX_JOINED_BYTES = 160 * 1024 * 1024
/** Smaller tables are sorted as usual. */
const LEAST_ROWS = 10 * PART_SIZE

/** Finds the segments of a table, in the order of their rows. Call in a transaction. */
export type FindSegments = (table: Pick<PartsRun, 'name'>) => readonly ReadableSegment[]

/** The column segments of the database. */
export interface SegmentSource {
  readonly find: FindSegments
  readonly kept?: KeptParts | undefined
  readonly heldBytes?: number | undefined
  /** As many groups, or more, are merged by the executor. */
  readonly mergedGroups?: number | undefined
  readonly memory?: ExecutorMemory | undefined
}

/** The statement that reads the result, or its rows. */
export type PartsResult = SqlStatement | Iterable<RawValue[]>

/**
 * Calls `read` with the result. Returns false instead if the usual plan is as fast, or if a part fails: then the
 * usual plan reports the error.
 */
export function readParts(
  connection: Database,
  usual: SqlStatement,
  run: PartsRun,
  source: SegmentSource,
  read: (result: PartsResult) => void,
): boolean {
  connection.exec('BEGIN')
  try {
    const result = fill(connection, usual, run, source)
    if (result === undefined) return false
    read(result)
    return true
  } finally {
    source.memory?.trim()
    forgetRuns()
    // This also removes the temporary table.
    if (connection.inTransaction) connection.exec('ROLLBACK')
    connection.pragma('query_only = ON')
  }
}

/** All parts are of the same state of the table. Undefined if the usual plan is as fast, or has to report an error. */
function fill(
  connection: Database,
  usual: SqlStatement,
  run: PartsRun,
  source: SegmentSource,
): PartsResult | undefined {
  try {
    const segments = run.columns === undefined ? [] : source.find(run)
    const choice = chooseParts(connection, usual, run, segments)
    if (choice === 'rows' ? !isWorthFromRows(connection, usual, run) : choice !== 'segments') return undefined
    // The file itself is open for reading only.
    connection.pragma('query_only = OFF')
    connection.exec(run.create)
    const parts = new PartTable(connection, run)
    if (choice === 'segments') return parts.addSegments(segments, source)
    return parts.addAll() ? run.whole : undefined
  } catch {
    return undefined
  }
}

/** Whether segments are read; if not, because there are none or because an index is faster. */
export function chooseParts(
  connection: Database,
  usual: SqlStatement,
  run: PartsRun,
  segments: readonly ReadableSegment[],
): 'segments' | 'rows' | 'index' | 'order' {
  if (segments.length === 0) return 'rows'
  const steps = explain(connection, usual)
  if (!sortsAsParts(connection, run, steps)) return 'order'
  return readsManyRows(connection, run, steps) ? 'segments' : 'index'
}

function isWorthFromRows(connection: Database, usual: SqlStatement, run: PartsRun): boolean {
  if (run.keys === 0 || run.joined !== undefined || run.isSlowFromRows || !isLarge(connection, run)) return false
  return sortsTable(explain(connection, usual))
}

/** The table of the parts, which has no rows yet. */
class PartTable {
  readonly #connection: Database
  readonly #run: PartsRun
  /** The first and the last row of the table. */
  readonly #ends: readonly [bigint, bigint] | readonly [null, null]

  constructor(connection: Database, run: PartsRun) {
    this.#connection = connection
    this.#run = run
    const { table, rowId } = run
    this.#ends = connection
      .prepare(`SELECT (SELECT min(${rowId}) FROM ${table}), (SELECT max(${rowId}) FROM ${table})`)
      .raw(true)
      .safeIntegers(true)
      .get() as [bigint, bigint] | [null, null]
  }

  /** Adds segments, and the rows that are in none of them. */
  addSegments(segments: readonly ReadableSegment[], source: SegmentSource): PartsResult | undefined {
    const { kept, heldBytes, mergedGroups = LEAST_MERGED_GROUPS, memory } = source
    const { columns } = this.#run
    const [least, greatest] = this.#ends
    if (columns === undefined || least === null) return undefined
    const { plan, ownRows } = columns
    const used = segments.filter(({ first, last }) => last >= least && first <= greatest)
    const evaluate = createEvaluator(this.#connection, columns)
    const joined = this.#readJoined(columns, source, evaluate)
    const options = { evaluate, heldBytes, kept, joined, memory }
    const batches = new SegmentBatches(columns, options, (rows) => this.#insertRows(rows))
    const isSlowFromRows = joined !== undefined || plan.states.some(({ kind }) => kind === 'values')
    const ranges = isSlowFromRows && ownRows !== undefined ? this.#withRows(used, ownRows) : used
    let gaps = this.#findGaps(ranges, batches.add(ranges))
    // Many groups are merged and sorted by the executor in a part of the time.
    if (plan.result !== undefined && ownRows !== undefined && (batches.whole?.count ?? -1) >= mergedGroups) {
      const rows = new RowSegments(this.#connection, this.#run, ownRows)
      const others = gaps.flatMap(([first, last]) => rows.split(first, last))
      const added = batches.add(others)
      if (batches.whole !== undefined && added.every(Boolean)) return resultRows(batches.whole, plan.result)
      gaps = others.flatMap(({ first, last }, index) => (added[index] ? [] : [[first, last] as const]))
    }
    batches.finish()
    const insert = this.#insertOfPart()
    for (const [first, last] of gaps) insert(first, last)
    return this.#run.whole
  }

  /** The ranges of rows that are not added. */
  #findGaps(ranges: readonly ReadableSegment[], added: readonly boolean[]): (readonly [bigint, bigint])[] {
    const [least, greatest] = this.#ends
    const gaps: (readonly [bigint, bigint])[] = []
    if (least === null) return gaps
    let next = least
    for (const [index, { first, last }] of ranges.entries()) {
      if (added[index] !== true) continue
      if (next < first) gaps.push([next, first - 1n])
      next = last + 1n
    }
    if (next <= greatest) gaps.push([next, greatest])
    return gaps
  }

  /** The rows between segments are segments in memory. */
  #withRows(segments: readonly ReadableSegment[], ownRows: OwnRows<SqlStatement>): ReadableSegment[] {
    const [least, greatest] = this.#ends
    if (least === null) return []
    const rows = new RowSegments(this.#connection, this.#run, ownRows)
    const ranges: ReadableSegment[] = []
    let next = least
    for (const segment of segments) {
      if (next < segment.first) ranges.push(...rows.split(next, segment.first - 1n))
      ranges.push(segment)
      next = segment.last + 1n
    }
    if (next <= greatest) ranges.push(...rows.split(next, greatest))
    return ranges
  }

  /** All rows of the other table, from its segments and from the rows between them. */
  #readJoined({ plan, joinedRows }: ColumnsRun, source: SegmentSource, evaluate: Evaluate): JoinedRows | undefined {
    const { joined: name } = this.#run
    if (plan.joined === undefined || joinedRows === undefined || name === undefined) return undefined
    const rows = new JoinedRows(plan.joined, plan.columns, evaluate, new HeldBytes(MAX_JOINED_BYTES))
    const statement = this.#connection.prepare<unknown[], RawValue[]>(joinedRows.sql).raw(true).safeIntegers(true)
    const addRows = (first: bigint, last: bigint): void => {
      for (const row of statement.iterate(...withNamed(joinedRows.parameters, { first, last }))) rows.addRow(row)
    }
    let next = MIN_INTEGER
    for (const segment of source.find({ name })) {
      const opened = openSegment(segment)
      // A segment begins after the rows that are read so far.
      const { first, last } = segment
      if (opened === undefined) continue
      if (next < first) addRows(next, first - 1n)
      if (!addJoined(rows, opened)) addRows(first, last)
      next = last + 1n
    }
    if (next <= MAX_INTEGER) addRows(next, MAX_INTEGER)
    rows.finish()
    return rows
  }

  /** Adds parts of few rows until none is left. False if there are too many groups. */
  addAll(): boolean {
    const [least, greatest] = this.#ends
    if (least === null) return false
    const insert = this.#insertOfPart()
    const count = this.#connection
      .prepare<[number], number>(`SELECT total(${PART_ROWS}) FROM ${PARTS} WHERE rowid > ?`)
      .pluck(true)
    const findNext = this.#nextParts(least, greatest)
    let [groups, rows, scanned] = [0, 0, 0]
    let size = PART_SIZE
    let first: bigint | undefined = least
    while (first !== undefined) {
      const next = findNext(first, size)
      const created = insert(first, next === undefined ? greatest : next - 1n)
      const found = count.get(groups) ?? 0
      groups += created
      rows += found
      scanned += size
      if (groups * LEAST_ROWS_OF_GROUP > rows && groups * LEAST_SCANNED_OF_GROUP > scanned) return false
      if (found < FEW_ROWS) size = Math.min(2 * size, MAX_PART_SIZE)
      first = next
    }
    return true
  }

  /** Adds the groups of a range of rows. Returns how many these are. */
  #insertOfPart(): (first: bigint, last: bigint) => number {
    const { part } = this.#run
    const insert = this.#connection.prepare(`INSERT INTO ${PARTS} ${part.sql}`)
    return (first, last) => insert.run(...withNamed(part.parameters, { first, last })).changes
  }

  #insertRows(rows: Iterable<readonly RawValue[]>): void {
    let insert: Statement | undefined
    for (const row of rows) {
      insert ??= this.#connection.prepare(`INSERT INTO ${PARTS} VALUES (${row.map(() => '?').join(', ')})`)
      insert.run(...row)
    }
  }

  /** The first row of the part after one. Counts the rows of a part, unless the table has few gaps: then the identifiers say how many there are. */
  #nextParts(least: bigint, greatest: bigint): (first: bigint, size: number) => bigint | undefined {
    const { table, rowId } = this.#run
    const counted = this.#connection
      .prepare<[bigint, number], bigint>(
        `SELECT ${rowId} FROM ${table} WHERE ${rowId} >= ? ORDER BY ${rowId} LIMIT 1 OFFSET ?`,
      )
      .pluck(true)
      .safeIntegers(true)
    const second = counted.get(least, PART_SIZE)
    const isDense = greatest - least < MAX_DENSE && second !== undefined && second - least < 2 * PART_SIZE
    return (first, size) => {
      const next = isDense ? first + BigInt(size) : counted.get(first, size)
      return next === undefined || next > greatest ? undefined : next
    }
  }
}

/** Computes the expressions of a plan by the engine's own functions. */
export function createEvaluator(connection: Database, { expressions }: ColumnsRun): Evaluate {
  const statements = expressions.map(({ sql, parameters }) => {
    const statement = connection.prepare<unknown[], RawValue>(sql).pluck(true).safeIntegers(true)
    return (value: RawValue | undefined): RawValue => {
      const given = value === undefined ? parameters : withNamed(parameters, { v: value })
      return statement.get(...given) ?? null
    }
  })
  return (expression, value) => {
    const result = statements[expression]?.(value) ?? null
    // A Decimal that is compared with a column.
    return value === undefined && result instanceof Uint8Array && result.length === WIDE_BYTES
      ? fromWide(result)
      : result
  }
}

/** False if the segment is damaged, or does not have what is joined. */
function addJoined(rows: JoinedRows, segment: Segment): boolean {
  try {
    return rows.addSegment(segment)
  } catch (error) {
    if (error instanceof DamagedSegment) return false
    throw error
  }
}

function isLarge(connection: Database, { table, rowId }: PartsRun): boolean {
  const beyond = `SELECT 1 FROM ${table} ORDER BY ${rowId} LIMIT 1 OFFSET ${LEAST_ROWS - 1}`
  return connection.prepare(beyond).get() !== undefined
}

/** The steps of SQLite's plan. */
function explain(connection: Database, { sql, parameters }: SqlStatement): string[] {
  return connection
    .prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
}

/** Whether SQLite would read the whole table and sort it: it uses no index to find rows, or to have them in the order of the groups. */
function sortsTable(steps: readonly string[]): boolean {
  return (
    steps.includes('USE TEMP B-TREE FOR GROUP BY') &&
    steps.every((step) => !/^(?:SCAN|SEARCH) s\d/.test(step) || /^SCAN s\d+$/.test(step))
  )
}

/** Whether the groups of the usual plan come in the order of their keys, and not in that of an index. */
function sortsAsParts(connection: Database, { keys }: PartsRun, steps: readonly string[]): boolean {
  if (keys === 0 || steps.includes('USE TEMP B-TREE FOR GROUP BY')) return true
  const indexes = steps.flatMap((step) => / USING (?:COVERING )?INDEX (\S+)/.exec(step)?.[1] ?? [])
  const isDescending = connection.prepare('SELECT 1 FROM pragma_index_xinfo(?) WHERE "desc" = 1')
  return keys === 1 && indexes.every((index) => isDescending.get(index) === undefined)
}

/** Whether SQLite would read the whole table, or an index would leave many of its rows. */
function readsManyRows(connection: Database, { found, alias }: PartsRun, steps: readonly string[]): boolean {
  const searches = steps.filter((step) => step.startsWith(`SEARCH ${alias} `))
  if (searches.length === 0) return true
  // The least or the greatest value of an index.
  if (searches.some((step) => !step.endsWith(')'))) return false
  const count = connection.prepare<unknown[], number>(found.sql).pluck(true)
  return (count.get(...found.parameters) ?? 0) >= FEW_FOUND_ROWS
}
