/** Reads an Arrow stream or file by columns: schema, dictionaries, record batches. Memory holds the values of one batch at a time. */
import { badBody } from '../../batches/row-error.ts'
import type { BodyStore, BulkReader, ByteSource, KeptBody, ReadBatch } from '../reader.ts'
import { RowSizes, rowsPerTurn } from '../row-sizes.ts'
import type { Zone } from '../zone.ts'
import { readBatch } from './arrays.ts'
import { type ToVector, toVector } from './columns.ts'
import { Dictionaries } from './dictionaries.ts'
import { type ArrowField, readFields } from './fields.ts'
import { type ArrowMessage, MESSAGE, readMessages } from './messages.ts'

export async function openArrow(source: ByteSource, { keep, memory }: BodyStore, zone?: Zone): Promise<BulkReader> {
  const body = await keep(source)
  const { schema, messages } = await readMessages(body)
  const fields = readFields(schema)
  const dictionaries = new Dictionaries(fields, memory)
  return {
    names: fields.map(({ name }) => name),
    async *read(columns) {
      const converters = fields.map(({ type }, index): ToVector => {
        const column = columns[index]
        if (column === undefined) throw new Error('A field without a column')
        return toVector(type, column, zone)
      })
      let row = 1
      for await (const message of messages) {
        if (message.kind === MESSAGE.dictionary) await dictionaries.add(body, message)
        else
          for await (const batch of readRows(body, message, fields, dictionaries, converters, row)) {
            yield batch
            row += batch.rows
          }
      }
    },
  }
}

/** `first`: the number of the first row. */
async function* readRows(
  body: KeptBody,
  message: ArrowMessage,
  fields: readonly ArrowField[],
  dictionaries: Dictionaries,
  converters: readonly ToVector[],
  first: number,
): AsyncGenerator<ReadBatch, void, void> {
  if (message.kind !== MESSAGE.batch) throw badBody('The Arrow stream has a message that is not supported')
  // A dictionary is looked up by the numbers of its entries.
  const stored = fields.map(({ type, dictionary }) => ({ type: dictionary?.index ?? type }))
  const batch = readBatch(body, message, message.header, stored)
  const columns = batch.columns.map((column, index) => {
    const id = fields[index]?.dictionary?.id
    return id === undefined ? column : dictionaries.column(id, column)
  })
  const step = rowsPerTurn(fields.length)
  const sizes = new RowSizes()
  for (let start = 0; start < batch.rows; start += step) {
    const rows = Math.min(step, batch.rows - start)
    sizes.begin(rows)
    for (const column of columns) {
      await column.load(start, start + rows)
      column.measure(sizes)
    }
    for (let from = 0; from < rows; ) {
      const { to } = sizes.cut(from, first + start)
      const vectors = []
      for (const [index, convert] of converters.entries()) {
        const array = await columns[index]?.take(from, to)
        if (array === undefined) throw new Error('A field without an array')
        vectors.push(convert(array, first + start + from))
      }
      yield { rows: to - from, columns: vectors }
      from = to
    }
  }
}
