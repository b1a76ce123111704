/** What the executor knows of each group: each kind adds the rows of a segment in one loop, exactly or not at all. */
import type { ColumnState } from './plan.ts'
import type { NumberColumn, RawValue } from './segment.ts'
import type { Decoded, DecodedNumbers, SegmentColumns } from './segment-columns.ts'

/** The rows of a segment in their groups. */
export interface GroupedRows {
  readonly rows: number
  /** For each row the number of its group in the segment. */
  readonly slots: Int32Array
  /** For each group of the segment its number among all groups. */
  readonly groups: Int32Array
}

export interface State {
  /** Whether it can add the rows of a segment with such columns. Reads their headers only. */
  canAdd(columns: SegmentColumns): boolean
  /** `mask` has 0 for rows that do not count. */
  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void
  /** The values for the columns of the parts. */
  values(group: number): RawValue[]
}

/** Sums of integers up to this are exact, and so is the sum of two of them. */
const MAX_SUM = 2 ** 52

export function createState(state: ColumnState): State {
  switch (state.kind) {
    case 'rows':
      return new Counts(undefined)
    case 'count':
      return new Counts(state.column)
    case 'sum':
      return new Sums(state.column)
    case 'double-sum':
      return new DoubleSums(state.column)
    case 'min':
    case 'max':
      return new Extremes(state.column, state.kind === 'min' ? 1 : -1)
    case 'first':
    case 'last':
      return new Ends(state, state.kind === 'first' ? 1 : -1)
    case 'values':
      return new ValueCounts(state.column)
  }
}

/** Numbers by group, which grow with the groups. */
class Growing {
  array = new Float64Array(64)
  readonly #initial: number

  constructor(initial = 0) {
    this.#initial = initial
    this.array.fill(initial)
  }

  include(groups: Int32Array): Float64Array {
    let most = 0
    for (const group of groups) if (group >= most) most = group + 1
    if (most > this.array.length) {
      const larger = new Float64Array(2 ** Math.ceil(Math.log2(most))).fill(this.#initial)
      larger.set(this.array)
      this.array = larger
    }
    return this.array
  }
}

/** Counts rows, or those whose column is not NULL. */
class Counts implements State {
  readonly #column: number | undefined
  readonly #counts = new Growing()

  constructor(column: number | undefined) {
    this.#column = column
  }

