/** Conditions on the columns of a segment: which rows count. */
import type { Chosen } from './decode.ts'
import type { ColumnFilter, Comparison, ExpressionIndex } from './plan.ts'
import type { DoubleColumn, NumberColumn, RawValue, StoredColumn } from './segment.ts'
import type { Decoded, DecodedNumbers, DecodedTexts } from './segment-columns.ts'

/** Computes an expression of the statement by the engine's own functions; `value` is that of its column. */
export type Evaluate = (expression: ExpressionIndex, value?: RawValue) => RawValue

/** A condition whose values are known. */
export class Filter {
  readonly #filter: ColumnFilter
  readonly #evaluate: Evaluate
  /** Of a comparison. */
  readonly #values: readonly RawValue[]
  /** The texts for which the condition is true. */
  readonly #texts = new Map<string | null, boolean>()

  constructor(filter: ColumnFilter, evaluate: Evaluate) {
    this.#filter = filter
    this.#evaluate = evaluate
    this.#values = filter.kind === 'compare' ? filter.values.map((value) => evaluate(value)) : []
  }

  get column(): number {
    return this.#filter.column
  }

  /** Whether all rows of a segment fit, or none does, from what its header says; undefined if it does not say. */
  decide(column: StoredColumn, rows: number): boolean | undefined {
    const filter = this.#filter
    if (filter.kind === 'null') {
      if (column.nulls === 0) return !filter.isNull
      return column.nulls === rows ? filter.isNull : undefined
    }
    if (filter.kind === 'text' || column.kind === 'texts') return undefined
    const { ranges, listed, hasNulls } = this.#accepted(filter, column)
    if (column.nulls === rows) return hasNulls
    const [least, greatest] = columnEnds(column)
    if (!ranges.some(([from, to]) => from <= greatest && to >= least))
      return hasNulls && column.nulls > 0 ? undefined : false
    const fitsAll = listed === undefined && ranges.some(([from, to]) => from <= least && to >= greatest)
    return fitsAll && (hasNulls || column.nulls === 0) ? true : undefined
  }

  /** The range of distances that fit, both ends included, if the rows with them follow each other; where the header does not decide. */
  rangeIn(column: StoredColumn): Range | undefined {
    const filter = this.#filter
    if (filter.kind !== 'compare' || column.kind !== 'numbers' || !column.isSorted || column.nulls > 0) return undefined
    const { ranges, listed } = this.#accepted(filter, column)
    return ranges.length === 1 && listed === undefined ? ranges[0] : undefined
  }

  /** Whether segments with such a column can be filtered. */
  canFilter(column: StoredColumn): boolean {
    const { kind } = this.#filter
    if (kind === 'null') return true
    if (kind === 'text' || column.kind === 'texts') return kind === 'text' && column.kind === 'texts'
    const isOfDoubles = column.kind === 'doubles' || column.isDouble
    return this.#values.every(
      (value) => value === null || typeof value === 'number' || (typeof value === 'bigint' && !isOfDoubles),
    )
  }

  /** Sets 0 for each row that does not fit. */
  apply(decoded: Decoded, count: number, fits: Uint8Array): void {
    const filter = this.#filter
    if (filter.kind === 'null') applyNull(decoded, filter.isNull, count, fits)
    else if (filter.kind === 'text') this.#applyTexts(decoded, filter.test, count, fits)
    else if (decoded.kind === 'numbers')
      applyAccepted(decoded.values, this.#accepted(filter, decoded.column), count, fits)
  }

  #applyTexts(decoded: Decoded, test: ExpressionIndex, count: number, fits: Uint8Array): void {
    if (decoded.kind !== 'texts') return
    const { codes, texts } = decoded
    const accepted = Uint8Array.from([...texts, null], (text) => (this.#accepts(text, test) ? 1 : 0))
    for (let i = 0; i < count; i++) fits[i] = (fits[i] as number) & (accepted[codes[i] as number] as number)
  }

  #accepts(text: string | null, test: ExpressionIndex): boolean {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const isAccepted = this.#evaluate(test, text) === 1n
    if (this.#texts.size >= MAX_KNOWN_TEXTS) this.#texts.clear()
    this.#texts.set(text, isAccepted)
    return isAccepted
  }

  #accepted({ operator, shift }: Compare, column: NumberColumn | DoubleColumn): Accepted {
    const values = this.#values.flatMap((value) =>
      typeof value === 'bigint' || typeof value === 'number' ? value : [],
    )
    const hasNull = values.length < this.#values.length
    const places = values.map((value) => findPlace(value, shift, column))
    const [place] = places
    switch (operator) {
      case 'in':
        return acceptListed(places)
      case 'not in':
        return hasNull ? NONE : { ranges: [ALL], listed: listDistances(places), isListed: false, hasNulls: false }
      case 'is distinct from':
        return { ...accept(place === undefined ? [ALL] : fittingRanges('<>', place)), hasNulls: !hasNull }
      case 'is not distinct from':
        return { ...accept(place === undefined ? [] : fittingRanges('=', place)), hasNulls: hasNull }
      default:
        return place === undefined ? NONE : accept(fittingRanges(operator, place))
    }
  }
}

/** What is known of texts is kept between segments, for at most this number of texts. */
const MAX_KNOWN_TEXTS = 2 ** 18

type Compare = Extract<ColumnFilter, { kind: 'compare' }>

/** Both ends are included. */
export type Range = readonly [from: number, to: number]

const ALL: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]

/** The values of a decoded column that fit: those in at most two ranges, of them those that are listed, or are not. */
interface Accepted {
  readonly ranges: readonly Range[]
  readonly listed: ReadonlySet<number> | undefined
  readonly isListed: boolean
  /** Whether NULL fits. */
  readonly hasNulls: boolean
}

