/** The header of SQLite's wal-index, the file with the ending -shm (https://sqlite.org/walformat.html): which frames of the log are committed. */
import { readSync } from 'node:fs'
import { endianness } from 'node:os'

export interface WalHeader {
  readonly pageSize: number
  /** The last committed frame of the log. */
  readonly lastFrame: number
  /** Of the database, as of that frame. */
  readonly pages: number
  /** Of the last frame, as its header in the log has it. */
  readonly checksum: string
  /** The first is one more after each restart of the log, the second is random. */
  readonly salt: readonly [number, string]
}

const HEADER_BYTES = 48
const IS_LITTLE = endianness() === 'LE'

/** Undefined while a writer changes it, or before the first use of the log: look again. */
export function readWalHeader(index: number): WalHeader | undefined {
  const bytes = Buffer.alloc(2 * HEADER_BYTES)
  if (readSync(index, bytes, 0, bytes.length, 0) < bytes.length) return undefined
  const header = bytes.subarray(0, HEADER_BYTES)
  // A writer changes the second copy first: equal copies with a checksum that fits are whole.
  if (!header.equals(bytes.subarray(HEADER_BYTES)) || header[12] !== 1 || !hasOwnChecksum(header)) return undefined
  const pageSize = read16(header, 14)
  return {
    pageSize: pageSize === 1 ? 65_536 : pageSize,
    lastFrame: read32(header, 16),
    pages: read32(header, 20),
    checksum: frameChecksum(read32(header, 24), read32(header, 28)),
    // Copied from the log as they are there.
    salt: [header.readUInt32BE(32), header.toString('hex', 36, 40)],
  }
}

export function frameChecksum(first: number, second: number): string {
  return `${first.toString(16)}-${second.toString(16)}`
}

function hasOwnChecksum(header: Buffer): boolean {
  let [first, second] = [0, 0]
  for (let at = 0; at < 40; at += 8) {
    first = (first + read32(header, at) + second) >>> 0
    second = (second + read32(header, at + 4) + first) >>> 0
  }
  return first === read32(header, 40) && second === read32(header, 44)
}

function read32(bytes: Buffer, at: number): number {
  return IS_LITTLE ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
}

function read16(bytes: Buffer, at: number): number {
  return IS_LITTLE ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)
}