  canAdd(columns: SegmentColumns): boolean {
    return this.#column === undefined || columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, { rows, slots, groups }: GroupedRows, mask: Uint8Array | undefined): void {
    const counts = this.#counts.include(groups)
    const counted = countRows(knownRows(columns, this.#column, rows, mask), rows, slots, groups.length)
    addBySlot(counted, groups, counts)
  }

  values(group: number): RawValue[] {
    return [BigInt(this.#counts.array[group] ?? 0)]
  }
}

/** The mask without the rows whose column is NULL. */
function knownRows(
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

function countRows(mask: Uint8Array | undefined, rows: number, slots: Int32Array, groups: number): Float64Array {
  const counts = new Float64Array(groups)
  for (let i = 0; i < rows; i++) {
    const slot = slots[i] as number
    counts[slot] = (counts[slot] as number) + (mask === undefined ? 1 : (mask[i] as number))
  }
  return counts
}

/** Adds what the groups of a segment have to all groups. */
function addBySlot(values: Float64Array, groups: Int32Array, sums: Float64Array): void {
  for (let slot = 0; slot < groups.length; slot++) {
    const group = groups[slot] as number
    sums[group] = (sums[group] as number) + (values[slot] as number)
  }
}

/** Sums of integers that can exceed what a Double holds exactly. */
class ExactSums {
  readonly #low = new Growing()
  /** What was taken out of `#low`. */
  readonly #high = new Map<number, bigint>()

  /** Each sum is an integer of at most MAX_SUM, without its sign. */
  add(sums: Float64Array, groups: Int32Array): void {
    const low = this.#low.include(groups)
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
class Sums implements State {
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
    const { groups } = grouped
    const decoded = columns.decode(this.#column)
    if (decoded.kind !== 'numbers' || decoded.column.kind !== 'numbers') throw new Error('A sum of other values')
    const counts = this.#counts.include(groups)
    const counted = addNumbers(decoded.values, decoded.column, grouped, mask, this.#sums)
    addBySlot(counted, groups, counts)
  }

  values(group: number): RawValue[] {
    return [this.#counts.array[group] ? this.#sums.get(group) : null]
  }
}

/** Whether the sum of all distances of a segment is exact as a Double. */
function isSummable({ least, greatest, unit }: NumberColumn, rows: number): boolean {
  return ((greatest - least) / unit) * rows <= MAX_SUM
}

/** Adds a column, without the points of decimals. Returns how many values each group of the segment has. */
function addNumbers(
  values: Float64Array,
  { least, greatest, unit }: NumberColumn,
  { rows, slots, groups }: GroupedRows,
  mask: Uint8Array | undefined,
  sums: ExactSums,
): Float64Array {
  const distances = new Float64Array(groups.length)
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
  if (Math.max(Math.abs(least), Math.abs(greatest)) * rows <= MAX_SUM) {
    for (let slot = 0; slot < groups.length; slot++)
      distances[slot] = (distances[slot] as number) * unit + (counts[slot] as number) * least
    sums.add(distances, groups)
  } else
    for (let slot = 0; slot < groups.length; slot++)
      sums.addExact(
        groups[slot] as number,
        BigInt(distances[slot] as number) * BigInt(unit) + BigInt(counts[slot] as number) * BigInt(least),
      )
  return counts
}

/** The sum of the shortest decimals of Doubles, as `gh_fsum_part` gives it: digits after the point, the sum without it, how many. */
class DoubleSums implements State {
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
    const { groups } = grouped
    const decoded = columns.decode(this.#column)
    if (decoded.kind !== 'numbers' || decoded.column.kind !== 'numbers') throw new Error('A sum of other values')
    const { scale } = decoded.column
    const sums = this.#sums.get(scale) ?? new ExactSums()
    this.#sums.set(scale, sums)
    const counts = this.#counts.include(groups)
    const counted = addNumbers(decoded.values, decoded.column, grouped, mask, sums)
    addBySlot(counted, groups, counts)
  }

  values(group: number): RawValue[] {
    const count = this.#counts.array[group] ?? 0
    if (count === 0) return [null]
    const scale = Math.max(...this.#sums.keys())
    let sum = 0n
    for (const [digits, sums] of this.#sums) sum += sums.get(group) * 10n ** BigInt(scale - digits)
    return [`${scale}:${sum}:${count}`]
  }
}

/** Values that compare as those of a column do: numbers, or texts in the order of their bytes. */
type Ordered = number | string

function compareOrdered(one: Ordered, other: Ordered): number {
  if (typeof one === 'number' || typeof other === 'number') return compareRanks(Number(one), Number(other))
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** A number of a column, or the place of a text: both in the order of the values. */
function ranksOf(decoded: Decoded): Float64Array | Int32Array {
  return decoded.kind === 'texts' ? decoded.codes : decoded.values
}

/** The value with this rank in a segment. */
function valueAt({ kind, ...decoded }: Decoded, rank: number): Ordered {
  if (kind === 'texts') return (decoded as { texts: readonly string[] }).texts[rank] ?? ''
  const { column } = decoded as DecodedNumbers
  if (column.kind === 'doubles') return rank
  return (column.least + rank * column.unit) / 10 ** column.scale
}

/** As SQLite returns it. */
function toRaw(value: Ordered | undefined, isInteger: boolean): RawValue {
  return value === undefined ? null : typeof value === 'number' && isInteger ? BigInt(value) : value
}

function isIntegers({ column }: Decoded): boolean {
  return column.kind === 'numbers' && !column.isDouble
}

/** The rows that have a value: those of a text have a code before the last. */
function hasValue(decoded: Decoded): (rank: number) => boolean {
  if (decoded.kind === 'numbers') return (rank) => !Number.isNaN(rank)
  const none = decoded.texts.length
  return (rank) => rank < none
}

/** The least values, or the greatest if the sign is negative. */
class Extremes implements State {
  readonly #column: number
  readonly #sign: 1 | -1
  readonly #best: Ordered[] = []
  #isInteger = false

  constructor(column: number, sign: 1 | -1) {
    this.#column = column
    this.#sign = sign
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, { rows, slots, groups }: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    this.#isInteger = isIntegers(decoded)
    const ranks = ranksOf(decoded)
    const known = knownRows(columns, this.#column, rows, mask)
    const best = new Float64Array(groups.length).fill(Number.NaN)
    if (this.#sign > 0) findLeast(ranks, known, rows, slots, best)
    else findGreatest(ranks, known, rows, slots, best)
    for (let slot = 0; slot < groups.length; slot++) {
      const rank = best[slot] as number
      if (Number.isNaN(rank)) continue
      const [value, group] = [valueAt(decoded, rank), groups[slot] as number]
      const before = this.#best[group]
      if (before === undefined || compareOrdered(value, before) * this.#sign < 0) this.#best[group] = value
    }
  }

  values(group: number): RawValue[] {
    return [toRaw(this.#best[group], this.#isInteger)]
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

interface End {
  readonly value: Ordered
  readonly order: Ordered
}

/** The value of the row that comes first in an order, or last if the sign is negative; of several such rows the least value, or the greatest. */
class Ends implements State {
  readonly #columns: { readonly column: number; readonly order: number }
  readonly #sign: 1 | -1
  readonly #best: End[] = []
  #areIntegers = { value: false, order: false }

  constructor(columns: { readonly column: number; readonly order: number }, sign: 1 | -1) {
    this.#columns = columns
    this.#sign = sign
  }

  canAdd(columns: SegmentColumns): boolean {
    return [this.#columns.column, this.#columns.order].every((column) => columns.stored(column) !== undefined)
  }

  add(columns: SegmentColumns, { rows, slots, groups }: GroupedRows, mask: Uint8Array | undefined): void {
    const { column, order } = this.#columns
    const [values, orders] = [columns.decode(column), columns.decode(order)]
    this.#areIntegers = { value: isIntegers(values), order: isIntegers(orders) }
    const known = knownRows(columns, order, rows, knownRows(columns, column, rows, mask))
    const best = findEnds(ranksOf(values), ranksOf(orders), known, { rows, slots, groups }, this.#sign)
    for (let slot = 0; slot < groups.length; slot++) {
      const row = best[slot] as number
      if (row < 0) continue
      const end = {
        value: valueAt(values, ranksOf(values)[row] as number),
        order: valueAt(orders, ranksOf(orders)[row] as number),
      }
      const group = groups[slot] as number
      const before = this.#best[group]
      if (before === undefined || this.#isBetter(end, before)) this.#best[group] = end
    }
  }

  #isBetter(one: End, other: End): boolean {
    return (compareOrdered(one.order, other.order) || compareOrdered(one.value, other.value)) * this.#sign < 0
  }

  values(group: number): RawValue[] {
    const { value, order } = this.#best[group] ?? {}
    return [toRaw(value, this.#areIntegers.value), toRaw(order, this.#areIntegers.order)]
  }
}

/** For each group of the segment the row that comes first; -1 without one. */
function findEnds(
  values: Float64Array | Int32Array,
  orders: Float64Array | Int32Array,
  known: Uint8Array | undefined,
  { rows, slots, groups }: GroupedRows,
  sign: 1 | -1,
): Int32Array {
  const best = new Int32Array(groups.length).fill(-1)
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    const before = best[slot] as number
    if (before < 0) {
      best[slot] = i
      continue
    }
    const order = compareRanks(orders[before] as number, orders[i] as number)
    if ((order || compareRanks(values[before] as number, values[i] as number)) * sign > 0) best[slot] = i
  }
  return best
}

/** A difference would be NaN for infinities. */
function compareRanks(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** How many rows of each group have each value. */
class ValueCounts implements State {
  readonly #column: number
  readonly #counts: (Map<Ordered, number> | undefined)[] = []
  #isInteger = false

  constructor(column: number) {
    this.#column = column
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, { rows, slots, groups }: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    this.#isInteger = isIntegers(decoded)
    const ranks = ranksOf(decoded)
    const has = hasValue(decoded)
    const size = rangeOf(decoded)
    const counts: { get(at: number): number; add(at: number): void; entries(): Iterable<readonly [number, number]> } =
      size * groups.length <= MAX_TABLE ? new CountTable(size * groups.length) : new CountMap()
    for (let i = 0; i < rows; i++) {
      const rank = ranks[i] as number
      if (has(rank) && (mask === undefined || mask[i] === 1)) counts.add((slots[i] as number) * size + rank)
    }
    for (const [at, count] of counts.entries()) {
      const slot = Math.floor(at / size)
      const group = groups[slot] as number
      const values = this.#counts[group] ?? new Map<Ordered, number>()
      this.#counts[group] = values
      const value = valueAt(decoded, at - slot * size)
      values.set(value, (values.get(value) ?? 0) + count)
    }
  }

  values(group: number): RawValue[] {
    const counts = this.#counts[group]
    if (counts === undefined) return [null]
    return [[...counts].map(([value, count]) => `${toRaw(value, this.#isInteger)}:${count}`).join(',')]
  }
}

const MAX_TABLE = 2 ** 22

function rangeOf(decoded: Decoded): number {
  if (decoded.kind === 'texts') return decoded.texts.length + 1
  return decoded.column.kind === 'numbers'
    ? (decoded.column.greatest - decoded.column.least) / decoded.column.unit + 1
    : 0
}

class CountTable {
  readonly #counts: Int32Array
  constructor(size: number) {
    this.#counts = new Int32Array(size)
  }
  get(at: number): number {
    return this.#counts[at] ?? 0
  }
  add(at: number): void {
    this.#counts[at] = (this.#counts[at] as number) + 1
  }
  *entries(): Iterable<readonly [number, number]> {
    for (let at = 0; at < this.#counts.length; at++) if (this.#counts[at] !== 0) yield [at, this.#counts[at] as number]
  }
}

class CountMap {
  readonly #counts = new Map<number, number>()
  get(at: number): number {
    return this.#counts.get(at) ?? 0
  }
  add(at: number): void {
    this.#counts.set(at, (this.#counts.get(at) ?? 0) + 1)
  }
  entries(): Iterable<readonly [number, number]> {
    return this.#counts
  }
}
