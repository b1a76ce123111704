/** The program of a process that runs queries: takes jobs from its input one by one, and can be killed at any time. */
import { flushCompileCache } from 'node:module'
import { serialize } from 'node:v8'
import type { Database } from 'better-sqlite3'
import { type ReadOutcome, release, type TextRowEncoder } from '../../../model/result.ts'
import { createEncoder } from '../../../results/byte-encoder.ts'
import { BoundedRows, CHUNK_BYTES } from '../../bounded-rows.ts'
import type { SqlStatement } from '../../emit/parameters.ts'
import type { WriteOutcome, WriteReply } from '../../engine.ts'
import { tempFilesError } from '../../runtime-error.ts'
import { openForReading, openForWriting, prepareLongReads } from '../connection.ts'
import { describeFailure } from '../failure.ts'
import { type LiveJob, readLive } from '../read/live-read.ts'
import { RowFeed } from '../read/row-feed.ts'
import { SplitHelper } from '../read/split-helper.ts'
import { readSplit } from '../read/split-read.ts'
import { longRowDecoder } from '../representation.ts'
import { StatementCache } from '../statement-cache.ts'
import { runBulk } from '../write/bulk-job.ts'
import { recordCommit } from '../write/commit-records.ts'
import { runChange, runWrite } from '../write/write-job.ts'
import { endWithServer } from './end-with-server.ts'
import { decodePayload, FRAME, readFrameSync, writeFrameSync } from './frames.ts'
import { BACKGROUND_PRIORITY, lowerPriority, READ_PRIORITY } from './process-priority.ts'
import type { LongWrite, ReadJob } from './query-process.ts'

const INPUT = 0
const OUTPUT = 1
const NOTHING = Buffer.alloc(0)

const [, , path, tempBytes, task] = process.argv
if (path === undefined) throw new Error('The path of the database is missing')

endWithServer()

/** The most cells that the server can read without blocking its event loop for long. */
const SLICE_CELLS = 10_000

const LONG_CHUNK_BYTES = 4 * CHUNK_BYTES

if (task === 'write') writeJobs(path)
else await readJobs(path)

async function readJobs(database: string): Promise<void> {
  const connection = openForReading(database)
  prepareLongReads(connection)
  const statements = new StatementCache(connection, 50)
  const feed = new RowFeed(connection, statements)
  const helper = task === 'read' ? SplitHelper.open(database) : undefined
  // Not before the process has started: on a busy machine the start alone would take seconds. Writes keep the usual priority,
  // because other writes wait for them.
  lowerPriority(process.pid, task === 'background-read' ? BACKGROUND_PRIORITY : READ_PRIORITY)
  writeFrameSync(OUTPUT, FRAME.ready, NOTHING)
  for (let isFirst = true; ; isFirst = false) {
    const frame = readFrameSync(INPUT)
    if (frame === undefined) break
    try {
      const job = decodePayload(frame.payload) as ReadJob | LiveJob
      const outcome =
        'kind' in job ? readLive(connection, statements, job, sendText) : await read(connection, feed, helper, job)
      writeFrameSync(OUTPUT, FRAME.done, serialize(outcome))
    } catch (error) {
      const failure = isFileLimit(error) ? tempFilesError(Number(tempBytes)) : error
      writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(failure)))
    }
    // Written now, so that the next process starts faster: this one will be killed, and would not write it at exit.
    if (isFirst) flushCompileCache()
  }
  process.exit()
}

/** A reader writes only to temporary files, whose length the operating system limits (RLIMIT_FSIZE). */
function isFileLimit(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_IOERR_WRITE'
}

function sendText(encoder: TextRowEncoder): void {
  writeFrameSync(OUTPUT, FRAME.chunk, encoder.take())
}

async function read(
  connection: Database,
  feed: RowFeed,
  helper: SplitHelper | undefined,
  job: ReadJob,
): Promise<ReadOutcome> {
  const encoder = await createEncoder(job.encoding, job.columns)
  const rows = new BoundedRows(encoder, job.limits, longRowDecoder(job.columns, job.keyColumns))
  const send = (): void => {
    const chunk = rows.count(encoder.take())
    writeFrameSync(OUTPUT, FRAME.chunk, chunk)
    release(chunk)
  }
  // The first rows are sent soon; what follows is for clients that read all, in fewer and longer chunks.
  const laterChunkBytes = job.encoding.format === 'wire' ? LONG_CHUNK_BYTES : CHUNK_BYTES
  let chunkBytes = CHUNK_BYTES
  const names = [...job.columns.map((_, index) => `c${index}`), ...job.keyColumns.map((_, index) => `k${index}`)]
  const addAll = (statement: SqlStatement): void => {
    feed.read(statement, names, (raw) => {
      if (!rows.add(raw)) return false
      if (encoder.pending < chunkBytes) return true
      send()
      chunkBytes = laterChunkBytes
      while (encoder.pending >= CHUNK_BYTES) send()
      return true
    })
  }
  const isRead = job.split !== undefined && readSplit(connection, job, job.split, helper, addAll)
  if (!isRead) addAll(job)
  encoder.end?.()
  do send()
  while (encoder.pending > 0)
  return { ...rows.outcome(job.columns.length), trailer: encoder.trailer?.() }
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
  database.transaction(prepare).immediate()
}

/** Before the commit: what could go wrong here must not fail a write that is committed. */
function send(reply: WriteReply | undefined): void {
  for (const rows of slicesOf(reply?.outcome.rows ?? [])) writeFrameSync(OUTPUT, FRAME.chunk, serialize(rows))
  const last = reply === undefined ? undefined : { ...reply, outcome: { ...reply.outcome, rows: [] } }
  writeFrameSync(OUTPUT, FRAME.prepared, serialize(last))
}

function* slicesOf(rows: WriteOutcome['rows']): Generator<WriteOutcome['rows']> {
  const length = Math.max(1, Math.floor(SLICE_CELLS / (rows[0]?.length ?? 1)))
  for (let start = 0; start < rows.length; start += length) yield rows.slice(start, start + length)
}
