/** What segments and parts of bases contain: pages of databases, with what is known of them, compressed. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { BadObject } from './seal.ts'

/** The databases of a data folder. */
export const DATABASES = ['identity.db', 'query.db', 'feeds.db'] as const

/** The state of one database after a segment. */
export interface DatabaseState {
  readonly name: string
  readonly pageSize: number
  /** The number of pages that the database has. */
  readonly pages: number
  /** The smallest number that it had since the segment before: pages above were removed before those of the segment were written. */
  readonly least: number
  /** Of all its pages; absent while the copy is not complete. */
  readonly digest?: string
}

export interface SegmentHead {
  readonly format: 1
  readonly first: number
  readonly last: number
  /** When it was true, in milliseconds. */
  readonly time: number
  /** False for a part of what was committed at once: a restore never ends with it. */
  readonly isComplete: boolean
  /** The hash of the segment before the first, or of the head of the generation. */
  readonly previous: string
  /** Of merged segments: the hash of the last of them. */
  readonly lastHash?: string
  readonly databases: readonly DatabaseState[]
}

/** Pages by database, by number. */
export type Pages = ReadonlyMap<string, ReadonlyMap<number, Buffer>>

export interface Segment {
  readonly head: SegmentHead
  readonly pages: Pages
}

const LEVEL = 3
/** A segment has no more than this: of what is longer, something is wrong. */
const MAX_BYTES = 256 * 1024 * 1024

export function encodeSegment({ head, pages }: Segment): Buffer {
  return encodePages(head, pages)
}

/** The segment after which the chain goes on. */
export function hashAfter(head: SegmentHead, sealedHash: string): string {
  return head.lastHash ?? sealedHash
}

export function decodeSegment(name: string, bytes: Buffer): Segment {
  const { head, pages } = decodePages(name, bytes)
  if (!isSegmentHead(head)) throw new BadObject(`${name} is not a segment of format 1`)
  return { head, pages }
}

/** A part of a base has pages only. */
export function encodePart(pages: Pages): Buffer {
  return encodePages({}, pages)
}

export function decodePart(name: string, bytes: Buffer): Pages {
  return decodePages(name, bytes).pages
}

/** JSON with its length; then for each database the numbers of its pages, and the pages. */
function encodePages(head: object, pages: Pages): Buffer {
  const tables = [...pages].map(([name, own]) => ({ name, count: own.size, pageSize: pageSizeOf(own) }))
  const text = JSON.stringify({ head, tables })
  // Padded, so that the words of a page are aligned.
  const json = Buffer.from(text + ' '.repeat(-Buffer.byteLength(text) & 3))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  const pieces: Buffer[] = [length, json]
  for (const own of pages.values()) {
    const numbers = Buffer.alloc(4 * own.size)
    let at = 0
    for (const page of own.keys()) at = numbers.writeUInt32LE(page, at)
    pieces.push(numbers, ...own.values())
  }
  return zstdCompressSync(Buffer.concat(pieces), { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
}

function pageSizeOf(pages: ReadonlyMap<number, Buffer>): number {
  const [first] = pages.values()
  return first?.length ?? 0
}

function decodePages(name: string, compressed: Buffer): { readonly head: unknown; readonly pages: Pages } {
  const bytes = zstdDecompressSync(compressed, { maxOutputLength: MAX_BYTES })
  const jsonBytes = bytes.readUInt32LE(0)
  const { head, tables } = JSON.parse(bytes.toString('utf8', 4, 4 + jsonBytes))
  const pages = new Map<string, ReadonlyMap<number, Buffer>>()
  let at = 4 + jsonBytes
  for (const { name: database, count, pageSize } of tables as { name: string; count: number; pageSize: number }[]) {
    const own = new Map<number, Buffer>()
    const content = at + 4 * count
    if (content + count * pageSize > bytes.length) throw new BadObject(`${name} ends too early`)
    for (let index = 0; index < count; index++) {
      const start = content + index * pageSize
      own.set(bytes.readUInt32LE(at + 4 * index), bytes.subarray(start, start + pageSize))
    }
    at = content + count * pageSize
    pages.set(database, own)
  }
  return { head, pages }
}

function isSegmentHead(value: unknown): value is SegmentHead {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === 1 && 'databases' in value
}
