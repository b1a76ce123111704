/** Short Parquet files that mean much. Each has the columns of the table `wide`, or the first of them. */
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { fileOfColumns, fileOfFooter, filePath, type MadeColumn, thenRepeated, varint } from '../parquet/made-file.ts'

const MEBIBYTE = 1024 * 1024
const ELEMENT = { name: 'c0' }
const PAGE_VALUES = 4 * MEBIBYTE

function measureLength(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes)
  return length
}

/** A dictionary of one text, to which all rows refer with no bits. */
function repeatedEntry(bytes: number, rows: number): Buffer {
  const entry = Buffer.concat([measureLength(bytes), Buffer.alloc(bytes, 'x')])
  return filePath({
    rows,
    element: ELEMENT,
    pages: [
      { body: zstdCompressSync(entry), size: entry.length, header: {}, dictionary: 1 },
      { body: zstdCompressSync(Buffer.from([0])), size: 1, header: { encoding: 'RLE_DICTIONARY' } },
    ],
  })
}

/** Texts of no bytes, the lengths of which take none either. */
function emptyTexts(): MadeColumn {
  const body = thenRepeated(0, 0, PAGE_VALUES)
  const page = {
    body: zstdCompressSync(body),
    size: body.length,
    header: { encoding: 'DELTA_LENGTH_BYTE_ARRAY' as const },
  }
  return { pages: [page] }
}

function columns(column: MadeColumn): (readonly [string, MadeColumn])[] {
  return Array.from({ length: 16 }, (_, index) => [`c${index}`, column] as const)
}

/** Each value is as long as the first, of which it has all bytes. */
function repeatedBeginnings(): Buffer {
  const [count, bytes] = [200_000, MEBIBYTE]
  const body = Buffer.concat([thenRepeated(0, bytes, count), thenRepeated(bytes, 0, count), Buffer.alloc(bytes, 'x')])
  const page = { body: zstdCompressSync(body), size: body.length, header: { encoding: 'DELTA_BYTE_ARRAY' as const } }
  return filePath({ rows: count, element: ELEMENT, pages: [page] })
}

function longPage(codec: 'ZSTD' | 'GZIP' | 'SNAPPY', size: number): Buffer {
  const plain = Buffer.alloc(codec === 'SNAPPY' ? 0 : size)
  const body = codec === 'ZSTD' ? zstdCompressSync(plain) : codec === 'GZIP' ? gzipSync(plain) : repeatedSnappy(size)
  return filePath({ rows: 1000, element: ELEMENT, codec, pages: [{ body, size, header: {} }] })
}

/** A byte, then copies of 64 bytes. */
function repeatedSnappy(size: number): Buffer {
  const copies = Buffer.alloc(3 * Math.ceil((size - 1) / 64))
  for (let at = 0; at < copies.length; at += 3) copies.set([(63 << 2) | 2, 1, 0], at)
  return Buffer.concat([Buffer.from([...varint(size), 0, 0]), copies])
}

export const PARQUET_BOMBS: Readonly<Record<string, () => Buffer>> = {
  'one entry of 128 KiB in a million rows': () => repeatedEntry(128 * 1024, MEBIBYTE),
  'one entry of 4 MiB in a million rows': () => repeatedEntry(4 * MEBIBYTE, MEBIBYTE),
  'four million texts of no bytes in 16 columns': () => fileOfColumns(PAGE_VALUES, columns(emptyTexts())),
  'the same pages in 16 columns': () => fileOfColumns(PAGE_VALUES, columns(emptyTexts()), true),
  'values that begin like one of 1 MiB': repeatedBeginnings,
  'a page of 64 MiB of zstd': () => longPage('ZSTD', 64 * MEBIBYTE),
  'a page of 24 MiB of zstd': () => longPage('ZSTD', 24 * MEBIBYTE),
  'a page of 24 MiB of gzip': () => longPage('GZIP', 24 * MEBIBYTE),
  'a page of 24 MiB of snappy': () => longPage('SNAPPY', 24 * MEBIBYTE + 1),
  'a page of 20 MiB in each of 16 columns': () => {
    const body = zstdCompressSync(Buffer.alloc(20 * MEBIBYTE))
    return fileOfColumns(1000, columns({ pages: [{ body, size: 20 * MEBIBYTE, header: {} }] }))
  },
  'a dictionary of a million entries, again and again': () => {
    const page = {
      body: zstdCompressSync(Buffer.alloc(4 * MEBIBYTE)),
      size: 4 * MEBIBYTE,
      header: {},
      dictionary: MEBIBYTE,
    }
    return filePath({ rows: 1000, element: ELEMENT, pages: Array(100).fill(page) })
  },
  'a hundred thousand pages without rows': () => {
    const page = { body: Buffer.alloc(0), size: 0, header: { num_values: 0, num_rows: 0 } }
    return filePath({ rows: 1000, element: ELEMENT, pages: Array(100_000).fill(page) })
  },
  'a footer of millions of structures': () =>
    fileOfFooter(Buffer.concat([Buffer.from([0x49, 0xfc, ...varint(7_000_000)]), Buffer.alloc(7_000_002)])),
  'a footer of a hundred thousand row groups without columns': () =>
    fileOfFooter(Buffer.concat([Buffer.from([0x49, 0xfc, ...varint(70_000)]), Buffer.alloc(70_002)])),
}
