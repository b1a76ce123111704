/** The one writer of the embedded database: writes that arrive together share one commit, each with its own savepoint. */
import type { Database } from 'better-sqlite3'
import { unlessAborted } from '../../unless-aborted.ts'

export interface Writer {
  /** Runs a short write; resolves after the commit that made it durable. */
  write<T>(task: (database: Database) => T, options?: WriteOptions): Promise<T>
  /** Keeps every other write waiting while another process holds the write lock. */
  exclusively<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>
  close(): Promise<void>
}

export interface WriteOptions {
  /** A single statement undoes itself when it fails. */
  readonly isOneStatement?: boolean
  /** Ends the waiting; a write that has begun is not stopped. */
  readonly signal?: AbortSignal
}

interface Entry {
  readonly isOneStatement: boolean
  readonly signal: AbortSignal | undefined
  /** Set while the signal is listened to. */
  leave: (() => void) | undefined
  readonly run: () => void
  readonly settle: () => void
  readonly fail: (error: unknown) => void
}

export function createWriter(database: Database): Writer {
  let waiting: Entry[] = []
  let scheduled = false
  /** The tail of the exclusive tasks; the group waits for it. */
  let exclusive: Promise<void> | undefined

  function schedule(): void {
    if (exclusive !== undefined) for (const entry of waiting) watch(entry)
    if (scheduled || exclusive !== undefined || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      if (exclusive !== undefined) {
        schedule()
        return
      }
      const group = waiting
      waiting = []
      for (const entry of group) entry.leave?.()
      commitTogether(database, group)
    })
  }

  /** Only what waits behind a long write is listened for: a group commits at once. */
  function watch(entry: Entry): void {
    const { signal } = entry
    if (signal === undefined || entry.leave !== undefined) return
    const stop = (): void => {
      waiting = waiting.filter((other) => other !== entry)
      entry.fail(signal.reason)
    }
    entry.leave = () => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  }

  return {
    write(task, { isOneStatement = false, signal } = {}) {
      return new Promise((resolve, reject) => {
        let outcome: (() => void) | undefined
        waiting.push({
          isOneStatement,
          signal,
          leave: undefined,
          run: () => {
            const value = task(database)
            outcome = () => resolve(value)
          },
          settle: () => outcome?.(),
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
        return await task()
      } finally {
        done()
      }
    },
    async close() {
      while (exclusive !== undefined) await exclusive
      const group = waiting
      waiting = []
      commitTogether(database, group)
      database.close()
    },
  }
}

/** A failed task is undone alone; a failed commit fails the whole group. */
function commitTogether(database: Database, group: readonly Entry[]): void {
  if (group.length === 0) return
  const failures: { entry: Entry; error: unknown }[] = []
  const kept: Entry[] = []
  try {
    database.exec('BEGIN IMMEDIATE')
    for (const entry of group) {
      if (!entry.isOneStatement) database.exec('SAVEPOINT entry')
      try {
        entry.run()
        kept.push(entry)
      } catch (error) {
        failures.push({ entry, error })
        if (!database.inTransaction) throw error
        if (!entry.isOneStatement) database.exec('ROLLBACK TO entry')
      }
      if (!entry.isOneStatement) database.exec('RELEASE entry')
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK')
    for (const entry of group) entry.fail(error)
    return
  }
  for (const { entry, error } of failures) entry.fail(error)
  for (const entry of kept) entry.settle()
}
