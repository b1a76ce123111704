/** Reads a grouping of a large table by parts: see emit/split-groups.ts. One sort takes 2.9 times as long, one thread 1.8 (../../DESIGN.md). */
import type { Database } from 'better-sqlite3'
import type { SqlStatement } from '../../emit/parameters.ts'
import type { SplitRun } from '../../engine.ts'
import type { SplitHelper, SplitShare } from './split-helper.ts'
import { NO_PART, PART_SIZE, PartCursor, PartTable } from './split-parts.ts'

/** Smaller tables are sorted as usual. */
const LEAST_ROWS = 10 * PART_SIZE
/** From this size on, a second thread gains more than its start costs. */
const LEAST_SHARED_ROWS = 20 * PART_SIZE

/**
 * Calls `read` with the statement that reads the result. Returns false instead if the usual plan is as fast, or if a part fails: then the
 * usual plan reports the error.
 */
export function readSplit(
  connection: Database,
  usual: SqlStatement,
  split: SplitRun,
  helper: SplitHelper | undefined,
  read: (statement: SqlStatement) => void,
): boolean {
  const rows = estimateRows(connection, split)
  if (rows < LEAST_ROWS || !sortsTable(connection, usual)) return false
  try {
    // The file itself is open for reading only.
    connection.pragma('query_only = OFF')
    if (!fillTogether(connection, split, rows < LEAST_SHARED_ROWS ? undefined : helper)) return false
    read(split.whole)
    return true
  } finally {
    // This also removes the temporary table.
    if (connection.inTransaction) connection.exec('ROLLBACK')
    connection.pragma('query_only = ON')
  }
}

/** Begins a transaction, so that all parts are of the same state of the table. */
function fillTogether(connection: Database, split: SplitRun, helper: SplitHelper | undefined): boolean {
  const cursor = new PartCursor()
  let other: SplitShare | undefined
  try {
    other = helper?.begin(connection, split, cursor)
    if (other === undefined) connection.exec('BEGIN')
    const parts = new PartTable(connection, split)
    if (parts.first === undefined || parts.first === NO_PART) return false
    cursor.startAt(parts.first)
    const isFilled = parts.fill(cursor, () => {
      other?.startIfBegun()
      return true
    })
    const isFilledByOther = other?.finish((rows) => parts.add(rows)) ?? true
    return isFilled && isFilledByOther
  } catch {
    return false
  } finally {
    cursor.end()
    // It must have ended before the next query.
    other?.close()
  }
}

/** An estimate of the number of rows, which assumes that all are as close together as the first ones; 0 if there are too few for parts. */
function estimateRows(connection: Database, { table, rowId }: SplitRun): number {
  const probes = [
    `SELECT min(${rowId}) FROM ${table}`,
    `SELECT max(${rowId}) FROM ${table}`,
    `SELECT ${rowId} FROM ${table} ORDER BY ${rowId} LIMIT 1 OFFSET ${LEAST_ROWS - 1}`,
  ]
  const row = connection
    .prepare(`SELECT ${probes.map((probe) => `(${probe})`).join(', ')}`)
    .raw(true)
    .get()
  const [first, last, later] = row as (number | null)[]
  if (first == null || last == null || later == null) return 0
  return LEAST_ROWS * ((last - first) / Math.max(1, later - first))
}

/** Whether SQLite would read the whole table and sort it: it uses no index to find rows, or to have them in the order of the groups. */
function sortsTable(connection: Database, { sql, parameters }: SqlStatement): boolean {
  const steps = connection
    .prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
  return (
    steps.includes('USE TEMP B-TREE FOR GROUP BY') &&
    steps.every((step) => !/^(?:SCAN|SEARCH) s\d/.test(step) || /^SCAN s\d+$/.test(step))
  )
}
