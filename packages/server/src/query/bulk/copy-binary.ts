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
import { badBody, badValue, type NamedColumn } from '../columns/row-error.ts'
import { BATCH_BYTES, BATCH_ROWS, type BulkReader, type ByteSource, type ReadBatch } from './reader.ts'
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

type Read = ReturnType<typeof readValue>

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
    return this.count >= BATCH_ROWS || this.#bytes >= BATCH_BYTES
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
      if ('problem' in read) throw badValue({ row: this.row }, column, field.toString('hex', 0, 40), read.problem)
      addValue(builder, read.value, column.type)
    }
    this.row++
    this.count++
  }
}

const EPOCH_DAYS = 10_957n
const MICROS_PER_DAY = 86_400_000_000n

function readField(field: Buffer, type: IqlType): Read {
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
      return readNumeric(field, type)
    default:
      return isUtf8(field) ? readValue(type, field.toString('utf8')) : { problem: 'is not UTF-8' }
  }
}

function wrongLength(): Read {
  return { problem: 'does not have the length of the type' }
}

function inRange(value: bigint, least: bigint, most: bigint): Read {
  return value < least || value > most ? { problem: 'is out of range' } : { value }
}

function readUuid(field: Buffer): Read {
  const value = uuidText(field)
  return value === undefined ? wrongLength() : { value }
}

/** Groups of four digits, the first of which has the weight 10000^weight. */
function readNumeric(field: Buffer, type: IqlType): Read {
  if (field.length < 8) return wrongLength()
  const [count, weight, sign] = [field.readInt16BE(0), field.readInt16BE(2), field.readUInt16BE(4)]
  if (field.length !== 8 + 2 * count || count < 0) return wrongLength()
  if (sign !== 0 && sign !== 0x4000) return { problem: 'is not a number' }
  if (weight > 20 || weight < -20 || count > 40) return { problem: 'has too many digits' }
  const groups = Array.from({ length: count }, (_group, index) =>
    String(field.readUInt16BE(8 + 2 * index)).padStart(4, '0'),
  )
  const whole = Array.from({ length: Math.max(0, weight + 1) }, (_group, index) => groups[index] ?? '0000').join('')
  const zeros = '0000'.repeat(Math.max(0, -weight - 1))
  const fraction = (zeros + groups.slice(Math.max(0, weight + 1)).join('')).replace(/0+$/, '')
  return readValue(
    type,
    `${sign === 0x4000 ? '-' : ''}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`,
  )
}
