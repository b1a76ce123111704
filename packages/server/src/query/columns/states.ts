/** What the executor knows of each group: each kind adds the rows of a segment in one loop, exactly or not at all. */
import type { ColumnState } from './plan.ts'
import type { NumberColumn, RawValue } from './segment.ts'
import type { Decoded, SegmentColumns } from './segment-columns.ts'

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
  /** A value for a column of the parts. */
  value(group: number, which: 0 | 1): RawValue
}

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

  replace(before: Ordered | undefined, value: Ordered): void {
    if (typeof value === 'string') this.add(value.length - (typeof before === 'string' ? before.length : 0))
  }
}

export const MAX_HELD_BYTES = 192 * 1024 * 1024

/** Sums of integers up to this are exact, and so is the sum of two of them. */
const MAX_SUM = 2 ** 52

/** `held` counts what grows with the values. */
export function createState(state: ColumnState, held: HeldBytes): State {
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
      return new Extremes(state.column, state.kind === 'min' ? 1 : -1, held)
    case 'first':
    case 'last':
      return new Ends(state, state.kind === 'first' ? 1 : -1, held)
    case 'values':
      return new ValueCounts(state.column, held)
    case 'products':
    case 'weighted':
      return new Products(state.kind, state.column, state.order)
    case 'spread':
      return new Products(state.kind, state.column, state.column)
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
function isSummable(column: NumberColumn, rows: number): boolean {
  return rangeOf(column) * rows <= MAX_SUM
}

/** Adds a column, without the points of decimals. Returns how many values each group of the segment has. */
function addNumbers(
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
function addValues(
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
function valueAt(decoded: Decoded, rank: number): Ordered {
  if (decoded.kind === 'texts') return decoded.texts[rank] ?? ''
  const { column } = decoded
  if (column.kind === 'doubles') return rank
  const number = column.least + rank * column.unit
  return column.scale === 0 ? number : number / 10 ** column.scale
}

/** A value of each group, or none: numbers of a column, or its texts. */
class GroupValues {
  readonly #numbers = new Growing(Number.NaN)
  readonly #texts: string[] = []
  #isInteger = false

  include(total: number, decoded: Decoded): void {
    this.#isInteger = isIntegers(decoded)
    if (decoded.kind === 'numbers') this.#numbers.include(total)
  }

  get(group: number): Ordered | undefined {
    const number = this.#numbers.array[group]
    return number === undefined || Number.isNaN(number) ? this.#texts[group] : number
  }

  set(group: number, value: Ordered): void {
    if (typeof value === 'number') this.#numbers.array[group] = value
    else this.#texts[group] = value
  }

  raw(group: number): RawValue {
    return toRaw(this.get(group), this.#isInteger)
  }
}

/** As SQLite returns it. */
function toRaw(value: Ordered | undefined, isInteger: boolean): RawValue {
  return value === undefined ? null : typeof value === 'number' && isInteger ? BigInt(value) : value
}

function isIntegers({ column }: Decoded): boolean {
  return column.kind === 'numbers' && !column.isDouble
}

/** The least values, or the greatest if the sign is negative. */
class Extremes implements State {
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
class Ends implements State {
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
    const best = findEnds(valueRanks, orderRanks, known, grouped, this.#sign)
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

/** How many rows of each group have each value, as `gh_values_part` and `gh_texts_part` write it. */
class ValueCounts implements State {
  readonly #column: number
  readonly #held: HeldBytes
  readonly #counts: (Map<Ordered, number> | undefined)[] = []
  #isInteger = false
  #areTexts = false

  constructor(column: number, held: HeldBytes) {
    this.#column = column
    this.#held = held
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    this.#isInteger = isIntegers(decoded)
    this.#areTexts = decoded.kind === 'texts'
    const known = knownRows(columns, this.#column, grouped.rows, mask)
    const size = countRanks(decoded)
    if (size * grouped.groups.length <= MAX_TABLE) this.#addByTable(decoded, size, known, grouped)
    else this.#addByMap(decoded, known, grouped)
  }

  #addByTable(
    decoded: Decoded,
    size: number,
    known: Uint8Array | undefined,
    { rows, slots, groups }: GroupedRows,
  ): void {
    const ranks = ranksOf(decoded)
    const counts = new Int32Array(size * groups.length)
    for (let i = 0; i < rows; i++) {
      if (known !== undefined && known[i] === 0) continue
      const at = (slots[i] as number) * size + (ranks[i] as number)
      counts[at] = (counts[at] as number) + 1
    }
    for (let slot = 0; slot < groups.length; slot++)
      for (let rank = 0; rank < size; rank++) {
        const count = counts[slot * size + rank] as number
        if (count > 0) this.#add(groups[slot] as number, valueAt(decoded, rank), count)
      }
  }

  #addByMap(decoded: Decoded, known: Uint8Array | undefined, { rows, slots, groups }: GroupedRows): void {
    const ranks = ranksOf(decoded)
    for (let i = 0; i < rows; i++)
      if (known === undefined || known[i] === 1)
        this.#add(groups[slots[i] as number] as number, valueAt(decoded, ranks[i] as number), 1)
  }

  #add(group: number, value: Ordered, count: number): void {
    const values = this.#counts[group] ?? new Map<Ordered, number>()
    this.#counts[group] = values
    const before = values.get(value)
    if (before === undefined) this.#held.add(VALUE_BYTES + (typeof value === 'string' ? value.length : 0))
    values.set(value, (before ?? 0) + count)
  }

  value(group: number): RawValue {
    const counts = this.#counts[group]
    if (counts === undefined) return null
    if (this.#areTexts) return JSON.stringify([...counts.keys()])
    return Array.from(counts, ([value, count]) => `${toRaw(value, this.#isInteger)}:${count}`).join(',')
  }
}

const MAX_TABLE = 2 ** 22
/** What an entry of a map takes. */
const VALUE_BYTES = 64

/** How many ranks there are between the least and the greatest; infinite for Doubles as they are. */
function countRanks(decoded: Decoded): number {
  if (decoded.kind === 'texts') return decoded.texts.length + 1
  const { column } = decoded
  return column.kind === 'numbers' ? (column.greatest - column.least) / column.unit + 1 : Number.POSITIVE_INFINITY
}

/** What rows with both values have: the sum of their products, and the sums of each. */
interface PairSums {
  readonly products: ExactSums
  readonly first: ExactSums
  readonly second: ExactSums
  readonly counts: Growing
}

/** Sums of the products of two columns, or of the squares of one: see `write`. */
class Products implements State {
  readonly #columns: readonly [number, number]
  readonly #kind: 'products' | 'weighted' | 'spread'
  /** By the digits after the point, of a Double. */
  readonly #sums = new Map<number, PairSums>()

  constructor(kind: 'products' | 'weighted' | 'spread', first: number, second: number) {
    this.#kind = kind
    this.#columns = [first, second]
  }

  canAdd(columns: SegmentColumns): boolean {
    const [first, second] = this.#columns.map((column) => columns.stored(column))
    if (first?.kind !== 'numbers' || second?.kind !== 'numbers') return false
    // A product of more than 64 bits is an error, or needs another plan.
    if (this.#kind === 'products' && !(greatestOf(first) * greatestOf(second) < MAX_PRODUCT)) return false
    if (this.#kind !== 'spread' && (first.isDouble || second.isDouble)) return false
    return (
      isSummable(first, columns.rows) &&
      isSummable(second, columns.rows) &&
      findPiece(first, second, columns.rows) !== undefined
    )
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const [firstColumn, secondColumn] = this.#columns
    const [first, second] = [columns.decode(firstColumn), columns.decode(secondColumn)]
    if (first.kind !== 'numbers' || first.column.kind !== 'numbers') throw new Error('A product of other values')
    if (second.kind !== 'numbers' || second.column.kind !== 'numbers') throw new Error('A product of other values')
    const known = knownRows(columns, secondColumn, grouped.rows, knownRows(columns, firstColumn, grouped.rows, mask))
    const { scale } = first.column
    const sums = this.#sums.get(scale) ?? createPairSums()
    this.#sums.set(scale, sums)
    const [one, other] = [
      { values: first.values, column: first.column },
      { values: second.values, column: second.column },
    ]
    // The sum of products is that of the larger range in pieces times the other one.
    const isInOrder = rangeOf(one.column) >= rangeOf(other.column)
    const [long, short] = isInOrder ? [one, other] : [other, one]
    const piece = findPiece(one.column, other.column, columns.rows)
    if (piece === undefined) throw new Error('A product that is not exact')
    const totals = sumPairs(long.values, short.values, piece, known, grouped)
    const [ofLong, ofShort] = isInOrder ? [sums.first, sums.second] : [sums.second, sums.first]
    const { distances, counts } = totals
    addBySlot(counts, grouped.groups, sums.counts.include(grouped.total))
    addValues({ distances: distances.long, counts, column: long.column }, grouped, ofLong)
    addValues({ distances: distances.short, counts, column: short.column }, grouped, ofShort)
    addProducts(totals, long.column, short.column, grouped, sums.products)
  }

  value(group: number): RawValue {
    const scale = Math.max(...this.#sums.keys())
    let [products, first, second, count] = [0n, 0n, 0n, 0n]
    for (const [digits, sums] of this.#sums) {
      const shift = 10n ** BigInt(scale - digits)
      products += sums.products.get(group) * shift * shift
      first += sums.first.get(group) * shift
      second += sums.second.get(group) * shift
      count += BigInt(sums.counts.array[group] ?? 0)
    }
    if (count === 0n) return null
    switch (this.#kind) {
      case 'products':
        return products
      case 'weighted':
        return `${products}:${second}`
      case 'spread':
        return [first, products, count, scale, 0].join(':')
    }
  }
}

const MAX_PRODUCT = 2 ** 63

function greatestOf({ least, greatest }: NumberColumn): number {
  return Math.max(Math.abs(least), Math.abs(greatest))
}

function rangeOf({ least, greatest, unit }: NumberColumn): number {
  return (greatest - least) / unit
}

/** Into pieces of what size the distances of the column with the larger range must be divided, so that sums of products are exact as Doubles. */
function findPiece(one: NumberColumn, other: NumberColumn, rows: number): number | undefined {
  const [long, short] = [Math.max(rangeOf(one), rangeOf(other)), Math.min(rangeOf(one), rangeOf(other))]
  const most = MAX_SUM / Math.max(1, short * rows)
  if (long <= most) return Number.POSITIVE_INFINITY
  const piece = 2 ** Math.ceil(Math.log2(long + 1) / 2)
  return piece <= most ? piece : undefined
}

interface PairTotals {
  /** Products of the whole pieces of the longer distances, and of the rest. */
  readonly high: Float64Array
  readonly low: Float64Array
  readonly distances: { readonly long: Float64Array; readonly short: Float64Array }
  readonly counts: Float64Array
  readonly piece: number
}

function sumPairs(
  longs: Float64Array,
  shorts: Float64Array,
  piece: number,
  known: Uint8Array | undefined,
  { rows, slots, groups }: GroupedRows,
): PairTotals {
  const create = (): Float64Array => new Float64Array(groups.length)
  const [high, low, long, short, counts] = [create(), create(), create(), create(), create()]
  const isWhole = piece === Number.POSITIVE_INFINITY
  for (let i = 0; i < rows; i++) {
    if (known !== undefined && known[i] === 0) continue
    const slot = slots[i] as number
    const [a, b] = [longs[i] as number, shorts[i] as number]
    const pieces = isWhole ? 0 : Math.floor(a / piece)
    if (!isWhole) high[slot] = (high[slot] as number) + pieces * b
    low[slot] = (low[slot] as number) + (isWhole ? a : a - pieces * piece) * b
    long[slot] = (long[slot] as number) + a
    short[slot] = (short[slot] as number) + b
    counts[slot] = (counts[slot] as number) + 1
  }
  return { high, low, distances: { long, short }, counts, piece: isWhole ? 0 : piece }
}

/** Adds the sums of the products of values, from those of their distances. */
function addProducts(
  { high, low, distances, counts, piece }: PairTotals,
  long: NumberColumn,
  short: NumberColumn,
  { rows, groups, total }: GroupedRows,
  into: ExactSums,
): void {
  if (8 * greatestOf(long) * greatestOf(short) * rows <= MAX_SUM) {
    const sums = low.map(
      (rest, slot) =>
        ((high[slot] as number) * piece + rest) * long.unit * short.unit +
        (distances.long[slot] as number) * long.unit * short.least +
        (distances.short[slot] as number) * short.unit * long.least +
        (counts[slot] as number) * long.least * short.least,
    )
    into.add(sums, groups, total)
    return
  }
  const [longUnit, shortUnit] = [BigInt(long.unit), BigInt(short.unit)]
  const [longLeast, shortLeast] = [BigInt(long.least), BigInt(short.least)]
  for (let slot = 0; slot < groups.length; slot++)
    into.addExact(
      groups[slot] as number,
      (BigInt(high[slot] as number) * BigInt(piece) + BigInt(low[slot] as number)) * longUnit * shortUnit +
        BigInt(distances.long[slot] as number) * longUnit * shortLeast +
        BigInt(distances.short[slot] as number) * shortUnit * longLeast +
        BigInt(counts[slot] as number) * longLeast * shortLeast,
    )
}

function createPairSums(): PairSums {
  return { products: new ExactSums(), first: new ExactSums(), second: new ExactSums(), counts: new Growing() }
}
