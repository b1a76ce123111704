/** Inserts that return the values they were given: many rows in one statement, whose returned rows are known without it. */
import type { Database, Statement } from 'better-sqlite3'
import type { Steps } from '../../../lib/turns.ts'
import { MAX_RESULT_ROW_BYTES } from '../../iql/limits.ts'
import { ReturnedRows } from '../bounded-rows.ts'
import { type Bindable, sizeOfAll } from '../emit/slots.ts'
import type { WriteOutcome, WriteRequest, WriteStep } from '../engine.ts'
import { rowTooLongError } from '../runtime-error.ts'
import { type RawRow, rowReader } from './representation.ts'
import type { StatementCache } from './statement-cache.ts'

/** One statement for 50 rows takes half as long as 50 statements; longer ones gain nothing (`npm run bench -- columns-ingest`). */
const MAX_ROWS = 50
const MAX_VALUES = 1000

/** Inserts a row for each set, in a transaction; returns how many. */
export function insertGiven(database: Database, statements: StatementCache, step: WriteStep): number {
  const { sql, rowText, parameterSets, returned: places = [] } = step
  const one = statements.get(sql)
  const size = rowText === undefined ? 1 : Math.min(MAX_ROWS, Math.floor(MAX_VALUES / (parameterSets[0]?.length ?? 1)))
  const many =
    size > 1 && parameterSets.length >= size ? statements.get(`${sql}${`, ${rowText}`.repeat(size - 1)}`) : undefined
  let start = 0
  if (many !== undefined) {
    const values: Bindable[] = []
    for (; start + size <= parameterSets.length; start += size) {
      let count = 0
      for (let at = start; at < start + size; at++) for (const value of parameterSets[at] ?? []) values[count++] = value
      if (mayBeTooLong(values) || !insertMany(database, many, values)) break
    }
  }
  for (const parameters of parameterSets.slice(start)) {
    if (mayBeTooLong(parameters)) givenRow(parameters, places)
    one.run(...parameters)
  }
  return parameterSets.length
}

/** False when nothing was inserted for the fault of a row: inserted one by one, the first bad row has its own error. */
function insertMany(database: Database, many: Statement, values: readonly Bindable[]): boolean {
  try {
    many.run(values)
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
    for (const parameters of parameterSets) {
      rows.add(givenRow(parameters, places))
      yield
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
