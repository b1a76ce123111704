/** Parquet files that few bytes of could cost much: each is refused at once, with little memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import type { PageHeader, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import { ParquetError } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import { readWhole } from './files.ts'

type DataHeader = Partial<NonNullable<PageHeader['data_page_header_v2']>>

interface Made {
  readonly rows: number
  readonly pages: readonly {
    readonly body: Uint8Array
    readonly header: DataHeader
    readonly size?: number
    readonly dictionary?: number
  }[]
  readonly element?: Partial<SchemaElement>
}

/** A file of one column whose numbers are as given. */
function fileOf({ rows, pages, element }: Made): Buffer {
  const writer = new ByteWriter()
  writer.appendBytes(Buffer.from('PAR1'))
  for (const { body, header, size = body.length, dictionary } of pages) {
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
  const total = BigInt(writer.offset - 4)
  writeMetadata(writer, {
    version: 2,
    schema: [
      { name: 'schema', num_children: 1 },
      { name: 'v', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED', ...element },
    ],
    num_rows: BigInt(rows),
    row_groups: [
      {
        num_rows: BigInt(rows),
        total_byte_size: total,
        columns: [
          {
            file_offset: 4n,
            meta_data: {
              type: 'BYTE_ARRAY',
              encodings: ['PLAIN'],
              path_in_schema: ['v'],
              codec: 'ZSTD',
              num_values: BigInt(rows),
              total_uncompressed_size: total,
              total_compressed_size: total,
              data_page_offset: 4n,
            },
          },
        ],
      },
    ],
    metadata_length: 0,
  })
  writer.appendBytes(Buffer.from('PAR1'))
  return Buffer.from(writer.getBytes())
}

/** A file that is a footer. */
function footer(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([Buffer.from('PAR1'), bytes, length, Buffer.from('PAR1')])
}

/** LEB128. */
function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}

/** DELTA_BINARY_PACKED: one value, and no differences after it. */
function repeated(value: number, count: number): Buffer {
  const blocks = Math.ceil((count - 1) / 32_768)
  const block = [0, ...Array(4).fill(0)]
  return Buffer.from([
    ...varint(32_768),
    ...varint(4),
    ...varint(count),
    ...varint(2 * value),
    ...Array(blocks).fill(block).flat(),
  ])
}

const zeros = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
const wide = {
  body: zstdCompressSync(Buffer.from([1, ...varint(2 ** 31), 0])),
  size: 7,
  header: { encoding: 'RLE_DICTIONARY' as const },
}
const entry = { body: zstdCompressSync(Buffer.from([1, 0, 0, 0, 120])), size: 5, header: {}, dictionary: 1 }

const FILES: Readonly<Record<string, [file: () => Buffer, message: RegExp]>> = {
  'a page that decompresses to more than it says': [
    () => fileOf({ rows: 10, pages: [{ body: zeros, size: 40, header: {} }] }),
    /cannot be decompressed/,
  ],
  'a page that announces gigabytes': [
    () => fileOf({ rows: 10, pages: [{ body: zeros, size: 2 ** 31 - 1, header: {} }] }),
    /at most 67108864 are read/,
  ],
  'a page that announces two billion values': [
    () => fileOf({ rows: 10, pages: [{ body: zeros, header: { num_values: 2 ** 31 - 1 } }] }),
    /at most 4194304 are read/,
  ],
  'billions of rows in one run': [
    () =>
      fileOf({
        rows: 4_000_000 * 3,
        pages: [entry, ...Array(3).fill({ ...wide, header: { ...wide.header, num_values: 4_000_000 } })],
      }),
    /more than 1000000 bytes/,
  ],
  'values that repeat a long one as their beginning': [
    () => {
      const count = 200_000
      const body = Buffer.concat([repeated(1_000_000, count), repeated(0, count)])
      return fileOf({
        rows: count,
        pages: [{ body: zstdCompressSync(body), size: body.length, header: { encoding: 'DELTA_BYTE_ARRAY' } }],
      })
    },
    /too many bytes/,
  ],
  'a value of fixed length of two gigabytes': [
    () =>
      fileOf({
        rows: 1000,
        pages: [{ body: zstdCompressSync(Buffer.alloc(100)), size: 100, header: {} }],
        element: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2 ** 31 - 1 },
      }),
    /a page that ends early/,
  ],
  'more rows than the pages have': [
    () =>
      fileOf({
        rows: 2 ** 40,
        pages: [{ body: zstdCompressSync(Buffer.alloc(4)), size: 4, header: { num_values: 1 } }],
      }),
    /fewer values than its row group/,
  ],
  'a footer nested a million times': [() => footer(Buffer.alloc(1_000_000, 0x1c)), /nested too deeply/],
  'a footer with a number of a million bytes': [
    () => footer(Buffer.concat([Buffer.from([0x16]), Buffer.alloc(1_000_000, 0xff)])),
    /has too many bytes/,
  ],
  'a footer with millions of empty values': [
    () => footer(Buffer.concat([Buffer.from([0x19, 0xfc, ...varint(7_000_000)]), Buffer.alloc(7_000_002)])),
    /too many values/,
  ],
  'a footer with a list of two billion': [() => footer(Buffer.from([0x19, 0xfc, ...varint(2 ** 31), 0])), /ends early/],
}

for (const [name, [make, message]] of Object.entries(FILES)) {
  test(`${name}: refused`, async () => {
    const file = make()
    const { rss } = process.memoryUsage()
    const before = process.cpuUsage()
    await assert.rejects(readWhole(file, 1_000_000), (error) => {
      assert.ok(error instanceof ParquetError, String(error))
      assert.match(error.message, message)
      return true
    })
    // Processor time, as a busy machine takes longer.
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 3_000_000)
    assert.ok(process.memoryUsage().rss - rss < 300 * 1024 * 1024)
  })
}