function accept(ranges: readonly Range[]): Accepted {
  return { ranges, listed: undefined, isListed: false, hasNulls: false }
}

const NONE = accept([])

function acceptListed(places: readonly Place[]): Accepted {
  const listed = listDistances(places)
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of listed) [least, greatest] = [Math.min(least, value), Math.max(greatest, value)]
  return { ranges: [[least, greatest]], listed, isListed: true, hasNulls: false }
}

function listDistances(places: readonly Place[]): ReadonlySet<number> {
  return new Set(places.flatMap(({ at }) => at ?? []))
}

/** The least and the greatest value of a decoded column. */
function columnEnds(column: NumberColumn | DoubleColumn): Range {
  if (column.kind === 'doubles') return [column.least ?? ALL[0], column.greatest ?? ALL[1]]
  return [0, (column.greatest - column.least) / column.unit]
}

/** Where a value is among those that a decoded column can have: the greatest less than it, the one equal to it, the least greater one. */
interface Place {
  readonly before: number
  readonly at: number | undefined
  readonly after: number
}

function findPlace(value: bigint | number, shift: number, column: NumberColumn | DoubleColumn): Place {
  if (column.kind === 'doubles')
    return { before: nextDouble(Number(value), -1), at: Number(value), after: nextDouble(Number(value), 1) }
  return typeof value === 'bigint' ? placeOfInteger(value, shift, column) : placeOfDouble(value, column)
}

const BEYOND: Place = { before: Number.POSITIVE_INFINITY, at: undefined, after: Number.POSITIVE_INFINITY }
const BEFORE: Place = { before: -1, at: undefined, after: 0 }

function placeOfInteger(value: bigint, shift: number, { least, greatest, unit }: NumberColumn): Place {
  const power = 10n ** BigInt(shift)
  if (value < BigInt(least) * power) return BEFORE
  if (value > BigInt(greatest) * power) return BEYOND
  const factor = power * BigInt(unit)
  const distance = value - BigInt(least) * power
  return placeAfter(Number(distance / factor), distance % factor === 0n)
}

/** Doubles are compared as such: those of the column are their distances divided by a power of ten, rounded once. */
function placeOfDouble(value: number, { least, greatest, unit, scale }: NumberColumn): Place {
  const double = (distance: number): number => (least + distance * unit) / 10 ** scale
  const last = (greatest - least) / unit
  if (value < double(0)) return BEFORE
  if (value > double(last)) return BEYOND
  let [low, high] = [0, last]
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2)
    if (double(middle) <= value) low = middle
    else high = middle - 1
  }
  return placeAfter(low, double(low) === value)
}

/** `below` is the greatest distance that is not above the value. */
function placeAfter(below: number, isEqual: boolean): Place {
  return isEqual
    ? { before: below - 1, at: below, after: below + 1 }
    : { before: below, at: undefined, after: below + 1 }
}

/** The next Double in a direction; NaN beyond the infinities. */
function nextDouble(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE
  if (value === direction * Number.POSITIVE_INFINITY) return Number.NaN
  BITS.setFloat64(0, value)
  BITS.setBigInt64(0, BITS.getBigInt64(0) + (value > 0 === direction > 0 ? 1n : -1n))
  return BITS.getFloat64(0)
}

const BITS = new DataView(new ArrayBuffer(8))

function fittingRanges(operator: Comparison, { before, at, after }: Place): Range[] {
  const [least, greatest] = ALL
  switch (operator) {
    case '=':
      return at === undefined ? [] : [[at, at]]
    case '<>':
      return [
        [least, before],
        [after, greatest],
      ]
    case '<':
      return [[least, before]]
    case '<=':
      return [[least, at ?? before]]
    case '>':
      return [[after, greatest]]
    case '>=':
      return [[at ?? after, greatest]]
  }
}

/** NaN, which is NULL, is in no range. */
function applyAccepted(
  values: Float64Array,
  { ranges, listed, isListed, hasNulls }: Accepted,
  count: number,
  fits: Uint8Array,
): void {
  const [[a, b] = [1, 0], [c, d] = [1, 0]] = ranges
  for (let i = 0; i < count; i++) {
    const value = values[i] as number
    const isIn = (value >= a && value <= b) || (value >= c && value <= d) || (hasNulls && Number.isNaN(value))
    if (!isIn) fits[i] = 0
  }
  if (listed === undefined) return
  for (let i = 0; i < count; i++) if (fits[i] === 1 && listed.has(values[i] as number) !== isListed) fits[i] = 0
}

function applyNull(decoded: DecodedNumbers | DecodedTexts, isNull: boolean, count: number, fits: Uint8Array): void {
  if (decoded.kind === 'texts') {
    const none = decoded.texts.length
    for (let i = 0; i < count; i++) if ((decoded.codes[i] === none) !== isNull) fits[i] = 0
  } else {
    for (let i = 0; i < count; i++) if (Number.isNaN(decoded.values[i]) !== isNull) fits[i] = 0
  }
}

/** The rows that fit, of those that were chosen before. */
export function choose(fits: Uint8Array, count: number, chosen: Chosen | undefined, into: Int32Array): Chosen {
  let kept = 0
  if (chosen === undefined) {
    for (let i = 0; i < count; i++) if (fits[i] === 1) into[kept++] = i
  } else {
    for (let i = 0; i < count; i++) if (fits[i] === 1) into[kept++] = chosen.rows[i] as number
  }
  return { rows: into, count: kept }
}
