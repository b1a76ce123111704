/**
 * The encoder of Parquet files (parquet-format): row groups, then a footer that describes them. It is loaded with the first such
 * result. A file without its footer is not valid: a result that is cut off can never be mistaken for a whole one.
 */

import type { ResultColumn } from 'gatehouse-iql'
import type { ColumnChunk, ColumnMetaData, RowGroup } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import type { Cell, RowEncoder } from '../../model/result.ts'
import { ColumnChunkWriter } from './column-chunk.ts'
import { parquetSchema } from './schema.ts'

/** A row group ends at whichever of these comes first. The bytes are those before compression. */
const GROUP_ROWS = 100_000
const GROUP_BYTES = 16 * 1024 * 1024
const WORD_BYTES = 8
const MAGIC = Buffer.from('PAR1')
/** Of a chunk that is passed on. */
const TAKEN_BYTES = 256 * 1024

export class ParquetEncoder implements RowEncoder {
  readonly #columns: readonly ResultColumn[]
  readonly #licence: string | undefined
  readonly #chunks: readonly ColumnChunkWriter[]
  readonly #groups: RowGroup[] = []
  #ready: Uint8Array[] = [MAGIC]
  #pending = MAGIC.length
  /** The length of the file so far. */
  #length = MAGIC.length
  /** Of the row group that is being written, about as many as before compression. */
  #rows = 0
  #bytes = 0
  #allRows = 0
  /** The columns of a full row group whose last pages are written: one in each call of `take`, as each may take milliseconds. */
  #written: ColumnChunk[] | undefined

  constructor(columns: readonly ResultColumn[], licence?: string) {
    this.#columns = columns
    this.#licence = licence
    this.#chunks = columns.map((column) => new ColumnChunkWriter(column))
  }

  add(row: readonly Cell[]): void {
    while (this.#written !== undefined) this.#endChunk(this.#written)
    const chunks = this.#chunks
    for (let index = 0; index < chunks.length; index++) {
      const cell = row[index] ?? null
      chunks[index]?.add(cell)
      this.#bytes += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : WORD_BYTES
    }
    this.#rows++
    if (this.#rows === GROUP_ROWS || this.#bytes >= GROUP_BYTES) this.#written = []
  }

  get pending(): number {
    return this.#written === undefined ? this.#pending : Math.max(this.#pending, TAKEN_BYTES)
  }

  get held(): number {
    let bytes = 0
    for (const { held } of this.#chunks) bytes += held
    return bytes
  }

  take(): Uint8Array {
    if (this.#written !== undefined && this.#pending < TAKEN_BYTES) this.#endChunk(this.#written)
    const taken: Uint8Array[] = []
    let length = 0
    while (length < TAKEN_BYTES) {
      const page = this.#ready.shift()
      if (page === undefined) break
      taken.push(page)
      length += page.length
    }
    this.#pending -= length
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken)
  }

  end(): void {
    if (this.#rows > 0) this.#written ??= []
  }

  trailer(): Uint8Array {
    const writer = new ByteWriter()
    writeMetadata(writer, {
      version: 2,
      created_by: 'gatehouse',
      schema: parquetSchema(this.#columns),
      num_rows: BigInt(this.#allRows),
      row_groups: this.#groups,
      ...(this.#licence !== undefined && { key_value_metadata: [{ key: 'licence', value: this.#licence }] }),
      metadata_length: 0,
    })
    writer.appendBytes(MAGIC)
    return writer.getBytes()
  }

  /** Writes the next column of the row group. After the last one the next row group begins. */
  #endChunk(written: ColumnChunk[]): void {
    const chunk = this.#chunks[written.length]
    if (chunk === undefined) throw new Error('A row group has no more columns')
    const { pages, metadata } = chunk.end(this.#length)
    written.push({ file_offset: metadata.data_page_offset, meta_data: metadata })
    for (const page of pages) {
      this.#ready.push(page)
      this.#length += page.length
      this.#pending += page.length
    }
    if (written.length === this.#chunks.length) this.#endGroup(written)
  }

  #endGroup(columns: ColumnChunk[]): void {
    const sum = (of: (metadata: ColumnMetaData) => bigint): bigint =>
      columns.reduce((total, { meta_data: metadata }) => total + (metadata === undefined ? 0n : of(metadata)), 0n)
    const compressed = sum((metadata) => metadata.total_compressed_size)
    this.#groups.push({
      columns,
      total_byte_size: sum((metadata) => metadata.total_uncompressed_size),
      num_rows: BigInt(this.#rows),
      file_offset: BigInt(this.#length) - compressed,
      total_compressed_size: compressed,
    })
    this.#allRows += this.#rows
    this.#rows = 0
    this.#bytes = 0
    this.#written = undefined
  }
}
