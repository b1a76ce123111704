/** How many digits of a second the timestamps of a column show: the same for all of them, so that they line up. */
import { fractionOf } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { kindOf } from './compare.ts'
import type { GridModel } from './model.ts'

/** The columns that have any. */
export function timestampsOf(columns: readonly GridColumn[]): readonly number[] {
  return columns.flatMap(({ type }, index) => (kindOf(type) === 'Timestamp' ? [index] : []))
}

/** By column. What rows in view need is added to what was needed before, so that scrolling never takes digits away. */
export function fractionsInView(
  known: readonly number[],
  model: GridModel,
  columns: readonly number[],
  { first, last }: { readonly first: number; readonly last: number },
): readonly number[] {
  const needed = [...known]
  for (const column of columns) {
    let digits = known[column] ?? 0
    for (let row = first; row < last; row++) digits = Math.max(digits, fractionOf(model.row(row)[column]))
    needed[column] = digits
  }
  return columns.every((column) => needed[column] === known[column]) ? known : needed
}
