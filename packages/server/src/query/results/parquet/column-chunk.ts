/** One column of a row group: its pages (parquet-format, data pages of version 2), each compressed with zstd, and its metadata. */
import { constants, zstdCompressSync } from 'node:zlib'
import type { ResultColumn } from 'gatehouse-iql'
import type { ColumnMetaData } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import type { Cell } from '../../model/result.ts'
import { grown } from '../../types/words.ts'
import { parquetColumn } from './columns.ts'
import type { PageValues, ParquetColumn } from './parquet-column.ts'
import { parquetSchema } from './schema.ts'

/** The size at which a page ends. Compressing it takes about a millisecond, in which the event loop waits (PostgreSQL). */
const PAGE_BYTES = 256 * 1024
/** With the usual level 3 a file is a few percent smaller and takes twice the time to compress. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export class ColumnChunkWriter {
  readonly #column: ResultColumn
  readonly #values: ParquetColumn
  /** For each row of the page: 1 for a value, 0 for NULL. */
  #levels = new Uint8Array(1024)
  #rows = 0
  #nulls = 0
  #pages: Uint8Array[] = []
  #dictionaryBytes = 0
  readonly #encodings = new Set<PageValues['encoding']>()
  #allRows = 0
  #allNulls = 0
  #compressed = 0
  #uncompressed = 0

  constructor(column: ResultColumn) {
    this.#column = column
    this.#values = parquetColumn(column.type)
  }

  add(cell: Cell): void {
    if (this.#rows === this.#levels.length) this.#levels = grown(this.#levels)
    const isValue = this.#values.add(cell)
    this.#levels[this.#rows++] = isValue ? 1 : 0
    if (!isValue) this.#nulls++
    if (this.#values.size >= PAGE_BYTES && !this.#values.isOnePage) this.#endPage()
  }

  /** Bytes in memory. */
  get held(): number {
    return this.#compressed + this.#values.size
  }

  /** `start`: where in the file the chunk begins. */
  end(start: number): { readonly pages: readonly Uint8Array[]; readonly metadata: ColumnMetaData } {
    if (this.#rows > 0) this.#endPage()
    const { name } = this.#column
    const dictionary = this.#dictionaryBytes === 0 ? {} : { dictionary_page_offset: BigInt(start) }
    const metadata: ColumnMetaData = {
      type: parquetSchema([this.#column])[1]?.type ?? 'BYTE_ARRAY',
      encodings: ['RLE', ...this.#encodings],
      path_in_schema: [name],
      codec: 'ZSTD',
      num_values: BigInt(this.#allRows),
      total_uncompressed_size: BigInt(this.#uncompressed),
      total_compressed_size: BigInt(this.#compressed),
      data_page_offset: BigInt(start + this.#dictionaryBytes),
      ...dictionary,
      statistics: { null_count: BigInt(this.#allNulls) },
    }
    const pages = this.#pages
    this.#pages = []
    this.#encodings.clear()
    this.#dictionaryBytes = this.#allRows = this.#allNulls = this.#compressed = this.#uncompressed = 0
    return { pages, metadata }
  }

  #endPage(): void {
    const { values, encoding, dictionary } = this.#values.take()
    if (dictionary !== undefined) this.#addDictionaryPage(dictionary)
    const levels = this.#takeLevels()
    const isCompressed = values.length > 0
    const compressed = isCompressed ? zstdCompressSync(values, COMPRESSION) : values
    this.#encodings.add(encoding)
    this.#addPage(
      {
        type: 'DATA_PAGE_V2',
        uncompressed_page_size: levels.length + values.length,
        compressed_page_size: levels.length + compressed.length,
        data_page_header_v2: {
          num_values: this.#rows,
          num_nulls: this.#nulls,
          num_rows: this.#rows,
          encoding,
          definition_levels_byte_length: levels.length,
          repetition_levels_byte_length: 0,
          is_compressed: isCompressed,
        },
      },
      [levels, compressed],
    )
    this.#allRows += this.#rows
    this.#allNulls += this.#nulls
    this.#rows = 0
    this.#nulls = 0
  }

  #addDictionaryPage({ count, values }: NonNullable<PageValues['dictionary']>): void {
    const compressed = zstdCompressSync(values, COMPRESSION)
    this.#encodings.add('PLAIN')
    this.#addPage(
      {
        type: 'DICTIONARY_PAGE',
        uncompressed_page_size: values.length,
        compressed_page_size: compressed.length,
        dictionary_page_header: { num_values: count, encoding: 'PLAIN' },
      },
      [compressed],
    )
    this.#dictionaryBytes = this.#compressed
  }

  #addPage(header: Parameters<typeof writePageHeader>[1], body: readonly Uint8Array[]): void {
    const writer = new ByteWriter(64)
    writePageHeader(writer, header)
    const head = writer.getBytes()
    const page = Buffer.concat([head, ...body])
    this.#pages.push(page)
    this.#compressed += page.length
    this.#uncompressed += head.length + header.uncompressed_page_size
  }

  /** Columns without NULL have none. */
  #takeLevels(): Uint8Array {
    const writer = new ByteWriter(64)
    if (this.#column.nullable) writeRleBitPackedHybrid(writer, this.#levels.subarray(0, this.#rows), 1)
    else if (this.#nulls > 0) throw new Error(`The column ${this.#column.name} has a NULL, which its type excludes`)
    return writer.getBytes()
  }
}
