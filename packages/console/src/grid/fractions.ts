/** How many digits of a second the timestamps of a column show: the same for all of them, so that they line up. */
import { useMemo, useRef } from 'preact/hooks'
import { fractionOf } from './cell-text.ts'
import { kindOf } from './compare.ts'
import type { GridModel } from './model.ts'
import type { RowWindow } from './viewport.ts'

/** By column. Digits that rows in view need are added, and never taken away again by scrolling. */
export function useFractions(model: GridModel, shown: RowWindow): readonly number[] {
  const timestamps = useMemo(
    () => model.columns.flatMap(({ type }, index) => (kindOf(type).endsWith('Timestamp') ? [index] : [])),
    [],
  )
  const known = useRef<readonly number[]>([])
  known.current = fractionsInView(known.current, model, timestamps, shown)
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
    for (let row = first; row < last; row++) digits = Math.max(digits, fractionOf(model.row(row)[column]))
    needed[column] = digits
  }
  return columns.every((column) => needed[column] === known[column]) ? known : needed
}
