/** The least and the greatest values, and those of the rows that come first and last in an order. */
import type { RawValue } from '../segment.ts'
import type { SegmentColumns } from '../segment-columns.ts'
import { type GroupedRows, type HeldBytes, knownRows, type State } from './state.ts'
import { compareOrdered, GroupValues, type Ordered, ranksOf, valueAt } from './values.ts'

/** The least values, or the greatest if the sign is negative. */
export class Extremes implements State {
  readonly #column: number
  readonly #sign: 1 | -1
  readonly #best = new GroupValues()
  readonly #held: HeldBytes

  constructor(column: number, sign: 1 | -1, held: HeldBytes) {
    this.#column = column
    this.#sign = sign
    this.#held = held
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, { rows, slots, groups, total }: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    this.#best.include(total, decoded)
    const ranks = ranksOf(decoded)
    const known = knownRows(columns, this.#column, rows, mask)
    const best = new Float64Array(groups.length).fill(Number.NaN)
    if (this.#sign > 0) findLeast(ranks, known, rows, slots, best)
    else findGreatest(ranks, known, rows, slots, best)
    for (let slot = 0; slot < groups.length; slot++) {
      const rank = best[slot] as number
      if (Number.isNaN(rank)) continue
      const [value, group] = [valueAt(decoded, rank), groups[slot] as number]
      const before = this.#best.get(group)
      if (before !== undefined && compareOrdered(value, before) * this.#sign >= 0) continue
      this.#held.replace(before, value)
      this.#best.set(group, value)
    }
  }

  value(group: number): RawValue {
    return this.#best.raw(group)
  }
}

/** The comparisons are false for NaN, so that the first value is taken. */
function findLeast(
  ranks: Float64Array | Int32Array,
  known: Uint8Array | undefined,
  rows: number,
  slots: Int32Array,
  best: Float64Array,
): void {
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    if (!((best[slot] as number) <= (ranks[i] as number))) best[slot] = ranks[i] as number
  }
}

function findGreatest(
  ranks: Float64Array | Int32Array,
  known: Uint8Array | undefined,
  rows: number,
  slots: Int32Array,
  best: Float64Array,
): void {
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    if (!((best[slot] as number) >= (ranks[i] as number))) best[slot] = ranks[i] as number
  }
}

/** The value of the row that comes first in an order, or last if the sign is negative; of several such rows the least value, or the greatest. */
export class Ends implements State {
  readonly #columns: { readonly column: number; readonly order: number }
  readonly #sign: 1 | -1
  readonly #values = new GroupValues()
  readonly #orders = new GroupValues()
  readonly #held: HeldBytes

  constructor(columns: { readonly column: number; readonly order: number }, sign: 1 | -1, held: HeldBytes) {
    this.#columns = columns
    this.#sign = sign
    this.#held = held
  }

  canAdd(columns: SegmentColumns): boolean {
    return [this.#columns.column, this.#columns.order].every((column) => columns.stored(column) !== undefined)
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const { rows, groups, total } = grouped
    const { column, order } = this.#columns
    const [values, orders] = [columns.decode(column), columns.decode(order)]
    this.#values.include(total, values)
    this.#orders.include(total, orders)
    const [valueRanks, orderRanks] = [ranksOf(values), ranksOf(orders)]
    const known = knownRows(columns, order, rows, knownRows(columns, column, rows, mask))
    const find = this.#sign > 0 ? findFirst : findLast
    const best = find(valueRanks, orderRanks, known, grouped)
    for (let slot = 0; slot < groups.length; slot++) {
      const row = best[slot] as number
      if (row >= 0)
        this.#offer(
          groups[slot] as number,
          valueAt(values, valueRanks[row] as number),
          valueAt(orders, orderRanks[row] as number),
        )
    }
  }

  #offer(group: number, value: Ordered, order: Ordered): void {
    const [valueBefore, orderBefore] = [this.#values.get(group), this.#orders.get(group)]
    if (valueBefore !== undefined && orderBefore !== undefined) {
      const ahead = compareOrdered(order, orderBefore) || compareOrdered(value, valueBefore)
      if (ahead * this.#sign >= 0) return
    }
    this.#held.replace(valueBefore, value)
    this.#held.replace(orderBefore, order)
    this.#values.set(group, value)
    this.#orders.set(group, order)
  }

  value(group: number, which: 0 | 1): RawValue {
    return (which === 0 ? this.#values : this.#orders).raw(group)
  }
}

type Ranks = Float64Array | Int32Array

/** For each group of the segment the row that comes first; -1 without one. One loop for both ends takes twice as long. */
function findFirst(
  values: Ranks,
  orders: Ranks,
  known: Uint8Array | undefined,
  { rows, slots, groups }: GroupedRows,
): Int32Array {
  const best = new Int32Array(groups.length).fill(-1)
  const bestOrders = new Float64Array(groups.length).fill(Number.POSITIVE_INFINITY)
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    const order = orders[i] as number
    const before = bestOrders[slot] as number
    if (order > before) continue
    if (order === before) {
      const row = best[slot] as number
      if (row >= 0 && !((values[i] as number) < (values[row] as number))) continue
    }
    best[slot] = i
    bestOrders[slot] = order
  }
  return best
}

/** The row that comes last. */
function findLast(
  values: Ranks,
  orders: Ranks,
  known: Uint8Array | undefined,
  { rows, slots, groups }: GroupedRows,
): Int32Array {
  const best = new Int32Array(groups.length).fill(-1)
  const bestOrders = new Float64Array(groups.length).fill(Number.NEGATIVE_INFINITY)
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    const order = orders[i] as number
    const before = bestOrders[slot] as number
    if (order < before) continue
    if (order === before) {
      const row = best[slot] as number
      if (row >= 0 && !((values[i] as number) > (values[row] as number))) continue
    }
    best[slot] = i
    bestOrders[slot] = order
  }
  return best
}
