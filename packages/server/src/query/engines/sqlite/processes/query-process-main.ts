/** The program of a process that runs queries: takes jobs from its input one by one, and can be killed at any time. */
import { flushCompileCache } from 'node:module'
import { getHeapStatistics, serialize } from 'node:v8'
import type { Database } from 'better-sqlite3'
import { collectGarbage } from '../../../../child-process/collect-garbage.ts'
import { endWithServer } from '../../../../child-process/end-with-server.ts'
import { decodePayload, FRAME, readFrameSync, writeFrameSync } from '../../../../child-process/frames.ts'
import { BACKGROUND_PRIORITY, lowerPriority, READ_PRIORITY } from '../../../../child-process/priority.ts'
import { release } from '../../../../lib/release.ts'
import type { ExplainJob, ExplainOutcome } from '../../column-tables.ts'
import type { WriteOutcome, WriteReply } from '../../engine.ts'
import { tempFilesError } from '../../runtime-error.ts'
import { runSegmentJob, type SegmentJob } from '../columns/segment-jobs.ts'
import { openForWriting } from '../connection.ts'
import { describeFailure } from '../failure.ts'
import { explainParts } from '../read/explain-parts.ts'
import { encodeKeptChunk, type KeptJob, readKept } from '../read/kept-read.ts'
import { type LiveJob, type LiveOutcome, readLive } from '../read/live-read.ts'
import { StatementCache } from '../statement-cache.ts'
import { detachSpool, runBulk } from '../write/bulk-job.ts'
import { recordCommit } from '../write/commit-records.ts'
import { runChange, runWrite } from '../write/write-job.ts'
import { readLong } from './long-read.ts'
import type { LongWrite, ReaderJob } from './query-process.ts'
import { ReadConnections } from './read-connections.ts'

const INPUT = 0
const OUTPUT = 1
const NOTHING = Buffer.alloc(0)

const [, , path, tempBytes, task] = process.argv
if (path === undefined) throw new Error('The path of the database is missing')

endWithServer()

/** The most cells that the server can read without blocking its event loop for long. */
const SLICE_CELLS = 10_000
/** A heap that is larger after a job holds garbage, mostly: by itself V8 would keep it for as long as the process is idle. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024

if (task === 'write') writeJobs(path)
else await readJobs(path)

async function readJobs(database: string): Promise<void> {
  const connections = new ReadConnections(database)
  // Not before the process has started: on a busy machine the start alone would take seconds. Writes keep the usual priority,
  // because other writes wait for them, and so do the groups of materialized views that a commit has touched.
  if (task !== 'kept-read') lowerPriority(process.pid, task === 'background-read' ? BACKGROUND_PRIORITY : READ_PRIORITY)
  writeFrameSync(OUTPUT, FRAME.ready, NOTHING)
  for (let isFirst = true; ; isFirst = false) {
    const frame = readFrameSync(INPUT)
    if (frame === undefined) break
    try {
      writeFrameSync(OUTPUT, FRAME.done, serialize(await read(connections, decodePayload(frame.payload) as ReaderJob)))
    } catch (error) {
      const failure = isFileLimit(error) ? tempFilesError(Number(tempBytes)) : error
      writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(failure)))
    }
    // Written now, so that the next process starts faster: this one will be killed, and would not write it at exit.
    if (isFirst) flushCompileCache()
    leaveNoGarbage()
  }
  process.exit()
}

function read(connections: ReadConnections, job: ReaderJob) {
  if (!('kind' in job)) return readLong(connections, job, sendChunk)
  switch (job.kind) {
    case 'live':
      return live(connections, job)
    case 'kept':
      return kept(connections, job)
    case 'explain-columns':
      return explain(connections, job)
    default:
      return segment(connections, job)
  }
}

async function kept(connections: ReadConnections, job: KeptJob) {
  const { connection, statements } = await connections.forRows()
  return readKept(connection, statements, job, (rows) => writeFrameSync(OUTPUT, FRAME.chunk, encodeKeptChunk(rows)))
}

async function explain(connections: ReadConnections, job: ExplainJob): Promise<ExplainOutcome> {
  const { connection, segments } = await connections.forRows()
  return { kind: 'explained', explained: explainParts(connection, job, segments) }
}

async function segment(connections: ReadConnections, job: SegmentJob) {
  const { connection } = await connections.forRows()
  return runSegmentJob(connection, job)
}

function leaveNoGarbage(): void {
  const { total_heap_size, external_memory } = getHeapStatistics()
  if (total_heap_size + external_memory > MAX_KEPT_BYTES) collectGarbage()
}

/** A reader writes only to temporary files, whose length the operating system limits (RLIMIT_FSIZE). */
function isFileLimit(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_IOERR_WRITE'
}

async function live(connections: ReadConnections, job: LiveJob): Promise<LiveOutcome> {
  const { connection, statements } = await connections.forRows()
  return readLive(connection, statements, job, (encoder) => writeFrameSync(OUTPUT, FRAME.chunk, encoder.take()))
}

function sendChunk(chunk: Uint8Array): void {
  writeFrameSync(OUTPUT, FRAME.chunk, chunk)
  release(chunk)
}

function writeJobs(file: string): void {
  let opened: { readonly database: Database; readonly statements: StatementCache } | undefined
  for (let isFirst = true; ; isFirst = false) {
    const frame = readFrameSync(INPUT)
    if (frame === undefined) break
    try {
      opened ??= openWriting(file)
      write(opened.database, opened.statements, decodePayload(frame.payload) as LongWrite)
      writeFrameSync(OUTPUT, FRAME.done, NOTHING)
    } catch (error) {
      writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(error)))
    }
    if (isFirst) flushCompileCache()
    leaveNoGarbage()
  }
  process.exit()
}

function openWriting(file: string) {
  const database = openForWriting(file)
  return { database, statements: new StatementCache(database, 10) }
}

function write(database: Database, statements: StatementCache, { id, job }: LongWrite): void {
  const run = () => {
    if ('spool' in job) return runBulk(database, statements, job)
    return 'changes' in job ? runChange(database, job) : runWrite(database, statements, job)
  }
  const prepare = (): void => {
    const reply = run()
    recordCommit(database, id)
    send(reply)
    // The server may have killed this process meanwhile, because the write was stopped: it alone decides.
    if (readFrameSync(INPUT)?.kind !== FRAME.commit) throw new Error('The server is gone')
  }
  try {
    database.transaction(prepare).immediate()
  } finally {
    if ('spool' in job) detachSpool(database)
  }
}

/** Before the commit: what could go wrong here must not fail a write that is committed. */
function send(reply: WriteReply | undefined): void {
  for (const rows of sliceRows(reply?.outcome.rows ?? [])) writeFrameSync(OUTPUT, FRAME.chunk, serialize(rows))
  const last = reply === undefined ? undefined : { ...reply, outcome: { ...reply.outcome, rows: [] } }
  writeFrameSync(OUTPUT, FRAME.prepared, serialize(last))
}

function* sliceRows(rows: WriteOutcome['rows']): Generator<WriteOutcome['rows']> {
  const length = Math.max(1, Math.floor(SLICE_CELLS / (rows[0]?.length ?? 1)))
  for (let start = 0; start < rows.length; start += length) yield rows.slice(start, start + length)
}
