/** Decompresses pages without holding the event loop: long ones in another thread, or in turns. */
import { setImmediate as immediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gunzip, gunzipSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { damaged, ParquetError } from './error.ts'
import type { Codec } from './footer.ts'

/** Longer pages are decompressed in another thread. */
const SHORT_BYTES = 64 * 1024
/** A window of 64 MiB: the page fits. */
const ZSTD_LIMITS = { [constants.ZSTD_d_windowLogMax]: 26 }

const gunzipLong = promisify(gunzip)
const zstdLong = promisify(zstdDecompress)

/** `size`: the length that the page says it has. */
export async function decompress(bytes: Uint8Array, codec: Codec, size: number): Promise<Uint8Array> {
  const plain = await decompressed(bytes, codec, size)
  if (plain.length !== size) throw damaged('a page has another length than its header says')
  return plain
}

async function decompressed(bytes: Uint8Array, codec: Codec, size: number): Promise<Uint8Array> {
  if (codec === 'UNCOMPRESSED' || size === 0) return codec === 'UNCOMPRESSED' ? bytes : new Uint8Array(0)
  // Beyond the length that the header gives, decompression ends with an error. One chunk takes all: there is nothing to join.
  const most = { maxOutputLength: size, chunkSize: Math.max(size + 1, MIN_CHUNK) }
  const isShort = size <= SHORT_BYTES && bytes.length <= SHORT_BYTES
  try {
    switch (codec) {
      case 'ZSTD': {
        const options = { ...most, params: ZSTD_LIMITS }
        return isShort ? zstdDecompressSync(bytes, options) : await zstdLong(bytes, options)
      }
      case 'GZIP':
        return isShort ? gunzipSync(bytes, most) : await gunzipLong(bytes, most)
      case 'SNAPPY':
        return await unsnap(bytes, size)
      default:
    }
  } catch (error) {
    throw error instanceof ParquetError
      ? error
      : damaged(`a page cannot be decompressed (${error instanceof Error ? error.message : error})`)
  }
  throw new ParquetError(
    `The Parquet file has the compression ${codec}, which is not supported: write it with zstd, snappy or gzip`,
  )
}

const MIN_CHUNK = 64
/** Other work gets a turn after this many bytes, or this many elements. */
const TURN_BYTES = 1024 * 1024
const TURN_ELEMENTS = 64 * 1024

/** The Snappy format (google/snappy, format_description.txt): a length, then literals and copies of earlier bytes. */
async function unsnap(bytes: Uint8Array, size: number): Promise<Uint8Array> {
  const plain = new Uint8Array(size)
  let at = 0
  // The length, which the header of the page has too.
  while ((bytes[at++] ?? 0) >= 0x80);
  let end = 0
  for (let [turnEnd, elements] = [TURN_BYTES, 0]; at < bytes.length; elements++) {
    if (end >= turnEnd || elements >= TURN_ELEMENTS) {
      turnEnd = end + TURN_BYTES
      elements = 0
      await immediate()
    }
    const tag = bytes[at++] ?? 0
    const kind = tag & 3
    const high = tag >> 2
    if (kind === 0) {
      const extra = Math.max(0, high - 59)
      const length = extra === 0 ? high + 1 : littleEndian(bytes, at, extra) + 1
      at += extra
      if (at + length > bytes.length || end + length > size) throw damagedSnappy()
      // A loop is faster than a copy by the runtime for short ones.
      if (length < 64) for (let index = 0; index < length; index++) plain[end + index] = bytes[at + index] ?? 0
      else plain.set(bytes.subarray(at, at + length), end)
      at += length
      end += length
      continue
    }
    const length = kind === 1 ? (high & 7) + 4 : high + 1
    const width = kind === 3 ? 4 : kind
    const offset = littleEndian(bytes, at, width) + (kind === 1 ? (tag >> 5) * 256 : 0)
    at += width
    if (at > bytes.length || offset === 0 || offset > end || end + length > size) throw damagedSnappy()
    // The copied bytes may overlap those that are written.
    for (const stop = end + length; end < stop; end++) plain[end] = plain[end - offset] ?? 0
  }
  if (end !== size) throw damagedSnappy()
  return plain
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = 0; index < count; index++) value += (bytes[at + index] ?? 0) * 256 ** index
  return value
}

function damagedSnappy(): Error {
  return damaged('a page cannot be decompressed (its Snappy data are damaged)')
}
