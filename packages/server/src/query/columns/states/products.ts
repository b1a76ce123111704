/** Sums of the products of two columns, or of the squares of one. */
import type { NumberColumn, RawValue } from '../segment.ts'
import type { SegmentColumns } from '../segment-columns.ts'
import { addBySlot, type GroupedRows, Growing, knownRows, type State } from './state.ts'
import { addValues, ExactSums, greatestOf, isSummable, MAX_SUM, rangeOf } from './sums.ts'

/** What rows with both values have: the sum of their products, and the sums of each. */
interface PairSums {
  readonly products: ExactSums
  readonly first: ExactSums
  readonly second: ExactSums
  readonly counts: Growing
}

/** Sums of the products of two columns, or of the squares of one: see `write`. */
export class Products implements State {
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
