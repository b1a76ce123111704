/** Which rows of a bulk insert are older than the retention of their table: said with the line, before anything is written. */
import { type IqlType, MICROS_PER_DAY } from 'gatehouse-iql'
import { findBelow } from '../batches/batch.ts'
import { atPlace, type Place } from '../batches/row-error.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { heldError, tooOldError, withHorizon } from '../catalogue/retention.ts'
import type { Duplicates } from '../engines/engine.ts'
import type { RetentionRows } from '../engines/retention-rows.ts'
import type { ReadBatch } from './reader.ts'

export interface ClosedRows {
  readonly table: string
  /** The ordinal of the column among those of the body. */
  readonly column: number
  /** A row whose value is less is closed. */
  readonly bound: bigint
  readonly horizon: bigint
}

export interface RowsToJudge {
  readonly table: TableDefinition | undefined
  readonly columns: readonly { readonly name: string; readonly type: IqlType }[]
  readonly duplicates: Duplicates
  readonly isDryRun: boolean
}

/**
 * Undefined if no row can be said to be closed. The triggers of the table judge again, in the transaction of the insert. A row that is there
 * already is skipped by `duplicates=skip`, however old it is; one before the cut is not there.
 */
export async function findClosed(
  { table, columns, duplicates, isDryRun }: RowsToJudge,
  rows: RetentionRows,
): Promise<ClosedRows | undefined> {
  if (table?.isHeld && duplicates === 'replace') throw heldError(table.name)
  const { on } = table?.retention ?? {}
  const column = columns.findIndex(({ name }) => name === on)
  const type = columns[column]?.type
  if (table === undefined || type === undefined || (duplicates === 'skip' && !isDryRun)) return undefined
  const state = await rows.find(table.name)
  const horizon = duplicates === 'skip' ? state?.cut : state?.horizon
  if (horizon === undefined) return undefined
  const bound = type.kind === 'Date' ? horizon / MICROS_PER_DAY : horizon
  return { table: table.name, column, bound, horizon: state?.horizon ?? horizon }
}

export function refuseClosed(batch: ReadBatch, closed: ClosedRows, place: (row: number) => Place): void {
  const row = findBelow(batch.columns[closed.column], closed.bound)
  if (row >= 0) throw atPlace(withHorizon(tooOldError(closed.table), closed.horizon), place(row))
}
