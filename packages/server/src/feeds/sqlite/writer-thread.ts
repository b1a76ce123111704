/** The thread that writes feeds.db. What arrives while it commits forms the next group: one transaction, and one sync of the disk, for all. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { PublisherTurns, withoutChosen } from '../publisher-turns.ts'
import { Appender } from './append.ts'
import type { AppendResult, Job, JobBatch, JobResult, JobResults, SentJob } from './jobs.ts'
import { openForWriting } from './schema.ts'
import { Upkeep } from './upkeep.ts'

/** Messages of a group, which share a sync of the disk; a request with more is written alone. */
const MOST_MESSAGES = 1_000

interface QueuedJob extends SentJob {
  readonly now: number
}

const file: unknown = workerData
if (parentPort === null || typeof file !== 'string') throw new Error('This is a thread')
const port = parentPort
const database = openForWriting(file)
const appender = new Appender(database)
const upkeep = new Upkeep(database, appender)
const changes = database.prepare('select total_changes()')
const turns = new PublisherTurns()
let waiting: QueuedJob[] = []
let isScheduled = false

port.on('message', ({ now, jobs }: JobBatch) => {
  for (const job of jobs) waiting.push({ ...job, now })
  if (isScheduled) return
  isScheduled = true
  setImmediate(writeGroup)
})
port.on('close', () => database.close())
port.postMessage({ results: [] } satisfies JobResults)

function writeGroup(): void {
  isScheduled = false
  const group = turns.choose(waiting, MOST_MESSAGES)
  waiting = withoutChosen(waiting, group)
  const results = runGroup(database, group)
  port.postMessage({ results: group.map(({ id }, index) => [id, results[index] ?? DONE]) } satisfies JobResults)
  if (waiting.length === 0) return
  isScheduled = true
  setImmediate(writeGroup)
}

function runGroup(connection: Database, group: readonly QueuedJob[]): readonly JobResult[] {
  try {
    connection.exec('begin immediate')
    const results = withMergedAppends(group).flatMap((jobs) => runMerged(connection, jobs))
    connection.exec('commit')
    return results
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback')
    const failed = failure(error)
    return group.map(() => failed)
  }
}

interface QueuedAppend extends QueuedJob {
  readonly job: Extract<Job, { kind: 'append' }>
}

/** Requests to the same feed that follow each other, without keys, are written as one: for single messages that takes a quarter of the time. */
function withMergedAppends(group: readonly QueuedJob[]): (readonly QueuedJob[])[] {
  const merged: QueuedJob[][] = []
  for (const queued of group) {
    const [first] = merged.at(-1) ?? []
    if (
      first !== undefined &&
      isPlainAppend(first) &&
      isPlainAppend(queued) &&
      first.job.feed.generation === queued.job.feed.generation
    )
      merged.at(-1)?.push(queued)
    else merged.push([queued])
  }
  return merged
}

function isPlainAppend(queued: QueuedJob): queued is QueuedAppend {
  return queued.job.kind === 'append' && queued.job.batch.once === undefined
}

/** Each request is still appended whole or not at all: if together they exceed a bound, they are written one by one. */
function runMerged(connection: Database, group: readonly QueuedJob[]): readonly JobResult[] {
  const appends = group.filter(isPlainAppend)
  const last = appends.at(-1)
  if (appends.length > 1 && last !== undefined) {
    const topics = appends.flatMap(({ job }) => job.batch.topics)
    const data = appends.flatMap(({ job }) => job.batch.data)
    const all: Job = { ...last.job, batch: { topics, data, once: undefined } }
    const result = runOne(connection, all, last.now)
    if (result.kind === 'appended') return resultOfEach(appends, result)
  }
  return group.map(({ job, now }) => runOne(connection, job, now))
}

function resultOfEach(appends: readonly QueuedAppend[], whole: AppendResult): JobResult[] {
  let { before } = whole
  return appends.map(({ job }) => {
    const seq = before + job.batch.topics.length
    const result = { ...whole, before, seq }
    before = seq
    return result
  })
}

/** A job that is refused or fails leaves nothing behind. */
function runOne(connection: Database, job: Job, now: number): JobResult {
  connection.exec('savepoint job')
  let result: JobResult
  try {
    result = run(job, now)
  } catch (error) {
    // A full disk, for example, has ended the transaction.
    if (!connection.inTransaction) throw error
    result = failure(error)
  }
  if (result.kind === 'refused' || result.kind === 'failed') connection.exec('rollback to job')
  connection.exec('release job')
  return result
}

const DONE: JobResult = { kind: 'done' }

function run(job: Job, now: number): JobResult {
  switch (job.kind) {
    case 'define':
      upkeep.define(job.feed, now)
      return DONE
    case 'append':
      return append(job, now)
    case 'purge':
      upkeep.purge(job.generation)
      return DONE
    case 'drop':
      upkeep.drop(job.generation)
      return DONE
    case 'sweep': {
      const before = changes.pluck().get()
      const hasMore = upkeep.sweep(job.feeds, now)
      return { kind: 'swept', hasMore, hasChanged: changes.pluck().get() !== before }
    }
    case 'check':
      // Reaches the disk when it commits.
      database.exec(
        "insert into requests values ('', '', 'check', '', 0, 0); delete from requests where feed = '' and key = 'check'",
      )
      return DONE
  }
}

/** What has expired makes room. */
function append({ feed, batch }: Extract<Job, { kind: 'append' }>, now: number): JobResult {
  const result = appender.append(feed, batch, now)
  if (result.kind !== 'refused' || (result.fault !== 'topics' && result.fault !== 'bytes')) return result
  database.exec('rollback to job')
  upkeep.sweep([feed], now)
  return appender.append(feed, batch, now)
}

function failure(error: unknown): JobResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
}
