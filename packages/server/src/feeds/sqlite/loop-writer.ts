/** Writes feeds.db on the event loop while there is little to write: a thread, with its JavaScript engine, takes 20 MiB. */
import type { Database } from 'better-sqlite3'
import type { MonotonicClock } from 'gatehouse-protocol'
import { GroupWriter, type TimedJob } from './group-writer.ts'
import { type JobResult, queuedRequest } from './jobs.ts'
import { openForWriting } from './schema.ts'

/** Of the jobs of one turn; a message is 1. */
const MOST_SIZE = 100
/** The length of the file up to which changes of a whole feed are short. */
const MOST_PAGES = 512
/** What writing, with the syncs of the disk, may take of the time. */
const SHARE = 1 / 20
/** What it may take at once: a checkpoint, for example. */
const MOST_MS = 100

export class LoopWriter {
  readonly #database: Database
  readonly #writer: GroupWriter
  readonly #pages
  readonly #monotonic: MonotonicClock
  /** Time that it has used beyond its share, as it was at `#countedAt`. */
  #usedMs = 0
  #countedAt: number

  constructor(file: string, monotonic: MonotonicClock) {
    this.#monotonic = monotonic
    this.#countedAt = monotonic()
    this.#database = openForWriting(file)
    // Where another process holds the lock, the thread waits for it.
    this.#database.pragma('busy_timeout = 0')
    this.#writer = new GroupWriter(this.#database)
    this.#pages = this.#database.prepare<[], number>('pragma page_count').pluck()
  }

  /** Undefined if the thread is to write these jobs, and all that follow: then nothing was written. */
  write(jobs: readonly TimedJob[]): readonly JobResult[] | undefined {
    const begun = this.#monotonic()
    this.#usedMs = Math.max(0, this.#usedMs - (begun - this.#countedAt) * SHARE)
    this.#countedAt = begun
    if (this.#usedMs > MOST_MS) return undefined
    try {
      if (!this.#areShort(jobs)) return undefined
      const results = this.#writer.write(jobs)
      this.#usedMs += this.#monotonic() - begun
      const isBusy = results.some((result) => result.kind === 'failed' && result.code.startsWith('SQLITE_BUSY'))
      return isBusy ? undefined : results
    } catch {
      // The file cannot be read, for example. The jobs fail with the reason that the thread finds.
      return undefined
    }
  }

  close(): void {
    this.#database.close()
  }

  #areShort(jobs: readonly TimedJob[]): boolean {
    const size = jobs.reduce((sum, { job }) => sum + queuedRequest(job).size, 0)
    return size <= MOST_SIZE && (jobs.every(({ job }) => job.kind === 'append') || this.#isSmall())
  }

  #isSmall(): boolean {
    return (this.#pages.get() ?? 0) <= MOST_PAGES
  }
}
