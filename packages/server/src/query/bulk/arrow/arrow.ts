/** Reads an Arrow stream by columns: schema, dictionaries, record batches. */
import { setImmediate as immediate } from 'node:timers/promises'
import { badBody, type NamedColumn } from '../../columns/row-error.ts'
import { release } from '../../model/result.ts'
import { BATCH_BYTES, BATCH_ROWS, type BulkReader, type ByteSource, type ReadBatch } from '../reader.ts'
import type { Zone } from '../zone.ts'
import { type ArrowArray, isValid, readBatch } from './arrays.ts'
import { integerAt, type ToVector, toVector } from './columns.ts'
import { type ArrowField, readFields } from './fields.ts'
import { type ArrowMessage, MESSAGE, readMessages } from './messages.ts'

/** The entries of all dictionaries stay in memory. */
const MAX_DICTIONARY_BYTES = 64 * 1024 * 1024

export async function openArrow(source: ByteSource, zone?: Zone): Promise<BulkReader> {
  const messages = readMessages(source)
  const first = await messages.next()
  if (first.done || first.value.kind !== MESSAGE.schema)
    throw badBody('The body is not an Arrow stream: it does not begin with a schema')
  const fields = readFields(first.value.header)
  const read = (columns: readonly NamedColumn[]) => readRows(messages, fields, columns, zone)
  return { names: fields.map(({ name }) => name), read }
}

async function* readRows(
  messages: AsyncIterable<ArrowMessage>,
  fields: readonly ArrowField[],
  columns: readonly NamedColumn[],
  zone: Zone | undefined,
): AsyncGenerator<ReadBatch, void, void> {
  const converters = fields.map(({ type }, index): ToVector => {
    const column = columns[index]
    if (column === undefined) throw new Error('A field without a column')
    return toVector(type, column, zone)
  })
  const dictionaries = new Dictionaries(fields)
  // A dictionary is looked up by the numbers of its entries.
  const stored = fields.map(({ type, dictionary }) => ({ type: dictionary?.index ?? type }))
  let row = 1
  for await (const { kind, header, body } of messages) {
    if (kind === MESSAGE.dictionary) dictionaries.add(header.long(0), header, body)
    if (kind === MESSAGE.dictionary) continue
    if (kind !== MESSAGE.batch) throw badBody('The Arrow stream has a message that is not supported')
    const { rows, arrays } = readBatch(header, body, stored)
    const step = Math.min(BATCH_ROWS, Math.max(1, Math.floor((rows * BATCH_BYTES) / Math.max(1, body.length))))
    for (let from = 0; from < rows; from += step) {
      const to = Math.min(rows, from + step)
      const vectors = converters.map((convert, index) => {
        const array = arrays[index]
        if (array === undefined) throw new Error('A field without an array')
        const id = fields[index]?.dictionary?.id
        if (id === undefined) return convert(array, from, to, row)
        const values = dictionaries.lookUp(id, array, from, to)
        return convert(values, 0, values.length, row)
      })
      yield { rows: to - from, columns: vectors }
      row += to - from
      await immediate()
    }
    release(body)
  }
}

/** Values that record batches refer to by their numbers. */
class Dictionaries {
  readonly #fields: ReadonlyMap<number, ArrowField>
  readonly #arrays = new Map<number, ArrowArray>()
  #bytes = 0

  constructor(fields: readonly ArrowField[]) {
    this.#fields = new Map(
      fields.flatMap((field) => (field.dictionary === undefined ? [] : [[field.dictionary.id, field]])),
    )
  }

  add(id: number, header: ArrowMessage['header'], body: Buffer): void {
    const field = this.#fields.get(id)
    const data = header.table(1)
    if (field === undefined || data === undefined) throw badBody('The Arrow stream is damaged: an unknown dictionary')
    if (field.type.kind !== 'utf8' && field.type.kind !== 'binary')
      throw badBody(
        `The column ${JSON.stringify(field.name)} has a dictionary of values that are not texts: write it without`,
      )
    if (header.byte(2) !== 0)
      throw badBody('The Arrow stream extends a dictionary: write whole dictionaries (in pyarrow that is the default)')
    this.#bytes += body.length - (this.#arrays.get(id)?.data.length ?? 0)
    if (this.#bytes > MAX_DICTIONARY_BYTES)
      throw badBody(`The dictionaries have more than ${MAX_DICTIONARY_BYTES} bytes: write the columns without`)
    const [array] = readBatch(data, body, [field]).arrays
    if (array !== undefined) this.#arrays.set(id, array)
  }

  /** The values as an array of their own. A slice of it may not be much longer than a batch. */
  lookUp(id: number, numbers: ArrowArray, from: number, to: number): ArrowArray {
    const entries = this.#arrays.get(id)
    if (entries === undefined || numbers.type.kind !== 'int') throw badBody('The Arrow stream lacks a dictionary')
    const length = to - from
    const validity = Buffer.alloc(Math.ceil(length / 8), 0xff)
    const offsets = new Int32Array(length + 1)
    const parts: Buffer[] = []
    let end = 0
    for (let index = 0; index < length; index++) {
      const entry = isValid(numbers, from + index) ? Number(integerAt(numbers.data, from + index, numbers.type)) : -1
      if (entry >= entries.length || (entry < 0 && isValid(numbers, from + index)))
        throw badBody('The Arrow stream refers to an entry that its dictionary does not have')
      if (entry < 0 || !isValid(entries, entry))
        validity[index >> 3] = (validity[index >> 3] ?? 0) & ~(1 << (index & 7))
      else {
        const part = entries.data.subarray(Number(entries.offsets[entry] ?? 0), Number(entries.offsets[entry + 1] ?? 0))
        parts.push(part)
        end += part.length
        if (end > MAX_SLICE_BYTES)
          throw badBody('The texts of a dictionary are too long to be repeated this often: write them without')
      }
      offsets[index + 1] = end
    }
    return { type: entries.type, length, validity, offsets, data: Buffer.concat(parts, end) }
  }
}

/** Of the texts of some thousand rows. */
const MAX_SLICE_BYTES = 64 * 1024 * 1024
