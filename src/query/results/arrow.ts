/** The encoder of Arrow streams: record batches with exact types. It is loaded with the first such result. */
import {
  AsyncByteQueue,
  Binary,
  Bool,
  type Builder,
  Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float64,
  Int32,
  Int64,
  makeBuilder,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimeMicrosecond,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow'
import type { ResultColumn } from '../iql/bound-query.ts'
import { readDate, readTime, readTimestamp } from '../iql/time-values.ts'
import type { IqlType } from '../iql/types.ts'
import type { Cell, RowEncoder } from './encoding.ts'

export function createArrowEncoder(columns: readonly ResultColumn[]): RowEncoder {
  const fields = columns.map(({ name, type, nullable }) => new Field(name, arrowType(type), nullable))
  const schema = new Schema(fields)
  const bytes = new DrainableQueue()
  const writer = new RecordBatchStreamWriter({ autoDestroy: false })
  writer.reset(bytes, schema)
  const converters = columns.map(({ type }) => converterOf(type))
  const newBuilders = (): Builder[] =>
    columns.map(({ type }) => makeBuilder({ type: storageType(type), nullValues: [null] }))
  let builders = newBuilders()
  let rows = 0
  let pending = 0
  return {
    add(row) {
      for (let index = 0; index < builders.length; index++) {
        const cell = row[index] ?? null
        const value = cell === null ? null : converters[index]?.(cell)
        builders[index]?.append(value)
        pending += typeof cell === 'string' ? cell.length : 8
      }
      rows++
    },
    get pending() {
      return pending
    },
    take() {
      if (rows > 0) writer.write(batchOf(schema, fields, builders, rows))
      builders = newBuilders()
      rows = 0
      pending = 0
      return bytes.take()
    },
  }
}

function batchOf(schema: Schema, fields: readonly Field[], builders: readonly Builder[], rows: number): RecordBatch {
  const children = builders.map((builder, index) => retyped(builder.finish().flush(), fields[index]?.type))
  return new RecordBatch(schema, makeData({ type: new Struct([...fields]), length: rows, nullCount: 0, children }))
}

/** The same buffers with the type of the field. */
function retyped(data: Data, type: DataType | undefined): Data {
  return type === undefined || data.type.typeId === type.typeId
    ? data
    : new Data(type, data.offset, data.length, data.nullCount, data.buffers)
}

/** The library's time builders take milliseconds as doubles. Integers of the same width keep the microseconds. */
function storageType(type: IqlType): DataType {
  if (type.kind === 'Timestamp' || type.kind === 'Time') return new Int64()
  return type.kind === 'Date' ? new Int32() : arrowType(type)
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

function converterOf(type: IqlType): (cell: NonNullable<Cell>) => unknown {
  switch (type.kind) {
    case 'Integer':
      return (cell) => BigInt(String(cell))
    case 'Decimal':
      return (cell) => decimalWords(BigInt(String(cell).replace('.', '')))
    case 'Timestamp':
      return (cell) => readTimestamp(String(cell)) ?? null
    case 'Date':
      return (cell) => Number(readDate(String(cell)) ?? 0n)
    case 'Time':
      return (cell) => readTime(String(cell)) ?? null
    default:
      return (cell) => cell
  }
}

/** 128 bits of two's complement, low word first. */
function decimalWords(unscaled: bigint): Uint32Array {
  const bits = BigInt.asUintN(128, unscaled)
  return Uint32Array.from([0n, 32n, 64n, 96n], (shift) => Number((bits >> shift) & 0xffff_ffffn))
}
