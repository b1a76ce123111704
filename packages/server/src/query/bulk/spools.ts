/** The spool files of bulk inserts: how many and how much a user may have, and their removal. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { release } from '../../lib/release.ts'
import type { ColumnBatch } from '../batches/batch.ts'
import type { SpoolEncoder } from '../batches/spool-file.ts'
import { refuse } from '../errors.ts'
import { ReaderMemory } from './reader-memory.ts'

export interface SpoolLimits {
  /** The most bytes of the body of a bulk insert. */
  readonly importBytes: number
}

/** Files of one user at the same time, and of all users of this process. */
const FILES_PER_USER = 8
const FILES = 64
/** The files of a user may have this many times the bytes of the largest body: a value can take more bytes in a file than in a body. */
const BYTES_FACTOR = 2

const FOLDER = 'bulk'

interface Use {
  files: number
  bytes: number
}

export class Spools {
  readonly #folder: string
  readonly #limits: SpoolLimits
  readonly #byOwner = new Map<string, Use>()
  /** Of the readers. */
  readonly memory = new ReaderMemory()
  #files = 0

  constructor(dataFolder: string, limits: SpoolLimits) {
    this.#folder = join(dataFolder, FOLDER)
    this.#limits = limits
  }

  get importBytes(): number {
    return this.#limits.importBytes
  }

  /** Removes what processes have left that ended while rows arrived. */
  async removeLeft(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    // A process that has just started has no files yet: those with its number are of an earlier one.
    const left = names.filter((name) => !isRunning(Number(name.split('-', 1)[0])))
    await Promise.all(left.map((name) => rm(join(this.#folder, name), { force: true })))
  }

  async open(owner: string): Promise<Spool> {
    const use = this.#byOwner.get(owner) ?? { files: 0, bytes: 0 }
    if (use.files >= FILES_PER_USER)
      throw refuse('Limit.Concurrency', `You have ${use.files} bulk inserts running, which is the limit`)
    if (this.#files >= FILES) throw refuse('Limit.Overload', 'Too many bulk inserts are running')
    this.#byOwner.set(owner, use)
    use.files++
    this.#files++
    const end = (): void => {
      use.files--
      this.#files--
      if (use.files === 0) this.#byOwner.delete(owner)
    }
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      const path = join(this.#folder, `${process.pid}-${randomUUID()}`)
      const file = await open(path, 'wx+', 0o600)
      return new Spool(path, file, (bytes) => this.#count(use, bytes), end)
    } catch (error) {
      end()
      throw asFull(error)
    }
  }

  #count(use: Use, bytes: number): void {
    use.bytes += bytes
    const most = BYTES_FACTOR * this.#limits.importBytes
    if (bytes > 0 && use.bytes > most)
      throw refuse(
        'Limit.Disk',
        `Your bulk inserts would take more than ${most} bytes on disk, twice the setting query_import_bytes`,
      )
  }
}

export class Spool {
  readonly path: string
  readonly #file: FileHandle
  readonly #count: (bytes: number) => void
  readonly #end: () => void
  /** The end of the file. */
  #bytes = 0

  constructor(path: string, file: FileHandle, count: (bytes: number) => void, end: () => void) {
    this.path = path
    this.#file = file
    this.#count = count
    this.#end = end
  }

  async write(...parts: readonly Uint8Array[]): Promise<void> {
    const start = this.#bytes
    const length = totalLength(parts)
    this.#bytes += length
    this.#count(length)
    await this.#writeAt(parts, start)
  }

  /** In place of the first bytes. */
  async overwrite(...parts: readonly Uint8Array[]): Promise<void> {
    await this.#writeAt(parts, 0)
  }

  async #writeAt(parts: readonly Uint8Array[], start: number): Promise<void> {
    try {
      for (let [left, at] = [parts, start]; left.length > 0; ) {
        const { bytesWritten } = await this.#file.writev(left, at)
        at += bytesWritten
        // Rarely, not all is written at once.
        left = bytesWritten === totalLength(left) ? [] : [Buffer.concat(left).subarray(bytesWritten)]
      }
    } catch (error) {
      throw asFull(error)
    }
  }

  get length(): number {
    return this.#bytes
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(end - start)
    for (let at = 0; at < bytes.length; ) {
      const { bytesRead } = await this.#file.read(bytes, at, bytes.length - at, start + at)
      if (bytesRead === 0) throw new Error('A spool file is shorter than what was written to it')
      at += bytesRead
    }
    return bytes
  }

  /** Forgets all that was written. */
  async clear(): Promise<void> {
    this.#count(-this.#bytes)
    this.#bytes = 0
    await this.#file.truncate(0)
  }

  /** Deletes the file. */
  async remove(): Promise<void> {
    this.#count(-this.#bytes)
    this.#end()
    await this.#file.close().catch(() => {})
    await rm(this.path, { force: true })
  }
}

/** Rows are written in parts of this many bytes, those of a small insert at once. */
const PART_BYTES = 1024 * 1024

/** The rows of a spool file, in the format of the engine. */
export class SpoolRows {
  readonly #spool: Spool
  readonly #encoder: SpoolEncoder
  count = 0

  constructor(spool: Spool, encoder: SpoolEncoder) {
    this.#spool = spool
    this.#encoder = encoder
  }

  async add(batch: ColumnBatch): Promise<void> {
    this.count += batch.rows
    this.#encoder.add(batch)
    if (this.#encoder.pendingBytes < PART_BYTES) return
    const head = this.#spool.length === 0 ? [Buffer.alloc(this.#encoder.headBytes)] : []
    await this.#write([...head, ...this.#encoder.take()])
  }

  /** All rows have been added. */
  async end(): Promise<void> {
    const { head, rest } = this.#encoder.end()
    if (this.#spool.length === 0) return this.#write([...head, ...rest])
    await this.#write(rest)
    await this.#spool.overwrite(...head)
  }

  async #write(parts: readonly Buffer[]): Promise<void> {
    await this.#spool.write(...parts)
    parts.forEach(release)
  }
}

function totalLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

function isRunning(pid: number): boolean {
  if (pid === process.pid || !Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

function asFull(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !FULL.has(error.code)) return error
  return refuse('Limit.Overload', 'The disk has no room for the rows; nothing was inserted', { cause: error })
}
