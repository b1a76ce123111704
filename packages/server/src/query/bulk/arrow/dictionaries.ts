/** The dictionaries of an Arrow stream: values that record batches refer to by their numbers. They stay in memory. */
import { badBody } from '../../batches/row-error.ts'
import type { KeptBody } from '../reader.ts'
import type { BodyMemory } from '../reader-memory.ts'
import { rowsPerTurn, type Sizes } from '../row-sizes.ts'
import { type ArrowArray, type BatchColumn, isValid, readBatch } from './arrays.ts'
import { integerAt } from './columns.ts'
import type { ArrowField } from './fields.ts'
import type { ArrowMessage } from './messages.ts'

interface Held {
  /** The entries, some in each array. */
  readonly parts: readonly ArrowArray[]
  readonly partRows: number
  readonly count: number
  readonly bytes: number
}

export class Dictionaries {
  readonly #fields: ReadonlyMap<number, ArrowField>
  readonly #memory: BodyMemory
  readonly #held = new Map<number, Held>()

  constructor(fields: readonly ArrowField[], memory: BodyMemory) {
    this.#fields = new Map(
      fields.flatMap((field) => (field.dictionary === undefined ? [] : [[field.dictionary.id, field]])),
    )
    this.#memory = memory
  }

  /** Replaces the one that the stream had with the same number. */
  async add(body: KeptBody, message: ArrowMessage): Promise<void> {
    const { header } = message
    const id = header.long(0)
    const field = this.#fields.get(id)
    const data = header.table(1)
    if (field === undefined || data === undefined) throw badBody('The Arrow stream is damaged: an unknown dictionary')
    if (field.type.kind !== 'utf8' && field.type.kind !== 'binary')
      throw badBody(
        `The column ${JSON.stringify(field.name)} has a dictionary of values that are not texts: write it without`,
      )
    if (header.byte(2) !== 0)
      throw badBody('The Arrow stream extends a dictionary: write whole dictionaries (in pyarrow that is the default)')
    this.#memory.give(this.#held.get(id)?.bytes ?? 0)
    this.#held.delete(id)
    const { rows, columns } = readBatch(body, message, data, [field])
    const [column] = columns
    if (column === undefined) throw new Error('A dictionary without a column')
    this.#held.set(id, await this.#read(column, rows))
  }

  async #read(column: BatchColumn, rows: number): Promise<Held> {
    const partRows = rowsPerTurn(1)
    const parts: ArrowArray[] = []
    let bytes = 0
    for (let from = 0; from < rows; from += partRows) {
      const to = Math.min(rows, from + partRows)
      await column.load(from, to)
      const size = new Total()
      column.measure(size)
      const taken = size.bytes + ENTRY_BYTES * (to - from)
      this.#memory.take(taken, (most) =>
        badBody(`The dictionaries have more than ${most} bytes: write the columns without dictionaries`),
      )
      bytes += taken
      parts.push(await column.take(0, to - from))
    }
    return { parts, partRows, count: rows, bytes }
  }

  /** The column of numbers as one of values. */
  column(id: number, numbers: BatchColumn): BatchColumn {
    const held = this.#held.get(id)
    if (held === undefined) throw badBody('The Arrow stream lacks a dictionary')
    return new DictionaryColumn(held, numbers)
  }
}

/** An offset, and a bit of validity. */
const ENTRY_BYTES = 5

/** All sizes together. */
class Total implements Sizes {
  bytes = 0

  add(_row: number, bytes: number): void {
    this.bytes += bytes
  }

  addToEach(): void {}
}

class DictionaryColumn implements BatchColumn {
  readonly #held: Held
  readonly #numbers: BatchColumn
  /** The entries of the loaded rows; -1 for NULL. */
  #entries = new Int32Array(0)

  constructor(held: Held, numbers: BatchColumn) {
    this.#held = held
    this.#numbers = numbers
  }

  get type(): ArrowArray['type'] {
    return this.#held.parts[0]?.type ?? { kind: 'utf8', width: 4 }
  }

  async load(from: number, to: number): Promise<void> {
    await this.#numbers.load(from, to)
    const numbers = await this.#numbers.take(0, to - from)
    const { type } = numbers
    if (type.kind !== 'int') throw new Error('A dictionary without numbers')
    this.#entries = new Int32Array(to - from)
    for (let index = 0; index < to - from; index++) {
      const entry = isValid(numbers, index) ? Number(integerAt(numbers.data, index, type)) : -1
      if (entry >= this.#held.count || (entry < 0 && isValid(numbers, index)))
        throw badBody('The Arrow stream refers to an entry that its dictionary does not have')
      this.#entries[index] = entry
    }
  }

  measure(sizes: Sizes): void {
    sizes.addToEach(1)
    for (const [row, entry] of this.#entries.entries()) {
      const place = this.#findPlace(entry)
      if (place !== undefined) sizes.add(row, place.end - place.start)
    }
  }

  /** Undefined for NULL. */
  #findPlace(entry: number): { readonly data: Buffer; readonly start: number; readonly end: number } | undefined {
    if (entry < 0) return undefined
    const part = this.#held.parts[Math.floor(entry / this.#held.partRows)]
    const index = entry % this.#held.partRows
    if (part === undefined || !isValid(part, index)) return undefined
    return { data: part.data, start: part.offsets[index] ?? 0, end: part.offsets[index + 1] ?? 0 }
  }

  async take(from: number, to: number): Promise<ArrowArray> {
    const length = to - from
    const validity = Buffer.alloc(Math.ceil(length / 8), 0xff)
    const offsets = new Int32Array(length + 1)
    const parts: Buffer[] = []
    let end = 0
    for (let index = 0; index < length; index++) {
      const place = this.#findPlace(this.#entries[from + index] ?? -1)
      if (place === undefined) validity[index >> 3] = (validity[index >> 3] ?? 0) & ~(1 << (index & 7))
      else {
        parts.push(place.data.subarray(place.start, place.end))
        end += place.end - place.start
      }
      offsets[index + 1] = end
    }
    return { type: this.type, length, validity, bit: 0, offsets, data: Buffer.concat(parts, end) }
  }
}
