/** Group commit for the writing connection of a SQLite database: writes that arrive together share a transaction and a sync. */
import type { Database } from 'better-sqlite3'
import { BatchQueue } from '../../lib/batch-queue.ts'
import type { SharedFile } from './shared-file.ts'
import { WalSync } from './wal-sync.ts'
import { isLocked, LOCK_WAIT_MS, retryWhileLocked } from './write-lock.ts'

export interface WriteOptions {
  /** Writes of different owners take turns. */
  readonly owner?: string | undefined
  /** SQLite itself undoes a single statement that fails; anything more gets a savepoint. */
  readonly isOneStatement?: boolean
  /** Ends the wait for exclusive use of the connection, or for another process. It has no other effect: a write that has started continues. */
  readonly running?: { readonly signal: AbortSignal } | undefined
}

interface LockWait {
  /** When the oldest write was queued. */
  readonly since?: number | undefined
  /** Owners whose writes wait now; an empty owner is the service itself. */
  readonly owners?: () => readonly string[]
}

interface PendingWrite {
  readonly owner: string | undefined
  readonly isOneStatement: boolean
  /** Runs the write and returns the function that reports its success, to be called once it is on disk. */
  readonly run: () => () => void
  readonly fail: (error: unknown) => void
  /** When it was queued. */
  readonly since: number
  readonly running: WriteOptions['running']
  stopListening: (() => void) | undefined
}

/** How long a write waits for other workers. A long write of another worker is stopped earlier than this, or not at all. */
const SHARED_LOCK_WAIT_MS = 30_000
/** How often a waiting worker notifies the others. */
const ASK_EVERY_MS = 250
/** The lock of another worker is free again within some milliseconds, and a signal with its timer costs more than the write itself. */
const LISTEN_AFTER_MS = 20

/** A group blocks the event loop while it is written. */
const MAX_GROUP_MS = 20

/**
 * A group is committed, then synced off the event loop, and only then acknowledged. Writes that arrive meanwhile form the next
 * group: they need a later sync in any case, and the slower the disk is, the more of them share it.
 * As in other databases with group commit, readers may see rows that are not on disk yet; their writer has not been answered.
 */
