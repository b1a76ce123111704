/**
 * Reads what every process commits to one SQLite database, from its write-ahead log, without missing a commit. DESIGN.md says why this
 * is sound: a read transaction is open at all times, and the next one begins before it ends.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { frameChecksum, readWalHeader, type WalHeader } from './wal-index.ts'

const FRAME_HEADER_BYTES = 24
const LOG_HEADER_BYTES = 32
/** In the header of a database file. */
const PAGE_SIZE_OFFSET = 16
/** Read in one go. */
const FRAMES_AT_ONCE = 256
/** For a writer that changes the wal-index. */
const BUSY_MS = 50
/** Of a database without a log. */
const NO_SALT = '00000000'

export interface FrameVisitor {
  /** The content is valid until the next call only. */
  page(page: number, content: Buffer): void
  /** The number of pages that the database has from now on. */
  commit(pages: number): void
}

interface Position {
  readonly salt: WalHeader['salt']
  readonly frame: number
  readonly checksum: string
}

export class FollowedDatabase {
  readonly name: string
  readonly #path: string
  readonly #connections: readonly [ReadTransaction, ReadTransaction]
  /** Of the two, the one that was begun last. */
  #current = 0
  /** Open as long as the connections: closing one would drop the locks that SQLite holds on the file in this process (POSIX). */
  readonly #files: { readonly database: number; readonly log: number; readonly index: number }
  #restarting: LogRestart | undefined
  #position: Position | undefined
  /** Since `begin`. */
  #hasRead = false
  /** The last frame in the log of each page that has one. */
  #frames = new Map<number, number>()
  #header: WalHeader

  /** Undefined as long as there is no such database, or the server has not given it a log. */
  static open(path: string): FollowedDatabase | undefined {
    if (!hasLog(path)) return undefined
    const first = new ReadTransaction(path)
    try {
      first.begin()
      return new FollowedDatabase(path, first)
    } catch (error) {
      first.close()
      if (isBusy(error)) return undefined
      throw error
    }
  }

