/** Parquet files with pages and numbers as a test gives them, for what no writer would write. */
import type { PageHeader, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'

type DataHeader = Partial<NonNullable<PageHeader['data_page_header_v2']>>

export interface MadePage {
  readonly body: Uint8Array
  readonly header: DataHeader
  readonly size?: number
  /** The number of its entries. */
  readonly dictionary?: number
}

export interface MadeColumn {
  readonly pages: readonly MadePage[]
  readonly element?: Partial<SchemaElement>
  readonly codec?: 'ZSTD' | 'GZIP' | 'SNAPPY'
}

/** A file of one column. */
export function filePath({ rows, ...column }: { readonly rows: number } & MadeColumn): Buffer {
  return fileOfColumns(rows, [['v', column]])
}

/** With `isShared`, all columns have the pages of the first. */
export function fileOfColumns(
  rows: number,
  columns: readonly (readonly [name: string, column: MadeColumn])[],
  isShared = false,
): Buffer {
  const writer = new ByteWriter()
  writer.appendBytes(Buffer.from('PAR1'))
  const chunks = columns.map(([name, { pages, codec = 'ZSTD' }], index) => {
    const isWritten = index === 0 || !isShared
    const start = isWritten ? writer.offset : 4
    if (isWritten) for (const page of pages) writePage(writer, page, rows)
    const end = isWritten ? writer.offset : start
    return { name, codec, start: BigInt(start), length: BigInt(end - start) }
  })
  const whole = chunks[0]?.length ?? 0n
  writeMetadata(writer, {
    version: 2,
    schema: [
      { name: 'schema', num_children: columns.length },
      ...columns.map(([name, { element }]) => ({
        ...{ name, type: 'BYTE_ARRAY' as const, repetition_type: 'REQUIRED' as const },
        ...element,
      })),
    ],
    num_rows: BigInt(rows),
    row_groups: [
      {
        num_rows: BigInt(rows),
        total_byte_size: whole,
        columns: chunks.map(({ name, codec, start, length }) => ({
          file_offset: start,
          meta_data: {
            type: 'BYTE_ARRAY' as const,
            encodings: ['PLAIN' as const],
            path_in_schema: [name],
            codec,
            num_values: BigInt(rows),
            total_uncompressed_size: isShared ? whole : length,
            total_compressed_size: isShared ? whole : length,
            data_page_offset: start,
          },
        })),
      },
    ],
    metadata_length: 0,
  })
  writer.appendBytes(Buffer.from('PAR1'))
  return Buffer.from(writer.getBytes())
}

function writePage(writer: ByteWriter, page: MadePage, rows: number): void {
  const { body, header, size = body.length, dictionary } = page
  const data = {
    num_values: rows,
    num_nulls: 0,
    num_rows: rows,
    encoding: 'PLAIN' as const,
    definition_levels_byte_length: 0,
    repetition_levels_byte_length: 0,
    is_compressed: true,
    ...header,
  }
  writePageHeader(writer, {
    type: dictionary === undefined ? 'DATA_PAGE_V2' : 'DICTIONARY_PAGE',
    uncompressed_page_size: size,
    compressed_page_size: body.length,
    ...(dictionary === undefined
      ? { data_page_header_v2: data }
      : { dictionary_page_header: { num_values: dictionary, encoding: 'PLAIN' as const } }),
  })
  writer.appendBytes(body)
}

/** A file that is a footer. */
export function fileOfFooter(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([Buffer.from('PAR1'), bytes, length, Buffer.from('PAR1')])
}

/** LEB128. */
export function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}

/** DELTA_BINARY_PACKED: one value, then another that is repeated. */
export function thenRepeated(first: number, value: number, count: number): Buffer {
  const blocks = Math.ceil((count - 1) / 32_768)
  const zigzag = (number: number): number[] => varint(number < 0 ? -2 * number - 1 : 2 * number)
  // Only the first difference is not 0: it has as many bits as it needs, above the least one.
  const least = Math.min(0, value - first)
  const difference = value - first - least
  const width = difference === 0 && least === 0 ? 0 : 32
  const mini = Buffer.alloc(width === 0 ? 0 : (8192 / 8) * width)
  if (width > 0)
    for (let index = 0; index < 8192; index++) mini.writeUInt32LE(index === 0 ? difference : -least, 4 * index)
  const others = width === 0 ? [0, 0, 0] : [32, 32, 32]
  const rest = width === 0 ? [] : others.map(() => Buffer.alloc(mini.length).fill(evenly(-least)))
  return Buffer.concat([
    Buffer.from([
      ...varint(32_768),
      ...varint(4),
      ...varint(count),
      ...zigzag(first),
      ...zigzag(least),
      width,
      ...others,
    ]),
    ...[mini, ...rest],
    Buffer.from(
      Array(Math.max(0, blocks - 1))
        .fill([0, 0, 0, 0, 0])
        .flat(),
    ),
  ])
}

function evenly(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
