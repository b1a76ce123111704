/** Reads the binary format of PostgreSQL's COPY: a signature, then rows of fields with their lengths. */
import { isUtf8 } from 'node:buffer'
import {
  type IqlType,
  MAX_DATE,
  MAX_RESULT_ROW_BYTES,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  readValue,
} from 'gatehouse-iql'
import { builderOf, type ColumnBuilder } from '../columns/batch.ts'
import { readNumeric } from '../columns/binary-numeric.ts'
import { badBody, badValue, type NamedColumn } from '../columns/row-error.ts'
import { BATCH_BYTES, type BulkReader, type ByteSource, type ReadBatch } from './reader.ts'
import { rowsPerTurn } from './row-sizes.ts'
import { TextPieces } from './text-rows.ts'
import { addValue, uuidText } from './values.ts'

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
/** The signature, flags, and the length of what may follow them. */
const HEADER_BYTES = SIGNATURE.length + 8

export async function openCopyBinary(source: ByteSource): Promise<BulkReader> {
  const pieces = new TextPieces(source)
  return {
    names: undefined,
    async *read(columns) {
      const rows = new BinaryRows(columns)
      const place = () => ({ row: rows.row })
      while (await pieces.next((bytes, isLast) => rows.read(bytes, isLast), place)) if (rows.isFull) yield rows.take()
      // The trailer may be missing, as in PostgreSQL: the message CopyDone ends the rows as well.
      if (!rows.hasBegun) throw badBody('The body is not in the binary format of COPY')
      if (rows.count > 0) yield rows.take()
    },
  }
}

/** A value, or what is wrong with it: it does not fit the column, or its bytes are not those of the type. */
type Field = ReturnType<typeof readValue> | { readonly malformed: string }

class BinaryRows {
  readonly #columns: readonly NamedColumn[]
  readonly #builders: readonly ColumnBuilder[]
  hasBegun = false
  hasEnded = false
  /** The number of the next row. */
  row = 1
  count = 0
  #bytes = 0

  constructor(columns: readonly NamedColumn[]) {
    this.#columns = columns
    this.#builders = columns.map(({ type }) => builderOf(type))
  }

  get isFull(): boolean {
    return this.count >= rowsPerTurn(this.#columns.length) || this.#bytes >= BATCH_BYTES
  }

  take(): ReadBatch {
    const batch = { rows: this.count, columns: this.#builders.map((builder) => builder.take()) }
    this.count = 0
    this.#bytes = 0
    return batch
  }

  read(bytes: Buffer, isLast: boolean): number {
    if (this.hasEnded) throw badBody('Bytes follow the end of the rows')
    let at = this.hasBegun ? 0 : this.#begin(bytes)
    while (this.hasBegun && !this.isFull && at + 2 <= bytes.length) {
      const fields = bytes.readInt16BE(at)
      if (fields === -1) {
        this.hasEnded = true
        return at + 2
      }
      if (fields !== this.#columns.length)
        throw badBody(`The row has ${fields} fields, not ${this.#columns.length}`, { row: this.row })
      const end = this.#endOf(bytes, at + 2, fields)
      if (end === -1) break
      this.#add(bytes, at + 2)
      this.#bytes += end - at
      at = end
    }
    if (at === 0 && isLast) throw badBody('The body ends within a row', { row: this.row })
    return at
  }

  #begin(bytes: Buffer): number {
    if (bytes.length < HEADER_BYTES) return 0
    if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE))
      throw badBody('The body is not in the binary format of COPY')
    const extension = bytes.readInt32BE(HEADER_BYTES - 4)
    if (bytes.readInt32BE(SIGNATURE.length) !== 0 || extension !== 0)
      throw badBody('The binary format of the body has flags or extensions that are not supported')
    this.hasBegun = true
    return HEADER_BYTES
  }

  /** -1 if the row is not whole. */
  #endOf(bytes: Buffer, start: number, fields: number): number {
    let at = start
    for (let field = 0; field < fields; field++) {
      if (at + 4 > bytes.length) return -1
      const length = bytes.readInt32BE(at)
      if (length < -1 || length > MAX_RESULT_ROW_BYTES)
        throw badBody('A field has an impossible length', { row: this.row })
      at += 4 + Math.max(0, length)
    }
    return at > bytes.length ? -1 : at
  }

  #add(bytes: Buffer, start: number): void {
    let at = start
    for (const [index, column] of this.#columns.entries()) {
      const length = bytes.readInt32BE(at)
      at += 4
      const builder = this.#builders[index]
      if (builder === undefined) throw new Error('A column without a builder')
      if (length < 0) {
        builder.addNull()
        continue
      }
      const field = bytes.subarray(at, at + length)
      at += length
      const read = readField(field, column.type)
      const shown = field.toString('hex', 0, 40)
      if ('malformed' in read) throw badValue({ row: this.row }, column, shown, read.malformed, 'Data.BadBinary')
      if ('problem' in read) throw badValue({ row: this.row }, column, shown, read.problem)
      addValue(builder, read.value, column.type)
    }
    this.row++
    this.count++
  }
}

const EPOCH_DAYS = 10_957n
const MICROS_PER_DAY = 86_400_000_000n

function readField(field: Buffer, type: IqlType): Field {
  const isLong = (length: number): boolean => field.length === length
  switch (type.kind) {
    case 'Integer':
      if (isLong(8)) return { value: field.readBigInt64BE() }
      return isLong(4)
        ? { value: BigInt(field.readInt32BE()) }
        : isLong(2)
          ? { value: BigInt(field.readInt16BE()) }
          : wrongLength()
    case 'Double':
      return isLong(8) ? { value: field.readDoubleBE() } : isLong(4) ? { value: field.readFloatBE() } : wrongLength()
    case 'Boolean':
      return isLong(1) ? { value: field[0] !== 0 } : wrongLength()
    case 'Timestamp':
      return isLong(8)
        ? inRange(field.readBigInt64BE() + EPOCH_DAYS * MICROS_PER_DAY, MIN_TIMESTAMP, MAX_TIMESTAMP)
        : wrongLength()
    case 'Date':
      return isLong(4) ? inRange(BigInt(field.readInt32BE()) + EPOCH_DAYS, MIN_DATE, MAX_DATE) : wrongLength()
    case 'Time':
      return isLong(8) ? inRange(field.readBigInt64BE(), 0n, MICROS_PER_DAY - 1n) : wrongLength()
    case 'Uuid':
      return readUuid(field)
    case 'Binary':
      return { value: new Uint8Array(field) }
    case 'Decimal':
      return readDecimal(field, type)
    default:
      return isUtf8(field) ? readValue(type, field.toString('utf8')) : { problem: 'is not UTF-8' }
  }
}

function wrongLength(): Field {
  return { malformed: 'does not have the length of the type' }
}

function inRange(value: bigint, least: bigint, most: bigint): Field {
  return value < least || value > most ? { problem: 'is out of range' } : { value }
}

function readUuid(field: Buffer): Field {
  const value = uuidText(field)
  return value === undefined ? wrongLength() : { value }
}

function readDecimal(field: Buffer, type: IqlType): Field {
  const text = readNumeric(field)
  return text === undefined ? { malformed: 'is not a numeric in binary' } : readValue(type, text)
}
