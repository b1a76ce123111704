/** Parquet files that few bytes of could cost much: each is refused at once, with little memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { ParquetError } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import { readWhole } from './files.ts'
import { fileOfFooter, filePath, thenRepeated, varint } from './made-file.ts'

const zeros = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
const wide = {
  body: zstdCompressSync(Buffer.from([1, ...varint(2 ** 31), 0])),
  size: 7,
  header: { encoding: 'RLE_DICTIONARY' as const },
}
const entry = { body: zstdCompressSync(Buffer.from([1, 0, 0, 0, 120])), size: 5, header: {}, dictionary: 1 }

const FILES: Readonly<Record<string, [file: () => Buffer, message: RegExp]>> = {
  'a page that decompresses to more than it says': [
    () => filePath({ rows: 10, pages: [{ body: zeros, size: 40, header: {} }] }),
    /cannot be decompressed/,
  ],
  'a page that announces gigabytes': [
    () => filePath({ rows: 10, pages: [{ body: zeros, size: 2 ** 31 - 1, header: {} }] }),
    /A page of "v" has 2147483647 bytes, at most 67108864 are read: write smaller row groups or pages/,
  ],
  'a page that announces two billion values': [
    () => filePath({ rows: 10, pages: [{ body: zeros, header: { num_values: 2 ** 31 - 1 } }] }),
    /at most 4194304 are read/,
  ],
  'billions of rows in one run': [
    () =>
      filePath({
        rows: 4_000_000 * 3,
        pages: [entry, ...Array(3).fill({ ...wide, header: { ...wide.header, num_values: 4_000_000 } })],
      }),
    /more than 1000000 bytes/,
  ],
  'values that repeat a long one as their beginning': [
    () => {
      const count = 200_000
      const first = [Buffer.alloc(1_000_000)]
      const body = Buffer.concat([thenRepeated(0, 1_000_000, count), thenRepeated(1_000_000, 0, count), ...first])
      return filePath({
        rows: count,
        pages: [{ body: zstdCompressSync(body), size: body.length, header: { encoding: 'DELTA_BYTE_ARRAY' } }],
      })
    },
    /more than 1000000 bytes/,
  ],
  'a value of fixed length of two gigabytes': [
    () =>
      filePath({
        rows: 1000,
        pages: [{ body: zstdCompressSync(Buffer.alloc(100)), size: 100, header: {} }],
        element: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2 ** 31 - 1 },
      }),
    /a page that ends early/,
  ],
  'more rows than the pages have': [
    () =>
      filePath({
        rows: 2 ** 40,
        pages: [{ body: zstdCompressSync(Buffer.alloc(4)), size: 4, header: { num_values: 1 } }],
      }),
    /fewer values than its row group/,
  ],
  'a footer nested a million times': [() => fileOfFooter(Buffer.alloc(1_000_000, 0x1c)), /nested too deeply/],
  'a footer with a number of a million bytes': [
    () => fileOfFooter(Buffer.concat([Buffer.from([0x16]), Buffer.alloc(1_000_000, 0xff)])),
    /has too many bytes/,
  ],
  'a footer with millions of empty values': [
    () => fileOfFooter(Buffer.concat([Buffer.from([0x19, 0xfc, ...varint(7_000_000)]), Buffer.alloc(7_000_002)])),
    /too many values/,
  ],
  'a footer with a list of two billion': [
    () => fileOfFooter(Buffer.from([0x19, 0xfc, ...varint(2 ** 31), 0])),
    /ends early/,
  ],
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
