/** Runs a grouping of a large table by parts, in a temporary table: see emit/split-groups.ts. */
import type { Database, Statement } from 'better-sqlite3'
import type { Bindable } from '../emit/slots.ts'
import { PART_ROWS, PARTS } from '../emit/split-groups.ts'
import type { SplitRun } from '../engine.ts'
import type { ReadJob } from './query-process.ts'

/** The rows of a part: few enough that their sort stays in a processor's cache, many enough that they have few groups. */
const PART_SIZE = 16_384
/** A part whose conditions leave fewer rows than this is followed by a larger one. */
const FEW_ROWS = PART_SIZE / 4
const MAX_PART_SIZE = 16 * PART_SIZE
/** With fewer rows to a group the parts take as long as a sort of all rows; */
const LEAST_ROWS_OF_GROUP = 8
/** unless conditions leave so few groups that reading the table takes longest. */
const LEAST_SCANNED_OF_GROUP = 128
/** A table of fewer parts is sorted: the first one could be in vain. */
const LEAST_PARTS = 10

/** Calls `write` with the statement that reads the result. Returns false, before that, if the usual way is as fast or safer. */
export function readSplit(
  connection: Database,
  job: ReadJob,
  split: SplitRun,
  write: (statement: Statement, parameters: readonly Bindable[]) => void,
): boolean {
  if (!isLarge(connection, split) || !sortsTable(connection, job)) return false
  // The file itself is open for reading only.
  connection.pragma('query_only = OFF')
  // One transaction: all parts are of the same state of the table.
  connection.exec('BEGIN')
  try {
    if (!fillParts(connection, split)) return false
    const { sql, parameters } = split.whole
    write(connection.prepare(sql).raw(true).safeIntegers(true), parameters)
    return true
  } finally {
    // The temporary table goes too.
    connection.exec('ROLLBACK')
    connection.pragma('query_only = ON')
  }
}

function isLarge(connection: Database, { table, rowId }: SplitRun): boolean {
  return (
    connection.prepare(`SELECT 1 FROM ${table} ORDER BY ${rowId} LIMIT 1 OFFSET ${LEAST_PARTS * PART_SIZE}`).get() !==
    undefined
  )
}

/** Whether SQLite would read the whole table and sort it: it uses no index to find rows, or to have them in the order of the groups. */
function sortsTable(connection: Database, { sql, parameters }: ReadJob): boolean {
  const steps = connection
    .prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
  return (
    steps.includes('USE TEMP B-TREE FOR GROUP BY') &&
    steps.every((step) => !/^(?:SCAN|SEARCH) s\d/.test(step) || /^SCAN s\d+$/.test(step))
  )
}

/** False if there are too many groups, or a part fails: then the usual way says how, or succeeds. */
function fillParts(connection: Database, split: SplitRun): boolean {
  const { table, rowId, part } = split
  connection.exec(split.create)
  const ends = connection
    .prepare(`SELECT (SELECT min(${rowId}) FROM ${table}), (SELECT max(${rowId}) FROM ${table})`)
    .raw(true)
    .safeIntegers(true)
    .get() as [bigint, bigint]
  const next = connection
    .prepare<[bigint, number], bigint>(
      `SELECT ${rowId} FROM ${table} WHERE ${rowId} >= ? ORDER BY ${rowId} LIMIT 1 OFFSET ?`,
    )
    .pluck(true)
    .safeIntegers(true)
  const insert = connection.prepare(`INSERT INTO ${PARTS} ${part.sql}`)
  const count = connection
    .prepare<[number], number>(`SELECT total(${PART_ROWS}) FROM ${PARTS} WHERE rowid > ?`)
    .pluck(true)
  let groups = 0
  let rows = 0
  let scanned = 0
  let size = PART_SIZE
  for (let first: bigint | undefined = ends[0]; first !== undefined; ) {
    const following: bigint | undefined = next.get(first, size)
    const last = following === undefined ? ends[1] : following - 1n
    const before = groups
    try {
      groups += insert.run(...withRange(part.parameters, first, last)).changes
    } catch {
      return false
    }
    const found = count.get(before) ?? 0
    rows += found
    scanned += size
    if (groups * LEAST_ROWS_OF_GROUP > rows && groups * LEAST_SCANNED_OF_GROUP > scanned) return false
    if (found < FEW_ROWS) size = Math.min(2 * size, MAX_PART_SIZE)
    first = following
  }
  return true
}

/** The range is in the object with the parameters by name, which is the last. */
function withRange(parameters: readonly Bindable[], first: bigint, last: bigint): Bindable[] {
  const named = parameters.at(-1)
  if (typeof named !== 'object' || named === null || named instanceof Uint8Array)
    return [...parameters, { first, last }]
  return [...parameters.slice(0, -1), { ...named, first, last }]
}
