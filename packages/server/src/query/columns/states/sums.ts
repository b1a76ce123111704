/** Counts and sums: of integers, of decimals without their points, and of the shortest decimals of Doubles. */
import type { NumberColumn, RawValue } from '../segment.ts'
import type { SegmentColumns } from '../segment-columns.ts'
import { addBySlot, countRows, type GroupedRows, Growing, knownRows, type State } from './state.ts'

/** Sums of integers up to this are exact, and so is the sum of two of them. */
export const MAX_SUM = 2 ** 52

/** Counts rows, or those whose column is not NULL. */
export class Counts implements State {
  readonly #column: number | undefined
  readonly #counts = new Growing()

  constructor(column: number | undefined) {
    this.#column = column
  }

  canAdd(columns: SegmentColumns): boolean {
    return this.#column === undefined || columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const { rows, slots, groups, total, counts: ofAll } = grouped
    const counts = this.#counts.include(total)
    const known = knownRows(columns, this.#column, rows, mask)
    addBySlot(known === undefined ? ofAll() : countRows(known, rows, slots, groups.length), groups, counts)
  }

  value(group: number): RawValue {
    return BigInt(this.#counts.array[group] ?? 0)
  }
}

/** Sums of integers that can exceed what a Double holds exactly. */
export class ExactSums {
  readonly #low = new Growing()
  /** What was taken out of `#low`. */
  readonly #high = new Map<number, bigint>()

  /** Each sum is an integer of at most MAX_SUM, without its sign. */
  add(sums: Float64Array, groups: Int32Array, total: number): void {
    const low = this.#low.include(total)
    for (let slot = 0; slot < groups.length; slot++) {
      const group = groups[slot] as number
      const sum = (low[group] as number) + (sums[slot] as number)
      if (sum <= MAX_SUM && sum >= -MAX_SUM) low[group] = sum
      else {
        this.#high.set(group, this.#highOf(group) + BigInt(sum))
        low[group] = 0
      }
    }
  }

  addExact(group: number, sum: bigint): void {
    this.#high.set(group, this.#highOf(group) + sum)
  }

  get(group: number): bigint {
    return BigInt(this.#low.array[group] ?? 0) + this.#highOf(group)
  }

  #highOf(group: number): bigint {
    return this.#high.get(group) ?? 0n
  }
}

/** The sum of the integers of a column, NULL without any. */
export class Sums implements State {
  readonly #column: number
  readonly #sums = new ExactSums()
  readonly #counts = new Growing()

  constructor(column: number) {
    this.#column = column
  }

  canAdd(columns: SegmentColumns): boolean {
    const column = columns.stored(this.#column)
    return column?.kind === 'numbers' && !column.isDouble && isSummable(column, columns.rows)
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const { groups, total } = grouped
    const decoded = columns.decode(this.#column)
    if (decoded.kind !== 'numbers' || decoded.column.kind !== 'numbers') throw new Error('A sum of other values')
    const counts = this.#counts.include(total)
    const counted = addNumbers(decoded.values, decoded.column, grouped, mask, this.#sums)
    addBySlot(counted, groups, counts)
  }

  value(group: number): RawValue {
    return this.#counts.array[group] ? this.#sums.get(group) : null
  }
}

/** Whether the sum of all distances of a segment is exact as a Double. */
export function isSummable(column: NumberColumn, rows: number): boolean {
  return rangeOf(column) * rows <= MAX_SUM
}

/** Adds a column, without the points of decimals. Returns how many values each group of the segment has. */
export function addNumbers(
  values: Float64Array,
  column: NumberColumn,
  grouped: GroupedRows,
  mask: Uint8Array | undefined,
  sums: ExactSums,
): Float64Array {
  const { rows, slots, groups } = grouped
  const distances = new Float64Array(groups.length)
  if (mask === undefined && column.nulls === 0) {
    for (let i = 0; i < rows; i++) {
      const slot = slots[i] as number
      distances[slot] = (distances[slot] as number) + (values[i] as number)
    }
    addValues({ distances, counts: grouped.counts(), column }, grouped, sums)
    return grouped.counts()
  }
  const counts = new Float64Array(groups.length)
  for (let i = 0; i < rows; i++) {
    const value = values[i] as number
    // Not NaN, which is NULL.
    if (value >= 0 && (mask === undefined || mask[i] === 1)) {
      const slot = slots[i] as number
      distances[slot] = (distances[slot] as number) + value
      counts[slot] = (counts[slot] as number) + 1
    }
  }
  addValues({ distances, counts, column }, grouped, sums)
  return counts
}

/** Adds the sums of values, from those of their distances. */
export function addValues(
  {
    distances,
    counts,
    column,
  }: { readonly distances: Float64Array; readonly counts: Float64Array; readonly column: NumberColumn },
  { rows, groups, total }: GroupedRows,
  sums: ExactSums,
): void {
  const { least, unit } = column
  if (2 * greatestOf(column) * rows <= MAX_SUM) {
    const values = distances.map((distance, slot) => distance * unit + (counts[slot] as number) * least)
    sums.add(values, groups, total)
  } else
    for (let slot = 0; slot < groups.length; slot++)
      sums.addExact(
        groups[slot] as number,
        BigInt(distances[slot] as number) * BigInt(unit) + BigInt(counts[slot] as number) * BigInt(least),
      )
}

/** The sum of the shortest decimals of Doubles, as `gh_fsum_part` gives it: digits after the point, the sum without it, how many. */
export class DoubleSums implements State {
  readonly #column: number
  /** By the digits after the point. */
  readonly #sums = new Map<number, ExactSums>()
  readonly #counts = new Growing()

  constructor(column: number) {
    this.#column = column
  }

  canAdd(columns: SegmentColumns): boolean {
    const column = columns.stored(this.#column)
    return column?.kind === 'numbers' && column.isDouble && isSummable(column, columns.rows)
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const { groups, total } = grouped
    const decoded = columns.decode(this.#column)
    if (decoded.kind !== 'numbers' || decoded.column.kind !== 'numbers') throw new Error('A sum of other values')
    const { scale } = decoded.column
    const sums = this.#sums.get(scale) ?? new ExactSums()
    this.#sums.set(scale, sums)
    const counts = this.#counts.include(total)
    const counted = addNumbers(decoded.values, decoded.column, grouped, mask, sums)
    addBySlot(counted, groups, counts)
  }

  value(group: number): RawValue {
    const count = this.#counts.array[group] ?? 0
    if (count === 0) return null
    const scale = Math.max(...this.#sums.keys())
    let sum = 0n
    for (const [digits, sums] of this.#sums) sum += sums.get(group) * 10n ** BigInt(scale - digits)
    return `${scale}:${sum}:${count}`
  }
}

export function greatestOf({ least, greatest }: NumberColumn): number {
  return Math.max(Math.abs(least), Math.abs(greatest))
}

export function rangeOf({ least, greatest, unit }: NumberColumn): number {
  return (greatest - least) / unit
}
