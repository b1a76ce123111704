/** The program of the second thread of a grouping by parts: see split-helper.ts. */
import { flushCompileCache } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { openForReading, prepareLongReads } from '../connection.ts'
import { beginToRead, MAX_WAIT_MS, type SplitJob, TURN } from './split-helper.ts'
import { PartCursor, PartTable } from './split-parts.ts'

/** With this many rows, the parts are combined and sent before more are added. */
const MAX_PARTS = 100_000
/** With more groups, sending them costs more than the thread gains. */
const MAX_GROUPS = 20_000

const connection = openForReading(String(workerData))
prepareLongReads(connection)
connection.pragma('query_only = OFF')

parentPort?.on('message', (job: SplitJob) => {
  try {
    if (begin(job)) takeParts(job)
  } catch {
    // The first thread continues without this one.
  } finally {
    if (connection.inTransaction) connection.exec('ROLLBACK')
  }
  // Written now, so that the next thread starts faster: this one ends with its process.
  flushCompileCache()
})

/** Whether this thread should take parts, after both have begun. */
function begin({ turn }: SplitJob): boolean {
  if (Atomics.load(turn, 0) !== TURN.asked) return false
  connection.exec('BEGIN')
  beginToRead(connection)
  if (Atomics.compareExchange(turn, 0, TURN.asked, TURN.begun) !== TURN.asked) return false
  Atomics.notify(turn, 0)
  Atomics.wait(turn, 0, TURN.begun, MAX_WAIT_MS)
  return Atomics.compareExchange(turn, 0, TURN.begun, TURN.cancelled) === TURN.started
}

function takeParts(job: SplitJob): void {
  let turn: number = TURN.failed
  try {
    if (fill(connection, job)) turn = TURN.done
  } finally {
    if (turn === TURN.failed) new PartCursor(job.cursor).end()
    Atomics.store(job.turn, 0, turn)
    Atomics.notify(job.turn, 0)
  }
}

function fill(database: Database, { split, cursor: buffer, port }: SplitJob): boolean {
  const cursor = new PartCursor(buffer)
  const parts = new PartTable(database, split)
  for (;;) {
    if (!parts.fill(cursor, () => parts.groups < MAX_PARTS)) return false
    const isFull = parts.groups >= MAX_PARTS
    const rows = parts.take()
    port.postMessage(rows)
    if (!isFull || rows.length > MAX_GROUPS) return true
  }
}
