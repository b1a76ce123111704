/** How many digits a column shows, of a second or after the decimal point: the same for all rows, so that they line up. */
import { useMemo, useRef } from 'preact/hooks'
import type { GridColumn } from './column.ts'
import { typeKind } from './compare.ts'
import type { GridModel } from './model.ts'
import { neededDigits } from './shown-text.ts'
import type { RowWindow } from './viewport.ts'

const HAVE_DIGITS = /Timestamp|Decimal|Double/

/** By column. Digits that rows in view need are added, and never taken away again by scrolling. */
export function useFractions(model: GridModel, shown: RowWindow): readonly number[] {
  const columns = useMemo(
    () => model.columns.flatMap(({ type }, index) => (HAVE_DIGITS.test(typeKind(type)) ? [index] : [])),
    [],
  )
  const known = useRef<readonly number[]>([])
  known.current = fractionsInView(known.current, model, columns, shown)
  return known.current
}

/** `known` itself if it has all digits that are needed. */
function fractionsInView(
  known: readonly number[],
  model: GridModel,
  columns: readonly number[],
  { first, last }: RowWindow,
): readonly number[] {
  const needed = [...known]
  for (const column of columns) {
    let digits = known[column] ?? 0
    for (let row = first; row < last; row++)
      digits = Math.max(digits, neededDigits(model.row(row)[column], model.columns[column] as GridColumn))
    needed[column] = digits
  }
  return columns.every((column) => needed[column] === known[column]) ? known : needed
}
