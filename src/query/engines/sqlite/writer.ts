/** The one writer of the embedded database: writes that arrive together share one commit, each with its own savepoint. */
import type { Database } from 'better-sqlite3'
import type { WalSync } from '../../../store/wal-sync.ts'
import { unlessAborted } from '../../unless-aborted.ts'
import type { Stoppable } from '../engine.ts'

export interface Writer {
  /** Runs a short write; resolves after the commit that made it durable. */
  write<T>(task: (database: Database) => T, options?: WriteOptions): Promise<T>
  /** Keeps every other write waiting while another process holds the write lock. */
  exclusively<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Throws when nothing more can be written until a restart. */
  check(): void
  close(): Promise<void>
}

export interface WriteOptions {
  /** A single statement undoes itself when it fails. */
  readonly isOneStatement?: boolean
  /** Ends the waiting; a write that has begun is not stopped. The signal is asked for when a long write stands before. */
  readonly running?: Stoppable | undefined
}

interface Entry {
  readonly isOneStatement: boolean
  readonly running: Stoppable | undefined
  /** Set while the signal is listened to. */
  leave: (() => void) | undefined
  /** Returns what tells the caller, once it is on disk. */
  readonly run: () => () => void
  readonly fail: (error: unknown) => void
}

/** Turns of the event loop for which a group may wait for more while each brings some. */
const MOST_TURNS = 8

/**
 * A group is written, then synced beside the event loop, and only then told of its success. Whatever comes meanwhile is the next
 * group: it would have to wait for a sync of its own in any case, and the longer the disk takes the more share that one.
 * Readers may see rows that are not on disk yet, as they may in other databases with group commit; who wrote them has not
 * been answered then.
 */
export function createWriter(database: Database, wal?: WalSync): Writer {
  let waiting: Entry[] = []
  let scheduled = false
  /** A group that is committed and not yet on disk. */
  let syncing: Promise<void> | undefined
  /** The tail of the exclusive tasks; the group waits for it. */
  let exclusive: Promise<void> | undefined

  function schedule(): void {
    if (exclusive !== undefined) for (const entry of waiting) watch(entry)
    if (scheduled || syncing !== undefined || exclusive !== undefined || waiting.length === 0) return
    scheduled = true
    gather(waiting.length, MOST_TURNS)
  }

  /** Those who were just answered are often back in a moment: a group begins when a turn has brought nobody else. */
  function gather(seen: number, turns: number): void {
    setImmediate(() => {
      if (waiting.length > seen && turns > 0) return gather(waiting.length, turns - 1)
      scheduled = false
      if (syncing !== undefined || exclusive !== undefined) schedule()
      else begin()
    })
  }

  function begin(): void {
    const group = waiting
    waiting = []
    if (group.length === 0) return
    for (const entry of group) entry.leave?.()
    syncing = commitTogether(database, wal, group).then(() => {
      syncing = undefined
      schedule()
    })
  }

  /** Only what waits behind a long write is listened for: others have their turn as soon as the disk is done. */
  function watch(entry: Entry): void {
    if (entry.running === undefined || entry.leave !== undefined) return
    const { signal } = entry.running
    const stop = (): void => {
      waiting = waiting.filter((other) => other !== entry)
      entry.fail(signal.reason)
    }
    entry.leave = () => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  }

  return {
    write(task, { isOneStatement = false, running } = {}) {
      return new Promise((resolve, reject) => {
        waiting.push({
          isOneStatement,
          running,
          leave: undefined,
          run: () => {
            const value = task(database)
            return () => resolve(value)
          },
          fail: reject,
        })
        schedule()
      })
    },
    async exclusively(task, signal) {
      const previous = exclusive ?? Promise.resolve()
      let done = (): void => {}
      const turn = new Promise<void>((resolve) => {
        done = resolve
      })
      const mine = previous.then(() => turn)
      exclusive = mine
      void mine.then(() => {
        if (exclusive === mine) exclusive = undefined
        schedule()
      })
      try {
        await (signal === undefined ? previous : unlessAborted(previous, signal))
        // Another process must not build on a commit that is lost, and would not hear of the loss.
        await syncing
        wal?.check()
        return await task()
      } finally {
        done()
      }
    },
    check: () => wal?.check(),
    async close() {
      while (exclusive !== undefined || syncing !== undefined || waiting.length > 0) {
        await (exclusive ?? syncing)
        if (exclusive === undefined && syncing === undefined) begin()
      }
      wal?.close()
      database.close()
    },
  }
}

/** A failed task is undone alone; a failed commit or sync fails the whole group. */
async function commitTogether(database: Database, wal: WalSync | undefined, group: readonly Entry[]): Promise<void> {
  try {
    wal?.check()
    const tellings = runTogether(database, group)
    await wal?.durable()
    for (const tell of tellings) tell()
  } catch (error) {
    for (const entry of group) entry.fail(error)
  }
}

function runTogether(database: Database, group: readonly Entry[]): readonly (() => void)[] {
  const tellings: (() => void)[] = []
  try {
    database.exec('BEGIN IMMEDIATE')
    for (const entry of group) {
      if (!entry.isOneStatement) database.exec('SAVEPOINT entry')
      try {
        tellings.push(entry.run())
      } catch (error) {
        tellings.push(() => entry.fail(error))
        if (!database.inTransaction) throw error
        if (!entry.isOneStatement) database.exec('ROLLBACK TO entry')
      }
      if (!entry.isOneStatement) database.exec('RELEASE entry')
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK')
    throw error
  }
  return tellings
}
