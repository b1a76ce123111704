/** The encoder of Arrow streams: record batches with exact types. It is loaded with the first such result. */
import {
  AsyncByteQueue,
  Binary,
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimeMicrosecond,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow'
import type { IqlType, ResultColumn } from 'gatehouse-iql'
import type { RowEncoder } from '../model/result.ts'
import { arrowColumn } from './arrow-columns.ts'

export function createArrowEncoder(columns: readonly ResultColumn[]): RowEncoder {
  const fields = columns.map(({ name, type, nullable }) => new Field(name, arrowType(type), nullable))
  const schema = new Schema(fields)
  const struct = new Struct(fields)
  const bytes = new DrainableQueue()
  const writer = new RecordBatchStreamWriter({ autoDestroy: false })
  writer.reset(bytes, schema)
  const builders = columns.map(({ type }) => arrowColumn(type, arrowType(type)))
  let rows = 0
  let pending = 0
  return {
    add(row) {
      for (let index = 0; index < builders.length; index++) {
        const cell = row[index] ?? null
        builders[index]?.add(cell)
        pending += typeof cell === 'string' ? cell.length : 8
      }
      rows++
    },
    get pending() {
      return pending
    },
    take() {
      if (rows > 0) {
        const children = builders.map((builder) => builder.take())
        writer.write(new RecordBatch(schema, makeData({ type: struct, length: rows, nullCount: 0, children })))
      }
      rows = 0
      pending = 0
      return bytes.take()
    },
  }
}

/** Collects what the writer writes. The library's own queue cannot be drained synchronously. */
class DrainableQueue extends AsyncByteQueue {
  #written: Uint8Array[] = []

  override write(bytes: Uint8Array): void {
    this.#written.push(bytes)
  }

  take(): Uint8Array {
    const taken = Buffer.concat(this.#written)
    this.#written = []
    return taken
  }
}

function arrowType(type: IqlType): DataType {
  switch (type.kind) {
    case 'Integer':
      return new Int64()
    case 'Decimal':
      return new Decimal(type.scale, type.precision, 128)
    case 'Double':
      return new Float64()
    case 'Boolean':
      return new Bool()
    case 'Timestamp':
      return new TimestampMicrosecond('UTC')
    case 'Date':
      return new DateDay()
    case 'Time':
      return new TimeMicrosecond()
    case 'Binary':
      return new Binary()
    default:
      return new Utf8()
  }
}
