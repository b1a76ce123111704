/**
 * What statements computed from column segments, in the folder `columns/parts` beside the database. A segment never changes, so neither does
 * what was computed from it. Deleting any file is safe. The files used least recently are removed when all take more than is allowed, and
 * those of segments that are gone, since they have values of rows that may be deleted.
 *
 * A file: a checksum, the length of the list of tags in two bytes, the tags of its segments, divided by spaces, and the part.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { VERSION } from 'gatehouse-protocol'
import type { RawValue } from '../../../columns/segment.ts'
import { segmentFolder } from './segment-files.ts'

export interface KeptPart {
  /** For each segment whether its groups are in the rows; the others are for the statement itself. */
  readonly added: readonly boolean[]
  /** Of the table of the parts. */
  readonly rows: readonly (readonly RawValue[])[]
}

/** A larger one is computed anew. */
const MAX_PART_BYTES = 2 * 1024 * 1024
/** How many keys are remembered that were asked for once. */
const MAX_SEEN = 1000
/** The files are counted after this share of what is allowed was written. */
const COUNTED_SHARE = 1 / 16
const CHECKSUM_BYTES = 4
const HEAD_BYTES = CHECKSUM_BYTES + 2

export class KeptParts {
  readonly #folder: string
  readonly #seen = new Set<string>()
  #written = Number.POSITIVE_INFINITY

  constructor(database: string) {
    this.#folder = partFolder(database)
  }

  find(key: string): KeptPart | undefined {
    const path = this.#path(key)
    try {
      const file = readFileSync(path)
      const content = file.subarray(CHECKSUM_BYTES)
      if (crc32(content) !== file.readUInt32LE(0)) throw new Error('The file is damaged')
      const part = deserialize(file.subarray(HEAD_BYTES + file.readUInt16LE(CHECKSUM_BYTES))) as KeptPart
      const now = new Date()
      utimesSync(path, now, now)
      return part
    } catch (error) {
      if (!isMissing(error)) rmSync(path, { force: true })
      return undefined
    }
  }

  /** Whether the key was asked for before, in this process. */
  wasSeen(key: string): boolean {
    if (this.#seen.has(key)) return true
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear()
    this.#seen.add(key)
    return false
  }

  /** `tags` are those of the segments. A failure, as of a full disk, costs the next run its time only. */
  keep(key: string, tags: readonly string[], part: KeptPart, maxBytes: number): void {
    const listed = Buffer.from(tags.join(' '))
    const length = Buffer.alloc(HEAD_BYTES - CHECKSUM_BYTES)
    length.writeUInt16LE(listed.length)
    const content = Buffer.concat([length, listed, serialize(part)])
    if (content.length > Math.min(MAX_PART_BYTES, maxBytes)) return
    const checksum = Buffer.alloc(CHECKSUM_BYTES)
    checksum.writeUInt32LE(crc32(content))
    const path = this.#path(key)
    const unfinished = `${path}.${process.pid}.new`
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      writeFileSync(unfinished, Buffer.concat([checksum, content]), { mode: 0o600 })
      renameSync(unfinished, path)
      this.#written += content.length
      if (this.#written >= maxBytes * COUNTED_SHARE) this.#removeOldest(maxBytes)
    } catch {
      rmSync(unfinished, { force: true })
    }
  }

  #removeOldest(maxBytes: number): void {
    this.#written = 0
    const files = readdirSync(this.#folder).flatMap((name) => {
      const path = join(this.#folder, name)
      const file = statSync(path, { throwIfNoEntry: false })
      return file === undefined ? [] : [{ path, bytes: file.size, usedAt: file.mtimeMs }]
    })
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    files.sort((one, other) => one.usedAt - other.usedAt)
    for (const file of files) {
      if (bytes <= maxBytes) break
      rmSync(file.path, { force: true })
      bytes -= file.bytes
    }
  }

  #path(key: string): string {
    return join(this.#folder, `${key}.part`)
  }
}

function partFolder(database: string): string {
  return join(segmentFolder(database), 'parts')
}

/** Removes the files of segments that are not in use any more, and what is no such file. */
export async function removeUnusedParts(database: string, isUsed: (tag: string) => boolean): Promise<void> {
  const folder = partFolder(database)
  for (const name of await readdir(folder).catch(() => [])) {
    // Another process writes it.
    if (name.endsWith('.new')) continue
    const path = join(folder, name)
    const tags = await readTags(path).catch(() => undefined)
    if (tags?.every(isUsed) !== true) await rm(path, { force: true })
  }
}

async function readTags(path: string): Promise<readonly string[]> {
  const file = await open(path, 'r')
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    await file.read(head, 0, HEAD_BYTES, 0)
    const tags = Buffer.alloc(head.readUInt16LE(CHECKSUM_BYTES))
    await file.read(tags, 0, tags.length, HEAD_BYTES)
    return tags.toString().split(' ')
  } finally {
    await file.close()
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** The key of everything that a result depends on. Another version may compute something else. */
export function keptKey(...parts: readonly unknown[]): string {
  const hash = createHash('sha256').update(`${VERSION} ${process.version}`)
  return hash.update(serialize(parts)).digest('hex').slice(0, 40)
}
