/** Reads the binary format of PostgreSQL's COPY: a signature, then rows of fields with their lengths. */
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { type ColumnBuilder, createBuilder } from '../batches/batch.ts'
import { badBody, badValue, type NamedColumn } from '../batches/row-error.ts'
import type { BinaryRead } from '../types/representation.ts'
import { representation } from '../types/types.ts'
import { BATCH_BYTES, type BulkReader, type ByteSource, type ReadBatch } from './reader.ts'
import { rowsPerTurn } from './row-sizes.ts'
import { TextPieces } from './text-rows.ts'
import { addValue } from './values.ts'

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

class BinaryRows {
  readonly #columns: readonly NamedColumn[]
  readonly #builders: readonly ColumnBuilder[]
  readonly #readers: readonly ((field: Buffer) => BinaryRead)[]
  hasBegun = false
  hasEnded = false
  /** The number of the next row. */
  row = 1
  count = 0
  #bytes = 0

  constructor(columns: readonly NamedColumn[]) {
    this.#columns = columns
    this.#builders = columns.map(({ type }) => createBuilder(type))
    this.#readers = columns.map(({ type }) => representation(type).wire.readBinary)
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
      const end = this.#rowEnd(bytes, at + 2, fields)
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
  #rowEnd(bytes: Buffer, start: number, fields: number): number {
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
      const read = this.#readers[index]
      if (builder === undefined || read === undefined) throw new Error('A column without a builder')
      if (length < 0) {
        builder.addNull()
        continue
      }
      const field = bytes.subarray(at, at + length)
      at += length
      const value = read(field)
      const shown = field.toString('hex', 0, 40)
      if ('malformed' in value) throw badValue({ row: this.row }, column, shown, value.malformed, 'Data.BadBinary')
      if ('problem' in value) throw badValue({ row: this.row }, column, shown, value.problem)
      addValue(builder, value.value, column.type)
    }
    this.row++
    this.count++
  }
}
