/**
 * The encoder of Parquet files (parquet-format): row groups, then a footer that describes them. It is loaded with the first such
 * result. A file without its footer is not valid: a result that is cut off can never be mistaken for a whole one.
 */

import type { ResultColumn } from 'gatehouse-iql'
import type { ColumnChunk, RowGroup } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import type { Cell, RowEncoder } from '../../model/result.ts'
import { ColumnChunkWriter } from './column-chunk.ts'
import { schemaOf } from './schema.ts'

/** A row group ends at whichever of these comes first. The bytes are those before compression. */
const GROUP_ROWS = 100_000
const GROUP_BYTES = 16 * 1024 * 1024
const WORD_BYTES = 8
const MAGIC = Buffer.from('PAR1')
/** Of a chunk that is passed on. */
const TAKEN_BYTES = 256 * 1024

export class ParquetEncoder implements RowEncoder {
  readonly #columns: readonly ResultColumn[]
  readonly #chunks: readonly ColumnChunkWriter[]
  readonly #groups: RowGroup[] = []
  /** Pages of complete row groups. */
  #ready: Uint8Array[] = [MAGIC]
  #pending = MAGIC.length
  /** The length of the file so far. */
  #length = MAGIC.length
  /** Of the row group that is being written, about as many as before compression. */
  #rows = 0
  #bytes = 0
  #allRows = 0

  constructor(columns: readonly ResultColumn[]) {
    this.#columns = columns
    this.#chunks = columns.map((column) => new ColumnChunkWriter(column))
  }

  add(row: readonly Cell[]): void {
    const chunks = this.#chunks
    for (let index = 0; index < chunks.length; index++) {
      const cell = row[index] ?? null
      chunks[index]?.add(cell)
      this.#bytes += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : WORD_BYTES
    }
    this.#rows++
    if (this.#rows === GROUP_ROWS || this.#bytes >= GROUP_BYTES) this.#endGroup()
  }

  get pending(): number {
    return this.#pending
  }

  get held(): number {
    let bytes = 0
    for (const { held } of this.#chunks) bytes += held
    return bytes
  }

  take(): Uint8Array {
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

  finish(): Uint8Array {
    if (this.#rows > 0) this.#endGroup()
    const writer = new ByteWriter()
    writeMetadata(writer, {
      version: 2,
      created_by: 'gatehouse',
      schema: schemaOf(this.#columns),
      num_rows: BigInt(this.#allRows),
      row_groups: this.#groups,
      metadata_length: 0,
    })
    writer.appendBytes(MAGIC)
    return writer.getBytes()
  }

  #endGroup(): void {
    const [rows, start] = [this.#rows, this.#length]
    const columns: ColumnChunk[] = []
    let uncompressed = 0n
    for (const chunk of this.#chunks) {
      const { pages, metadata } = chunk.end(this.#length)
      for (const page of pages) {
        this.#ready.push(page)
        this.#length += page.length
        this.#pending += page.length
      }
      columns.push({ file_offset: metadata.data_page_offset, meta_data: metadata })
      uncompressed += metadata.total_uncompressed_size
    }
    this.#groups.push({
      columns,
      total_byte_size: uncompressed,
      num_rows: BigInt(rows),
      file_offset: BigInt(start),
      total_compressed_size: BigInt(this.#length - start),
    })
    this.#allRows += rows
    this.#rows = 0
    this.#bytes = 0
  }
}
