/** Conditions on the columns of a segment: which rows count. */
import type { Chosen } from './decode.ts'
import type { ColumnFilter, Comparison, ExpressionIndex } from './plan.ts'
import type { NumberColumn, RawValue } from './segment.ts'
import type { Decoded, DecodedNumbers, DecodedTexts } from './segment-columns.ts'

/** Computes an expression of the statement by the engine's own functions; `text` is the value of its column. */
export type Evaluate = (expression: ExpressionIndex, text?: string) => RawValue

/** A condition whose values are known. */
export class Filter {
  readonly #filter: ColumnFilter
  readonly #evaluate: Evaluate
  /** Of a comparison. */
  readonly #value: RawValue
  /** The texts for which the condition is true. */
  readonly #texts = new Map<string | null, boolean>()

  constructor(filter: ColumnFilter, evaluate: Evaluate) {
    this.#filter = filter
    this.#evaluate = evaluate
    this.#value = filter.kind === 'compare' ? evaluate(filter.value) : null
  }

  get column(): number {
    return this.#filter.column
  }

  /** Whether all rows of a segment fit, or none does, from what its header says; undefined if it does not say. */
  decide(column: Decoded['column'], rows: number): boolean | undefined {
    const filter = this.#filter
    if (filter.kind === 'null') {
      if (column.nulls === 0) return !filter.isNull
      return column.nulls === rows ? filter.isNull : undefined
    }
    if (column.nulls === rows && filter.kind === 'compare') return false
    if (filter.kind === 'compare' && column.kind === 'numbers') {
      const range = this.#range(filter, column)
      if (range === undefined || range.length === 0) return false
      const isAll = range.some(([from, to]) => from <= 0 && to >= (column.greatest - column.least) / column.unit)
      return isAll && column.nulls === 0 ? true : undefined
    }
    return undefined
  }

  /** Whether segments with such a column can be filtered. */
  canFilter({ column }: Pick<Decoded, 'column'>): boolean {
    const { kind } = this.#filter
    if (kind === 'null') return true
    return kind === 'text' ? column.kind === 'texts' : column.kind === 'numbers' && typeof this.#value !== 'string'
  }

  /** Sets 0 for each row that does not fit. */
  apply(decoded: Decoded, count: number, fits: Uint8Array): void {
    const filter = this.#filter
    if (filter.kind === 'null') applyNull(decoded, filter.isNull, count, fits)
    else if (filter.kind === 'text') this.#applyTexts(decoded, filter.test, count, fits)
    else if (decoded.kind === 'numbers' && decoded.column.kind === 'numbers')
      applyRanges(decoded.values, this.#range(filter, decoded.column) ?? [], count, fits)
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
    const isAccepted = this.#evaluate(test, text ?? undefined) === 1n
    this.#texts.set(text, isAccepted)
    return isAccepted
  }

  /** The distances that fit: ranges whose ends are included. Undefined if the value is NULL. */
  #range({ operator, shift }: Extract<ColumnFilter, { kind: 'compare' }>, column: NumberColumn): Range[] | undefined {
    if (this.#value === null || typeof this.#value === 'string' || this.#value instanceof Uint8Array) return undefined
    const at =
      typeof this.#value === 'bigint' ? placeOfInteger(this.#value, shift, column) : placeOfDouble(this.#value, column)
    return rangesOf(operator, at)
  }
}

type Range = readonly [from: number, to: number]

/** A value among the distances of a column: the greatest one that is not above it, and whether it is equal. */
interface Place {
  readonly below: number
  readonly isEqual: boolean
}

function placeOfInteger(value: bigint, shift: number, { least, unit, scale }: NumberColumn): Place {
  const factor = 10n ** BigInt(shift) * BigInt(unit)
  const distance = value * 10n ** BigInt(scale) - BigInt(least) * 10n ** BigInt(shift)
  const below = distance >= 0n ? distance / factor : -((-distance + factor - 1n) / factor)
  return { below: Number(below), isEqual: below * factor === distance }
}

/** Doubles are compared as such: those of the column are their distances divided by a power of ten, rounded once. */
function placeOfDouble(value: number, { least, greatest, unit, scale }: NumberColumn): Place {
  const double = (distance: number): number => (least + distance * unit) / 10 ** scale
  const last = (greatest - least) / unit
  if (value < double(0)) return { below: -1, isEqual: false }
  let [low, high] = [0, last]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (double(middle) <= value) low = middle
    else high = middle - 1
  }
  return { below: low, isEqual: double(low) === value }
}

function rangesOf(operator: Comparison, { below, isEqual }: Place): Range[] {
  const [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const before: Range = [least, isEqual ? below - 1 : below]
  switch (operator) {
    case '=':
      return isEqual ? [[below, below]] : []
    case '<>':
      return isEqual ? [before, [below + 1, most]] : [[least, most]]
    case '<':
      return [before]
    case '<=':
      return [[least, below]]
    case '>':
      return [[below + 1, most]]
    case '>=':
      return [[isEqual ? below : below + 1, most]]
  }
}

/** NaN, which is NULL, is in no range. */
function applyRanges(values: Float64Array, ranges: readonly Range[], count: number, fits: Uint8Array): void {
  const [first = [1, 0], second = [1, 0]] = ranges
  const [a, b] = first
  const [c, d] = second
  for (let i = 0; i < count; i++) {
    const value = values[i] as number
    if (!((value >= a && value <= b) || (value >= c && value <= d))) fits[i] = 0
  }
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
