/** Writes groups of jobs to feeds.db, each in one transaction: in the thread, or on the event loop. */
import type { Database } from 'better-sqlite3'
import { Appender } from './append.ts'
import { DelayedFeeds } from './delayed-feeds.ts'
import { HeldMessages } from './held.ts'
import type { AppendResult, Job, JobResult } from './jobs.ts'
import { Upkeep } from './upkeep.ts'

export interface TimedJob {
  readonly job: Job
  /** When it was sent. */
  readonly now: number
}

interface TimedAppend extends TimedJob {
  readonly job: Extract<Job, { kind: 'append' }>
}

const DONE: JobResult = { kind: 'done' }

export class GroupWriter {
  readonly #database: Database
  readonly #appender: Appender
  readonly #upkeep: Upkeep
  readonly #delayed: DelayedFeeds
  readonly #changes

  constructor(database: Database) {
    this.#database = database
    const held = new HeldMessages(database)
    this.#appender = new Appender(database, held)
    this.#delayed = new DelayedFeeds(database, this.#appender, held)
    this.#upkeep = new Upkeep(database, this.#appender, held, this.#delayed)
    this.#changes = database.prepare('select total_changes()').pluck()
  }

  /** One result for each job. If the transaction fails, all have failed. */
  write(group: readonly TimedJob[]): readonly JobResult[] {
    const database = this.#database
    try {
      database.exec('begin immediate')
      const results = withMergedAppends(group).flatMap((jobs) => this.#runMerged(jobs))
      database.exec('commit')
      return results
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      const failed = failure(error)
      return group.map(() => failed)
    }
  }

  /** Each request is still appended whole or not at all: if together they exceed a bound, they are written one by one. */
  #runMerged(group: readonly TimedJob[]): readonly JobResult[] {
    const appends = group.filter(isPlainAppend)
    const last = appends.at(-1)
    if (appends.length > 1 && last !== undefined) {
      const topics = appends.flatMap(({ job }) => job.batch.topics)
      const data = appends.flatMap(({ job }) => job.batch.data)
      const all: Job = { ...last.job, batch: { topics, data, once: undefined } }
      const result = this.#runOne(all, last.now)
      if (result.kind === 'appended') return resultOfEach(appends, result)
    }
    return group.map(({ job, now }) => this.#runOne(job, now))
  }

  /** A job that is refused or fails leaves nothing behind. */
  #runOne(job: Job, now: number): JobResult {
    const database = this.#database
    database.exec('savepoint job')
    let result: JobResult
    try {
      result = this.#run(job, now)
    } catch (error) {
      // A full disk, for example, has ended the transaction.
      if (!database.inTransaction) throw error
      result = failure(error)
    }
    if (result.kind === 'refused' || result.kind === 'failed') database.exec('rollback to job')
    database.exec('release job')
    return result
  }

  #run(job: Job, now: number): JobResult {
    switch (job.kind) {
      case 'define':
        this.#upkeep.define(job.feed, job.delays, now)
        return DONE
      case 'append':
        return this.#append(job, now)
      case 'purge':
        this.#upkeep.purge(job.generation)
        return DONE
      case 'drop':
        this.#upkeep.drop(job.generation)
        return DONE
      case 'sweep': {
        const before = this.#changes.get()
        const hasMore = this.#upkeep.sweep(job.feeds, now)
        return { kind: 'swept', hasMore, hasChanged: this.#changes.get() !== before }
      }
      case 'move':
        return this.#delayed.move(job.generation, now)
      case 'check':
        // Reaches the disk when it commits.
        this.#database.exec(
          "insert into requests values ('', '', 'check', '', 0, 0); delete from requests where feed = '' and key = 'check'",
        )
        return DONE
    }
  }

  /** What has expired makes room. */
  #append({ feed, batch }: TimedAppend['job'], now: number): JobResult {
    const result = this.#appender.append(feed, batch, now)
    if (result.kind !== 'refused' || (result.fault !== 'topics' && result.fault !== 'bytes')) return result
    this.#database.exec('rollback to job')
    this.#upkeep.sweep([{ rules: feed, delays: undefined }], now)
    return this.#appender.append(feed, batch, now)
  }
}

/** Requests to the same feed that follow each other, without keys, are written as one: for single messages that takes a quarter of the time. */
function withMergedAppends(group: readonly TimedJob[]): (readonly TimedJob[])[] {
  const merged: TimedJob[][] = []
  for (const timed of group) {
    const [first] = merged.at(-1) ?? []
    if (
      first !== undefined &&
      isPlainAppend(first) &&
      isPlainAppend(timed) &&
      first.job.feed.generation === timed.job.feed.generation
    )
      merged.at(-1)?.push(timed)
    else merged.push([timed])
  }
  return merged
}

function isPlainAppend(timed: TimedJob): timed is TimedAppend {
  return timed.job.kind === 'append' && timed.job.batch.once === undefined
}

function resultOfEach(appends: readonly TimedAppend[], whole: AppendResult): JobResult[] {
  let { before } = whole
  return appends.map(({ job }) => {
    const seq = before + job.batch.topics.length
    const result = { ...whole, before, seq }
    before = seq
    return result
  })
}

function failure(error: unknown): JobResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
}
