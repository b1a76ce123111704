/** Inserts that return the values they were given: many rows in one statement, whose returned rows are known without it. */
import type { Database, Statement } from 'better-sqlite3'
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { STEPS_PER_PAUSE, type Steps } from '../../../../lib/turns.ts'
import { ReturnedRows } from '../../bounded-rows.ts'
import { type Bindable, sizeOfAll } from '../../emit/slots.ts'
import type { WriteOutcome, WriteRequest } from '../../engine.ts'
import { rowTooLongError } from '../../runtime-error.ts'
import { addSet, type JobStep, setCount, setsOf, setWidth } from '../processes/packed-sets.ts'
import { type RawRow, rowReader } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

/** One statement for 50 rows takes half as long as 50 statements; longer ones gain nothing (`npm run bench -- columns-ingest`). */
const MAX_ROWS = 50
const MAX_VALUES = 1000

/** Inserts a row for each set, in a transaction; returns how many. */
export function insertGiven(database: Database, statements: StatementCache, step: JobStep): number {
  const { sql, returned: places = [] } = step
  const one = statements.get(sql)
  let left = insertGroups(database, statements, step)
  for (const set of setsOf(step)) {
    if (left-- > 0) continue
    if (mayBeTooLong(set)) givenRow(set, places)
    one.run(...set)
  }
  return setCount(step)
}

/** Inserts the rows of the first sets, as many as can share a statement; returns how many. */
function insertGroups(database: Database, statements: StatementCache, step: JobStep): number {
  const { sql, rowText } = step
  const count = setCount(step)
  const size = Math.min(MAX_ROWS, Math.floor(MAX_VALUES / setWidth(step)))
  if (rowText === undefined || size < 2 || count < size) return 0
  const statement = statements.get(`${sql}${`, ${rowText}`.repeat(size - 1)}`)
  const values: Bindable[] = []
  let row = 0
  for (; row + size <= count; row += size) {
    let length = 0
    for (let at = row; at < row + size; at++) length = addSet(step, at, values, length)
    if (mayBeTooLong(values) || !insertMany(database, statement, values)) break
  }
  return row
}

/** False when nothing was inserted for the fault of a row: inserted one by one, the first bad row has its own error. */
function insertMany(database: Database, statement: Statement, values: readonly Bindable[]): boolean {
  try {
    statement.run(values)
    return true
  } catch (error) {
    if (database.inTransaction) return false
    throw error
  }
}

/** Whether every row that the write returns is one that it was given. */
export function areGiven({ steps, returning }: Pick<WriteRequest, 'steps' | 'returning'>): boolean {
  return returning.length > 0 && steps.every(({ returned }) => returned !== undefined)
}

/** The outcome of such a write, with the rows that it returns. */
export function* givenOutcome(
  request: ConstructorParameters<typeof ReturnedRows>[0] & Pick<WriteRequest, 'steps'>,
  rowsAffected: number,
): Steps<WriteOutcome> {
  const rows = new ReturnedRows(request, rowReader(request.returning))
  for (const { parameterSets, returned: places = [] } of request.steps)
    for (const [index, parameters] of parameterSets.entries()) {
      rows.add(givenRow(parameters, places))
      if (index % STEPS_PER_PAUSE === 0) yield
    }
  return rows.outcome(rowsAffected)
}

/** A row as SQLite would return it. Refuses one that is too long, as the emitted RETURNING does (emit/long-rows.ts). */
export function givenRow(parameters: readonly Bindable[], places: readonly number[]): RawRow {
  const row = places.map((place) => parameters[place] ?? null)
  if (mayBeTooLong(row) && bytesOf(row) > MAX_RESULT_ROW_BYTES) throw rowTooLongError(MAX_RESULT_ROW_BYTES)
  return row
}

/** Whether the values may be longer than a row may be: a UTF-16 code unit takes at most three bytes. */
function mayBeTooLong(values: readonly Bindable[]): boolean {
  return sizeOfAll(values) * 3 > MAX_RESULT_ROW_BYTES
}

function bytesOf(row: readonly Bindable[]): number {
  const lengths = row.map((value) =>
    typeof value === 'string' || value instanceof Uint8Array ? Buffer.byteLength(value) : 0,
  )
  return lengths.reduce((sum, length) => sum + length, 0)
}
