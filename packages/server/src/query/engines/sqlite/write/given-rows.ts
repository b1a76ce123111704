/**
 * Inserts that return the values they were given: the returned rows are known without the database, and are not sent back by the
 * writer process. A request of 5,000 rows takes 1.9 times as long without it (figures in ../../DESIGN.md).
 */
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { STEPS_PER_PAUSE, type Steps } from '../../../../lib/turns.ts'
import { ReturnedRows } from '../../bounded-rows.ts'
import { type Bindable, sizeOfAll } from '../../emit/parameters.ts'
import type { WriteOutcome, WriteRequest, WriteStep } from '../../engine.ts'
import { rowTooLongError } from '../../runtime-error.ts'
import { type RawRow, rowDecoder } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Inserts a row for each set, in a transaction; returns how many. */
export function insertGiven(
  statements: StatementCache,
  { sql, parameterSets, returned: places = [] }: WriteStep,
): number {
  const statement = statements.get(sql)
  for (const set of parameterSets) {
    if (mayBeTooLong(set)) givenRow(set, places)
    statement.run(...set)
  }
  return parameterSets.length
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
  const rows = new ReturnedRows(request, rowDecoder(request.returning))
  for (const { parameterSets, returned: places = [] } of request.steps)
    for (const [index, parameters] of parameterSets.entries()) {
      rows.add(givenRow(parameters, places))
      if (index % STEPS_PER_PAUSE === 0) yield
    }
  return rows.outcome(rowsAffected)
}

/** A row as SQLite would return it. Refuses one that is too long, as the emitted RETURNING does (emit/text-limits.ts). */
export function givenRow(parameters: readonly Bindable[], places: readonly number[]): RawRow {
  const row = places.map((place) => parameters[place] ?? null)
  if (mayBeTooLong(row) && rowBytes(row) > MAX_RESULT_ROW_BYTES) throw rowTooLongError(MAX_RESULT_ROW_BYTES)
  return row
}

/** Whether the values may be longer than a row may be: a UTF-16 code unit takes at most three bytes. */
function mayBeTooLong(values: readonly Bindable[]): boolean {
  return sizeOfAll(values) * 3 > MAX_RESULT_ROW_BYTES
}

function rowBytes(row: readonly Bindable[]): number {
  const lengths = row.map((value) =>
    typeof value === 'string' || value instanceof Uint8Array ? Buffer.byteLength(value) : 0,
  )
  return lengths.reduce((sum, length) => sum + length, 0)
}
