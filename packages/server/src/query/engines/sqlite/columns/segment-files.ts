/** The files of column segments, in the folder `columns` beside the database. Deleting any of them is safe. */
import { closeSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type ReadAt, Segment, type SegmentBlock } from '../../../columns/segment.ts'

export function segmentFolder(database: string): string {
  return join(dirname(database), 'columns')
}

/** The tag is random: no two segments have the same. */
export function segmentPath(database: string, tag: string): string {
  return join(segmentFolder(database), `${tag}.seg`)
}

/** The file is whole, or not there. */
export function writeSegmentFile(database: string, tag: string, bytes: Buffer): void {
  const folder = segmentFolder(database)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = segmentPath(database, tag)
  const file = openSync(`${path}.new`, 'w', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(`${path}.new`, path)
  syncFolder(folder)
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** The most segments that are kept open. */
const MAX_OPEN = 256

/** Open segments, by tag. Those used least recently are closed. */
export class OpenSegments {
  readonly #database: string
  readonly #open = new Map<string, { readonly segment: Segment; readonly file: number }>()

  constructor(database: string) {
    this.#database = database
  }

  /** Throws if there is no such file, or another one. */
  get(tag: string): Segment {
    const known = this.#open.get(tag)
    if (known !== undefined) {
      this.#open.delete(tag)
      this.#open.set(tag, known)
      return known.segment
    }
    const file = openSync(segmentPath(this.#database, tag), 'r')
    try {
      const segment = new OpenSegment(
        (offset, bytes) => readAt(file, offset, bytes),
        () => this.#remove(tag),
      )
      if (segment.header.tag !== tag) throw new Error('The file of another segment')
      this.#open.set(tag, { segment, file })
      this.#closeOldest()
      return segment
    } catch (error) {
      closeSync(file)
      this.#remove(tag)
      throw error
    }
  }

  /** Of a file that is damaged: the server finds that it is missing, and writes it again. */
  #remove(tag: string): void {
    rmSync(segmentPath(this.#database, tag), { force: true })
  }

  close(): void {
    for (const { file } of this.#open.values()) closeSync(file)
    this.#open.clear()
  }

  #closeOldest(): void {
    const [oldest] = this.#open
    if (oldest === undefined || this.#open.size <= MAX_OPEN) return
    this.#open.delete(oldest[0])
    closeSync(oldest[1].file)
  }
}

class OpenSegment extends Segment {
  readonly #onDamage: () => void

  constructor(readAt: ReadAt, onDamage: () => void) {
    super(readAt)
    this.#onDamage = onDamage
  }

  override readBlock(block: SegmentBlock): Buffer {
    try {
      return super.readBlock(block)
    } catch (error) {
      this.#onDamage()
      throw error
    }
  }
}

function readAt(file: number, offset: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  let read = 0
  while (read < bytes) {
    const count = readSync(file, buffer, read, bytes - read, offset + read)
    if (count === 0) break
    read += count
  }
  return buffer.subarray(0, read)
}
