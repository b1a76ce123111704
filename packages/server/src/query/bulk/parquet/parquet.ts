/** Reads a Parquet file as the rows of a bulk insert: its columns become those of the table, exactly or not at all. */
import {
  type IqlType,
  type IqlValue,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_TIMESTAMP,
  typeName,
  writeDate,
  writeDecimal,
  writeTimestamp,
} from 'gatehouse-iql'
import { release } from '../../../lib/release.ts'
import { createBuilder, type Vector } from '../../batches/batch.ts'
import { atPlace, badBody, badValue, type NamedColumn } from '../../batches/row-error.ts'
import { refuse } from '../../errors.ts'
import { uuidText } from '../../types/uuid.ts'
import type { BodyStore, BulkReader, ByteSource, ReadBatch } from '../reader.ts'
import { addValue } from '../values.ts'
import { columnIn, type Zone } from '../zone.ts'
import { ParquetError, ValueError } from './error.ts'
import { openParquet, type ParquetFile } from './file.ts'

/** What is read is spooled, and the bytes of spool files are bounded. This bounds the time that NULLs can take, which need hardly any. */
const MAX_BYTES = 64 * 1024 * 1024 * 1024

export async function openParquetBody(
  source: ByteSource,
  { keep, ...scratch }: BodyStore,
  zone?: Zone,
): Promise<BulkReader> {
  const body = await keep(source)
  const file = await refusing(() => openParquet(body, { maxBytes: MAX_BYTES, ...scratch }))
  return {
    names: file.columns.map(({ name }) => name),
    read: (columns) => readBatches(file, columns, zone),
  }
}

/** Larger values are not left to the garbage collector, which may wait for more of them. */
const RELEASED_BYTES = 64 * 1024

async function* readBatches(
  file: ParquetFile,
  columns: readonly NamedColumn[],
  zone: Zone | undefined,
): AsyncGenerator<ReadBatch, void, void> {
  const fitters = file.columns.map(({ type }, index): Fit => {
    const column = columns[index]
    if (column === undefined) throw new Error('A column of the file without one of the table')
    return fitter(type, column, zone)
  })
  const batches = file.batches()
  for (;;) {
    const next = await refusing(() => batches.next())
    if (next.done) return
    const { rows, firstRow, columns: values } = next.value
    const vectors = fitters.map((fit, index) => fit(values[index] ?? [], firstRow + 1))
    yield { rows, columns: vectors }
    for (const vector of vectors)
      if (vector.kind === 'bytes' && vector.data.length >= RELEASED_BYTES) release(vector.data)
  }
}

async function refusing<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ValueError && error.row !== undefined)
      throw atPlace(refuse('Data.BadValue', error.message, { members: { Column: error.column } }), { row: error.row })
    throw error instanceof ParquetError ? badBody(error.message) : error
  }
}

/** `first` is the number of the row of the first value, for messages. */
type Fit = (values: readonly IqlValue[], first: number) => Vector

function fitter(type: IqlType, column: NamedColumn, zone: Zone | undefined): Fit {
  const same = sameValue(type, column, zone)
  if (same !== undefined) {
    const builder = createBuilder(column.type)
    return (values) => {
      for (const value of values) addValue(builder, value === null ? null : same(value), column.type)
      return builder.take()
    }
  }
  const toText = createTextWriter(type, column)
  const { builder, addText } = columnIn(zone)(column)
  return (values, first) => {
    for (const [index, value] of values.entries()) {
      if (value === null) {
        builder.addNull()
        continue
      }
      const text = toText(value)
      const problem = addText(text)
      if (problem !== undefined) throw badValue({ row: first + index }, column, text, problem)
    }
    return builder.take()
  }
}

type Known = Exclude<IqlValue, null>

/** Where every value of one type is one of the other: how to get it. */
function sameValue(
  from: IqlType,
  column: NamedColumn,
  zone: Zone | undefined,
): ((value: Known) => IqlValue) | undefined {
  const { type: to } = column
  const isLike = (...kinds: readonly IqlType['kind'][]): boolean => kinds.includes(from.kind)
  switch (to.kind) {
    case 'Integer':
    case 'Double':
    case 'Boolean':
    case 'Binary':
    case 'Date':
    case 'Time':
      return isLike(to.kind) ? (value) => value : undefined
    case 'Timestamp':
      if (isLike('Timestamp')) return (value) => value
      if (isLike('LocalTimestamp')) return (value) => toUtc(integer(value), column, zone)
      return isLike('Date') ? (days) => toUtc(integer(days) * MICROS_PER_DAY, column, zone) : undefined
    case 'Decimal': {
      if (from.kind !== 'Decimal' || from.scale > to.scale) return undefined
      if (from.precision - from.scale > to.precision - to.scale) return undefined
      const factor = 10n ** BigInt(to.scale - from.scale)
      return (value) => integer(value) * factor
    }
    default:
      return undefined
  }
}

/** A time without a zone is one of the request's zone, or else of UTC. */
function toUtc(local: bigint, column: NamedColumn, zone: Zone | undefined): bigint {
  if (zone === undefined) return local
  const utc = zone.utc(local)
  if (utc < MIN_TIMESTAMP || utc > MAX_TIMESTAMP) throw badBody(`The column ${column.name} has a time out of range`)
  return utc
}

const NUMBERS: readonly string[] = ['Integer', 'Decimal', 'Double']

/** Otherwise a value is read as IQL reads its text. */
function createTextWriter(from: IqlType, column: NamedColumn): (value: Known) => string {
  const isNumber = NUMBERS.includes(column.type.kind)
  switch (from.kind) {
    case 'Text':
    case 'Json':
    case 'Uuid':
    case 'Null':
      return String
    case 'Integer':
      if (isNumber) return String
      break
    case 'Decimal':
      if (isNumber) return (value) => writeDecimal(integer(value), from.scale)
      break
    case 'Double':
      // By its shortest decimal.
      if (isNumber) return (value) => (Object.is(value, -0) ? '0' : String(value))
      break
    case 'Binary':
      // Some programs write texts without saying that they are.
      if (column.type.kind === 'Text' || column.type.kind === 'Json') return (value) => utf8(value, column)
      // Not all programs say that 16 bytes are a Uuid. Other bytes are refused as their text.
      if (column.type.kind === 'Uuid')
        return (value) => (value instanceof Uint8Array ? (uuidText(value) ?? toHex(value)) : String(value))
      break
    case 'Timestamp':
    case 'LocalTimestamp':
      // A Date takes midnights.
      if (column.type.kind === 'Date') return (value) => dateOrTime(integer(value))
      break
    default:
  }
  throw badBody(
    `The column ${column.name} is ${typeName(column.type)}, and the Parquet file has ${typeName(from)} for it`,
  )
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 20)).toString('hex')
}

function dateOrTime(micros: bigint): string {
  return micros % MICROS_PER_DAY === 0n ? writeDate(micros / MICROS_PER_DAY) : writeTimestamp(micros)
}

function integer(value: Known): bigint {
  if (typeof value !== 'bigint') throw new Error('A value of another type than its column')
  return value
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(value: Known, column: NamedColumn): string {
  try {
    return value instanceof Uint8Array ? UTF8.decode(value) : String(value)
  } catch {
    throw badBody(`The column ${column.name} has bytes that are not UTF-8`)
  }
}
