/** What a state is: what the executor knows of each group, to which it adds the rows of a segment in one loop, exactly or not at all. */
import type { RawValue } from '../segment.ts'
import type { SegmentColumns } from '../segment-columns.ts'
import type { Run } from './value-run.ts'

/** The rows of a segment in their groups. */
export interface GroupedRows {
  readonly rows: number
  /** For each row the number of its group in the segment. */
  readonly slots: Int32Array
  /** For each group of the segment its number among all groups. */
  readonly groups: Int32Array
  /** How many groups there are so far, of all segments. */
  readonly total: number
  /** How many rows each group of the segment has; computed once. */
  readonly counts: () => Float64Array
}

export interface State {
  /** Whether it can add the rows of a segment with such columns. Reads their headers only. */
  canAdd(columns: SegmentColumns): boolean
  /** `mask` has 0 for rows that do not count. */
  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void
  /** A value for a column of the parts; `write` is for different values. */
  value(group: number, which: 0 | 1, write: WriteRun): RawValue
}

export type WriteRun = (run: Run) => RawValue

/** Bounds what the groups of a statement hold: beyond it they are computed from rows, which SQLite sorts on disk. */
export class HeldBytes {
  readonly #most: number
  #left: number

  constructor(most: number) {
    this.#most = most
    this.#left = most
  }

  get isHalfUsed(): boolean {
    return this.#left < this.#most / 2
  }

  add(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new Error('Too much for column segments')
  }

  replace(before: number | string | undefined, value: number | string): void {
    if (typeof value === 'string') this.add(value.length - (typeof before === 'string' ? before.length : 0))
  }
}

export const MAX_HELD_BYTES = 192 * 1024 * 1024

/** Numbers by group, which grow with the groups. */
export class Growing {
  array = new Float64Array(64)
  readonly #initial: number

  constructor(initial = 0) {
    this.#initial = initial
    this.array.fill(initial)
  }

  /** From now on it has as many groups. */
  include(total: number): Float64Array {
    if (total > this.array.length) {
      const larger = new Float64Array(2 ** Math.ceil(Math.log2(total))).fill(this.#initial)
      larger.set(this.array)
      this.array = larger
    }
    return this.array
  }
}

/** The mask without the rows whose column is NULL. */
export function knownRows(
  columns: SegmentColumns,
  column: number | undefined,
  rows: number,
  mask: Uint8Array | undefined,
): Uint8Array | undefined {
  if (column === undefined || columns.stored(column)?.nulls === 0) return mask
  const decoded = columns.decode(column)
  const known = new Uint8Array(rows)
  if (decoded.kind === 'texts') {
    const none = decoded.texts.length
    for (let i = 0; i < rows; i++) known[i] = decoded.codes[i] === none ? 0 : 1
  } else for (let i = 0; i < rows; i++) known[i] = Number.isNaN(decoded.values[i]) ? 0 : 1
  if (mask !== undefined) for (let i = 0; i < rows; i++) known[i] = (known[i] as number) & (mask[i] as number)
  return known
}

/** `mask` has 0 for rows that do not count. */
export function countRows(mask: Uint8Array | undefined, rows: number, slots: Int32Array, groups: number): Float64Array {
  const counts = new Float64Array(groups)
  if (mask === undefined)
    for (let i = 0; i < rows; i++) counts[slots[i] as number] = (counts[slots[i] as number] as number) + 1
  else
    for (let i = 0; i < rows; i++) {
      const slot = slots[i] as number
      counts[slot] = (counts[slot] as number) + (mask[i] as number)
    }
  return counts
}

/** Adds what the groups of a segment have to all groups. */
export function addBySlot(values: Float64Array, groups: Int32Array, sums: Float64Array): void {
  for (let slot = 0; slot < groups.length; slot++) {
    const group = groups[slot] as number
    sums[group] = (sums[group] as number) + (values[slot] as number)
  }
}
