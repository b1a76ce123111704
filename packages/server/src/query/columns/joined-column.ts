/** A column of the right side of an ASOF JOIN: integers as they are, or texts. */
import type { RawValue, StoredColumn } from './segment.ts'
import type { Buffers, Decoded } from './segment-columns.ts'
import type { HeldBytes } from './states/state.ts'

/** Where it is in a file: it is in none. */
const NOWHERE = { offset: 0, bytes: 0, crc: 0 } as const

type Finished =
  /** NaN is NULL. */
  | { readonly kind: 'numbers'; readonly values: Float64Array; readonly least: number; readonly greatest: number }
  /** Places in the sorted texts; the one after the last is NULL. */
  | { readonly kind: 'texts'; readonly codes: Float64Array; readonly texts: readonly string[] }

export class JoinedColumn {
  readonly #held: HeldBytes
  #values = new Float64Array(0)
  #count = 0
  #nulls = 0
  readonly #texts = new Map<string, number>()
  #finished: Finished | undefined

  constructor(held: HeldBytes) {
    this.#held = held
  }

  static canAdd(column: StoredColumn | undefined): boolean {
    return column?.kind === 'texts' || (column?.kind === 'numbers' && !column.isDouble)
  }

  add(decoded: Decoded, count: number): void {
    this.#reserve(count)
    const [into, at] = [this.#values, this.#count]
    if (decoded.kind === 'texts') {
      const ids = [...decoded.texts.map((text) => this.#idOf(text)), Number.NaN]
      for (let i = 0; i < count; i++) into[at + i] = ids[decoded.codes[i] as number] as number
    } else if (decoded.column.kind === 'numbers') {
      const { least, unit } = decoded.column
      for (let i = 0; i < count; i++) into[at + i] = least + (decoded.values[i] as number) * unit
    }
    this.#count += count
    this.#nulls += decoded.column.nulls
  }

  addValue(value: RawValue): void {
    this.#reserve(1)
    if (value === null) {
      this.#nulls++
      this.#values[this.#count++] = Number.NaN
    } else if (typeof value === 'string') this.#values[this.#count++] = this.#idOf(value)
    else if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
      this.#values[this.#count++] = Number(value)
    else throw new Error('A value that is joined from rows only')
  }

  #idOf(text: string): number {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#held.add(64 + text.length)
    this.#texts.set(text, this.#texts.size)
    return this.#texts.size - 1
  }

  #reserve(count: number): void {
    if (this.#count + count <= this.#values.length) return
    const length = Math.max(1024, this.#values.length * 2, this.#count + count)
    // While they are copied, both are held; afterwards places of rows, too.
    this.#held.add((length - this.#values.length) * 16)
    const larger = new Float64Array(length)
    larger.set(this.#values)
    this.#values = larger
  }

  /** After the last value. */
  finish(): Finished {
    this.#finished ??= this.#texts.size > 0 ? this.#finishTexts() : this.#finishNumbers()
    return this.#finished
  }

  #finishNumbers(): Finished {
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let i = 0; i < this.#count; i++) {
      const value = this.#values[i] as number
      if (value < least) least = value
      if (value > greatest) greatest = value
    }
    if (greatest < least) [least, greatest] = [0, 0]
    if (greatest - least >= Number.MAX_SAFE_INTEGER) throw new Error('Values that are too far apart')
    return { kind: 'numbers', values: this.#values, least, greatest }
  }

  #finishTexts(): Finished {
    const texts = [...this.#texts.keys()]
    const bytes = new Map(texts.map((text) => [text, Buffer.from(text)]))
    const sorted = texts.toSorted((one, other) => Buffer.compare(bytes.get(one) as Buffer, bytes.get(other) as Buffer))
    const ranks = new Float64Array(texts.length)
    for (const [rank, text] of sorted.entries()) ranks[this.#texts.get(text) as number] = rank
    for (let i = 0; i < this.#count; i++) {
      const id = this.#values[i] as number
      this.#values[i] = Number.isNaN(id) ? sorted.length : (ranks[id] as number)
    }
    return { kind: 'texts', codes: this.#values, texts: sorted }
  }

  /** As if it were in the segment. With an outer join it has NULL for rows without a match. */
  stored(isOuter: boolean): StoredColumn {
    const finished = this.finish()
    const about = { ...NOWHERE, name: '', nulls: this.#nulls + (isOuter ? 1 : 0) }
    if (finished.kind === 'texts')
      return { ...about, kind: 'texts', width: 2, dictionary: NOWHERE, texts: finished.texts.length }
    const { least, greatest } = finished
    return { ...about, kind: 'numbers', width: 8, unit: 1, scale: 0, isDouble: false, least, greatest, isSorted: false }
  }

  decode(index: number, matches: Int32Array, buffers: Buffers, isOuter: boolean): Decoded {
    const finished = this.finish()
    const column = this.stored(isOuter)
    const count = matches.length
    if (finished.kind === 'texts' && column.kind === 'texts') {
      const codes = buffers.integers(index, count)
      const none = finished.texts.length
      for (let i = 0; i < count; i++) {
        const row = matches[i] as number
        codes[i] = row < 0 ? none : (finished.codes[row] as number)
      }
      return { kind: 'texts', column, codes, texts: finished.texts }
    }
    if (finished.kind !== 'numbers' || column.kind !== 'numbers') throw new Error('A column of two kinds')
    const values = buffers.floats(index, count)
    const { least } = finished
    for (let i = 0; i < count; i++) {
      const row = matches[i] as number
      values[i] = row < 0 ? Number.NaN : (finished.values[row] as number) - least
    }
    return { kind: 'numbers', column, values }
  }
}