export class GroupCommit {
  readonly #database: Database
  readonly #file: string
  readonly #shared: Pick<SharedFile, 'committed' | 'waiting'> | undefined
  readonly #queue = new BatchQueue<PendingWrite>({
    maxTurns: 8,
    isReady: () => this.#syncing === undefined && this.#exclusive === undefined,
    start: () => this.#commitGroup(),
  })
  #wal: WalSync | undefined
  /** The newest group that is committed and not yet on disk. */
  #syncing: Promise<void> | undefined
  /** Resolves when a group that waits for the lock of another process has been committed, or has failed. */
  #locking: Promise<void> | undefined
  /** Set when the wait for that lock is long: waiting writes then listen to their abort signals. */
  #isLongLocked = false
  /** Resolves when the last caller in line has released the connection. */
  #exclusive: Promise<void> | undefined

  /** The connection must have `synchronous = full`, and no busy timeout. `shared` is for one of several workers. */
  constructor(database: Database, file: string, shared?: Pick<SharedFile, 'committed' | 'waiting'>) {
    this.#database = database
    this.#file = file
    this.#shared = shared
  }

  /** Resolves when the commit that holds the write is on disk. A write that fails is undone alone. */
  write<T>(task: () => T, { owner, isOneStatement = false, running }: WriteOptions = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const write: PendingWrite = {
        owner,
        isOneStatement,
        run: () => {
          const value = task()
          return () => resolve(value)
        },
        fail: reject,
        since: performance.now(),
        running,
        stopListening: undefined,
      }
      this.#queue.push(write)
      if (this.#exclusive !== undefined || this.#isLongLocked) this.#listen(write)
    })
  }

  /** Resolves when no other caller uses the connection, with the function that releases it. Writes queued earlier are committed first. */
  async acquire(): Promise<() => void> {
    const previous = this.#exclusive
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const mine = previous === undefined ? released : previous.then(() => released)
    this.#exclusive = mine
    void mine.then(() => {
      if (this.#exclusive !== mine) return
      this.#exclusive = undefined
      this.#queue.schedule()
    })
    await previous
    if (this.#locking !== undefined) await this.#locking
    this.#commitGroup(Number.POSITIVE_INFINITY)
    if (this.#locking !== undefined) await this.#locking
    return release
  }

  /** Call it after a commit that was not made here: under exclusive use, or by another process for this one. */
  committed(): void {
    this.#shared?.committed()
  }

  /** Throws when nothing more can be written until a restart. */
  check(): void {
    this.#wal?.check()
  }

  /**
   * Begins a transaction once no other process has locked the file, unless the oldest write has waited too long; writes that arrive
   * meanwhile join the group. A worker that has a long write learns which others wait, and may stop it for them.
   */
  async waitForLock(
    begin: () => void,
    { since = performance.now(), owners = () => [''] }: LockWait = {},
  ): Promise<void> {
    const asking = this.#shared && setInterval(() => this.#shared?.waiting(owners()), ASK_EVERY_MS)
    try {
      await retryWhileLocked(begin, since + this.#maxWaitMs)
    } finally {
      clearInterval(asking)
    }
  }

  get #maxWaitMs(): number {
    return this.#shared === undefined ? LOCK_WAIT_MS : SHARED_LOCK_WAIT_MS
  }

  /**
   * Resolves when everything committed so far is on disk. SQLite itself syncs the first commit, and with it the folder of the new
   * log. From then on the log is synced here; SQLite still syncs it before each checkpoint.
   */
  async durable(): Promise<void> {
    if (this.#wal !== undefined) return this.#wal.durable()
    this.#wal = WalSync.of(this.#file)
    if (this.#wal !== undefined) this.#database.pragma('synchronous = normal')
  }

  /** Resolves when the committed groups are on disk. */
  async synced(): Promise<void> {
    await this.#syncing
    this.check()
  }

  /** Writes what is waiting. The connection itself is closed by the caller. */
  async close(): Promise<void> {
    while (this.#exclusive !== undefined || this.#syncing !== undefined || this.#queue.length > 0) {
      await (this.#exclusive ?? this.#syncing)
      if (this.#exclusive === undefined && this.#syncing === undefined) this.#commitGroup()
    }
    this.#wal?.close()
  }

  /** Lets the caller stop a queued write. */
  #listen(write: PendingWrite): void {
    const { running, stopListening } = write
    if (running === undefined || stopListening !== undefined) return
    const { signal } = running
    const stop = (): void => {
      this.#queue.remove(write)
      write.fail(signal.reason)
    }
    if (signal.aborted) stop()
    else {
      write.stopListening = () => signal.removeEventListener('abort', stop)
      signal.addEventListener('abort', stop, { once: true })
    }
  }

  /** Writes that do not fit into the time are left for the next group. */
  #commitGroup(maxMs = MAX_GROUP_MS): void {
    if (this.#queue.length === 0) return
    const syncing = this.#commit(maxMs).then(() => {
      if (this.#syncing !== syncing) return
      this.#syncing = undefined
      this.#queue.schedule()
    })
    this.#syncing = syncing
  }

  /** A failed commit or sync fails the whole group. */
  async #commit(maxMs: number): Promise<void> {
    let group: readonly PendingWrite[] = []
    let endLocking = (): void => {}
    try {
      this.check()
      // Synchronously if possible: `acquire` relies on it.
      if (!this.#begin()) {
        endLocking = this.#startLocking()
        await this.waitForLock(() => this.#database.exec('BEGIN IMMEDIATE'), {
          since: this.#queue.first?.since,
          owners: () => [...new Set(this.#queue.items.map(({ owner }) => owner ?? ''))],
        })
      }
      group = interleaved(this.#queue.take(this.#queue.length))
      const reports = this.#runInTransaction(group, maxMs)
      this.#queue.putBack(group.slice(reports.length))
      group = group.slice(0, reports.length)
      endLocking()
      await this.durable()
      this.committed()
      for (const report of reports) report()
    } catch (error) {
      if (group.length === 0) group = this.#takeFailed(error)
      for (const write of group) write.fail(error)
    } finally {
      endLocking()
    }
  }

  /** False while another process has locked the file. */
  #begin(): boolean {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      return true
    } catch (error) {
      if (isLocked(error)) return false
      throw error
    }
  }

  #startLocking(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#locking = promise
    const listening = setTimeout(() => {
      this.#isLongLocked = true
      for (const write of [...this.#queue.items]) this.#listen(write)
    }, LISTEN_AFTER_MS)
    return () => {
      clearTimeout(listening)
      if (this.#locking === promise) {
        this.#locking = undefined
        this.#isLongLocked = false
      }
      resolve()
    }
  }

  /** The writes that fail because no transaction could begin. Writes that may wait longer for the lock stay queued. */
  #takeFailed(error: unknown): readonly PendingWrite[] {
    const waiting = this.#queue.take(this.#queue.length)
    if (!isLocked(error)) return waiting
    const isOver = ({ since }: PendingWrite) => performance.now() - since >= this.#maxWaitMs
    this.#queue.putBack(waiting.filter((write) => !isOver(write)))
    return waiting.filter(isOver)
  }

  /** Runs the first write, and further ones until the time is over, and commits; returns the report of each that was run. */
  #runInTransaction(waiting: readonly PendingWrite[], maxMs: number): readonly (() => void)[] {
    const database = this.#database
    const end = performance.now() + maxMs
    const reports: (() => void)[] = []
    try {
      for (const write of waiting) {
        if (reports.length > 0 && performance.now() > end) break
        write.stopListening?.()
        if (!write.isOneStatement) database.exec('SAVEPOINT entry')
        try {
          reports.push(write.run())
        } catch (error) {
          reports.push(() => write.fail(error))
          if (!database.inTransaction) throw error
          if (!write.isOneStatement) database.exec('ROLLBACK TO entry')
        }
        if (!write.isOneStatement) database.exec('RELEASE entry')
      }
      database.exec('COMMIT')
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    }
    return reports
  }
}

/** The first write of each owner, then the second of each, and so on. */
function interleaved(writes: readonly PendingWrite[]): readonly PendingWrite[] {
  const first = writes[0]?.owner
  if (writes.every(({ owner }) => owner === first)) return writes
  const byOwner = [...Map.groupBy(writes, ({ owner }) => owner).values()]
  const turns = Math.max(...byOwner.map(({ length }) => length))
  return Array.from({ length: turns }, (_turn, index) => byOwner.flatMap((own) => own[index] ?? [])).flat()
}