  private constructor(path: string, first: ReadTransaction) {
    this.name = basename(path)
    this.#path = path
    this.#files = {
      database: openSync(path, 'r'),
      log: openSync(`${path}-wal`, 'r'),
      index: openSync(`${path}-shm`, 'r'),
    }
    const header = this.#readHeader()
    if (header === undefined) {
      this.#closeFiles()
      throw new SqliteDatabase.SqliteError('The log changes', 'SQLITE_BUSY')
    }
    this.#header = header
    this.#connections = [first, new ReadTransaction(path)]
  }

  /** As of the last look. */
  get pages(): number {
    return this.#header.pages
  }

  get pageSize(): number {
    return this.#header.pageSize
  }

  get logBytes(): number {
    return this.#header.lastFrame * (this.#header.pageSize + FRAME_HEADER_BYTES)
  }

  /** Begins the next transaction while the one before is still open. False if that was not possible now. */
  begin(): boolean {
    const next = this.#connections[1 - this.#current]
    try {
      next?.begin()
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
    const header = this.#readHeader()
    if (header === undefined) next?.end()
    else this.#header = header
    return header !== undefined
  }

  /** Between `begin` and `end`: false if something was committed since, which then belongs to this look. */
  isStill(): boolean {
    const header = this.#readHeader()
    if (header === undefined) return false
    const { salt, lastFrame, checksum } = this.#header
    this.#header = header
    const isSameLog = header.salt[0] === salt[0] && header.salt[1] === salt[1]
    return isSameLog && header.lastFrame === lastFrame && header.checksum === checksum
  }

  /** Ends the transaction before. What it protects must have been read. */
  end(): void {
    if (!this.#hasRead) this.#position = undefined
    this.#hasRead = false
    this.#connections[this.#current]?.end()
    this.#current = 1 - this.#current
  }

  /**
   * Between `begin` and `end`: visits what was committed since the last look. False after a gap, and the first time: then the pages
   * of the whole database are to be compared, and the position is that of now.
   */
  readCommits(visitor: FrameVisitor): boolean {
    const from = this.#continuesAt()
    if (from === undefined || from === 0) this.#frames = new Map()
    const { lastFrame, salt, checksum } = this.#header
    // Until all of it was read: an error leaves a gap.
    this.#position = undefined
    const isWhole = this.#readFrames((from ?? 0) + 1, from === undefined ? undefined : visitor)
    if (isWhole) {
      this.#position = { salt, frame: lastFrame, checksum }
      this.#hasRead = true
      return from !== undefined
    }
    // What the log says is not what its index says.
    this.#frames = new Map()
    return false
  }

  /** The frame after which nothing was read yet; undefined if that is not certain. */
  #continuesAt(): number | undefined {
    const known = this.#position
    const { salt, lastFrame } = this.#header
    if (known === undefined) return undefined
    const isFirstLog = known.frame === 0 && known.salt[0] === 0 && known.salt[1] === NO_SALT
    if (salt[0] === (known.salt[0] + 1) >>> 0 || isFirstLog) return 0
    if (salt[0] !== known.salt[0] || salt[1] !== known.salt[1] || lastFrame < known.frame) return undefined
    if (known.frame === 0) return 0
    return this.#readFrameHeader(known.frame)?.checksum === known.checksum ? known.frame : undefined
  }

  /** Without a visitor it only notes where the pages are. False if a frame is not one of this log. */
  #readFrames(first: number, visitor: FrameVisitor | undefined): boolean {
    const { lastFrame, checksum } = this.#header
    const frameBytes = this.pageSize + FRAME_HEADER_BYTES
    // A memory of its own, so that the words of a page are aligned.
    const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.min(FRAMES_AT_ONCE, lastFrame - first + 1)) * frameBytes)
    for (let frame = first; frame <= lastFrame; ) {
      const count = Math.min(FRAMES_AT_ONCE, lastFrame - frame + 1)
      const read = readSync(this.#files.log, bytes, 0, count * frameBytes, LOG_HEADER_BYTES + (frame - 1) * frameBytes)
      if (read < count * frameBytes || !this.#visitFrames(bytes, frame, count, visitor)) return false
      frame += count
    }
    return lastFrame === 0 || first > lastFrame || this.#readFrameHeader(lastFrame)?.checksum === checksum
  }

  #visitFrames(bytes: Buffer, first: number, count: number, visitor: FrameVisitor | undefined): boolean {
    const frameBytes = this.pageSize + FRAME_HEADER_BYTES
    for (let index = 0; index < count; index++) {
      const at = index * frameBytes
      if (!this.#isOfLog(bytes.subarray(at, at + FRAME_HEADER_BYTES))) return false
      this.#frames.set(bytes.readUInt32BE(at), first + index)
    }
    if (visitor === undefined) return true
    for (let index = 0; index < count; index++) {
      const at = index * frameBytes
      const page = bytes.readUInt32BE(at)
      // Only the last of these frames of a page matters.
      if (this.#frames.get(page) === first + index)
        visitor.page(page, bytes.subarray(at + FRAME_HEADER_BYTES, at + frameBytes))
      const pages = bytes.readUInt32BE(at + 4)
      if (pages > 0) visitor.commit(pages)
    }
    return true
  }

  /**
   * Pages as of this look, to be called between `begin` and `end` after `readCommits`; zeros where the file ends. Undefined if the log
   * could not be read, or was restarted meanwhile: try again at the next look.
   */
  readPages(first: number, count: number): Buffer | undefined {
    // Where the pages are in the log is not known.
    if (!this.#hasRead) return undefined
    const size = this.pageSize
    const bytes = Buffer.allocUnsafeSlow(count * size)
    const read = readSync(this.#files.database, bytes, 0, bytes.length, (first - 1) * size)
    bytes.fill(0, read)
    let hasLogged = false
    for (let index = 0; index < count; index++) {
      const frame = this.#frames.get(first + index)
      if (frame === undefined) continue
      hasLogged = true
      const offset = LOG_HEADER_BYTES + (frame - 1) * (size + FRAME_HEADER_BYTES) + FRAME_HEADER_BYTES
      if (readSync(this.#files.log, bytes, index * size, size, offset) < size) return undefined
    }
    if (!hasLogged) return bytes
    const now = this.#readHeader()
    return now?.salt[0] === this.#header.salt[0] && now.salt[1] === this.#header.salt[1] ? bytes : undefined
  }

  /**
   * Lets the log begin again at its start, which it cannot do by itself under steady writes, because the open transaction is always
   * behind a little. Writers wait while the rest of the log is copied. `look` does all that a look does.
   */
  restartLog(look: () => void): void {
    this.#restarting ??= new LogRestart(this.#path)
    this.#restarting.run(look)
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
    this.#restarting?.close()
    // The last connection to a database copies its log and removes it, unless it only reads.
    const last = new SqliteDatabase(this.#path, { fileMustExist: true, timeout: BUSY_MS })
    try {
      last.prepare('select 1 from sqlite_schema limit 1').get()
    } finally {
      last.close()
      this.#closeFiles()
    }
  }

  #closeFiles(): void {
    for (const file of Object.values(this.#files)) closeSync(file)
  }

  #readHeader(): WalHeader | undefined {
    for (let tries = 0; tries < 10; tries++) {
      const header = readWalHeader(this.#files.index)
      if (header !== undefined) return header.pages > 0 ? header : { ...header, ...this.#readSize() }
    }
    return undefined
  }

  /** The wal-index has none before the first commit to a new log. */
  #readSize(): Pick<WalHeader, 'pageSize' | 'pages'> {
    const bytes = Buffer.alloc(2)
    readSync(this.#files.database, bytes, 0, 2, PAGE_SIZE_OFFSET)
    const size = bytes.readUInt16BE(0)
    const pageSize = size === 1 ? 65_536 : size
    return { pageSize, pages: Math.floor(fstatSync(this.#files.database).size / pageSize) }
  }

  #readFrameHeader(frame: number): { readonly checksum: string } | undefined {
    const bytes = Buffer.alloc(FRAME_HEADER_BYTES)
    const offset = LOG_HEADER_BYTES + (frame - 1) * (this.pageSize + FRAME_HEADER_BYTES)
    if (readSync(this.#files.log, bytes, 0, bytes.length, offset) < bytes.length || !this.#isOfLog(bytes))
      return undefined
    return { checksum: frameChecksum(bytes.readUInt32BE(16), bytes.readUInt32BE(20)) }
  }

  /** A frame of an earlier log has other salts. */
  #isOfLog(header: Buffer): boolean {
    const [first, second] = this.#header.salt
    return header.readUInt32BE(8) === first && header.toString('hex', 12, 16) === second
  }
}

class ReadTransaction {
  readonly #database: SqliteDatabase.Database
  readonly #begin: SqliteDatabase.Statement
  readonly #end: SqliteDatabase.Statement
  readonly #read: SqliteDatabase.Statement

  constructor(path: string) {
    this.#database = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
    this.#begin = this.#database.prepare('begin')
    this.#end = this.#database.prepare('commit')
    this.#read = this.#database.prepare('select 1 from sqlite_schema limit 1')
  }

  /** SQLite begins to read with the first statement that does. */
  begin(): void {
    if (!this.#database.inTransaction) this.#begin.run()
    try {
      this.#read.get()
    } catch (error) {
      this.end()
      throw error
    }
  }

  end(): void {
    if (this.#database.inTransaction) this.#end.run()
  }

  close(): void {
    this.#database.close()
  }
}

/** A checkpoint cannot be made by the connection that holds the lock. */
class LogRestart {
  readonly #locking: SqliteDatabase.Database
  readonly #checkpointing: SqliteDatabase.Database

  constructor(path: string) {
    this.#locking = new SqliteDatabase(path, { fileMustExist: true, timeout: 0 })
    this.#checkpointing = new SqliteDatabase(path, { fileMustExist: true, timeout: 0 })
  }

  run(look: () => void): void {
    // Most of the log, without the lock.
    this.#checkpoint()
    try {
      this.#locking.exec('begin immediate')
    } catch (error) {
      // A long write: the log grows by it in any case.
      if (isBusy(error)) return
      throw error
    }
    try {
      // The transaction that is open then is at the end of the log, and the one that follows the checkpoint does not need the log.
      look()
      this.#checkpoint()
      look()
    } finally {
      this.#locking.exec('rollback')
    }
  }

  #checkpoint(): void {
    try {
      this.#checkpointing.pragma('wal_checkpoint(passive)')
    } catch (error) {
      if (!isBusy(error)) throw error
    }
  }

  close(): void {
    this.#locking.close()
    this.#checkpointing.close()
  }
}

/** Whether the file says that it has a log: the two bytes of its format (https://sqlite.org/fileformat2.html §1.3). */
function hasLog(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return false
  }
  try {
    const bytes = Buffer.alloc(100)
    return readSync(file, bytes, 0, bytes.length, 0) === bytes.length && bytes[18] === 2 && bytes[19] === 2
  } finally {
    closeSync(file)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
}
