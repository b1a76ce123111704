/** Values of groups that compare as those of a column do. */
import type { RawValue } from '../segment.ts'
import type { Decoded } from '../segment-columns.ts'
import { Growing } from './state.ts'

/** Values that compare as those of a column do: numbers, or texts in the order of their bytes. */
export type Ordered = number | string

export function compareOrdered(one: Ordered, other: Ordered): number {
  if (typeof one === 'number' || typeof other === 'number') return compareRanks(Number(one), Number(other))
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** A difference would be NaN for infinities. */
export function compareRanks(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** A number of a column, or the place of a text: both in the order of the values. */
export function ranksOf(decoded: Decoded): Float64Array | Int32Array {
  return decoded.kind === 'texts' ? decoded.codes : decoded.values
}

/** The value with this rank in a segment. */
export function valueAt(decoded: Decoded, rank: number): Ordered {
  if (decoded.kind === 'texts') return decoded.texts[rank] ?? ''
  const { column } = decoded
  if (column.kind === 'doubles') return rank
  const number = column.least + rank * column.unit
  return column.scale === 0 ? number : number / 10 ** column.scale
}

/** A value of each group, or none: numbers of a column, or its texts. */
export class GroupValues {
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
export function toRaw(value: Ordered | undefined, isInteger: boolean): RawValue {
  return value === undefined ? null : typeof value === 'number' && isInteger ? BigInt(value) : value
}

export function isIntegers({ column }: Decoded): boolean {
  return column.kind === 'numbers' && !column.isDouble
}
