/**
 * Where writes and changes of the catalogue run: short ones share a commit on the event loop; long ones wait in `LongWriteQueue` and run in
 * the `WriterProcess`. Both run as a `WriteJob`.
 */
import type { Database } from 'better-sqlite3'
import { inTurns } from '../../../lib/turns.ts'
import type { GroupCommit } from '../../../store/database/group-commit.ts'
import { retryWhileLocked } from '../../../store/database/write-lock.ts'
import { unavailable } from '../../unavailable.ts'
import type { BulkRequest, ChangeRequest, Stoppable, WriteReply, WriteRequest } from '../engine.ts'
import { awaitTurn, missedTurn } from '../slots/missed-turn.ts'
import { areLong, refuseTooMany } from './catalogue.ts'
import { type OpenDatabase, watched } from './database.ts'
import { asRefusal } from './failure.ts'
import { LongRow } from './functions/functions.ts'
import type { BulkJob } from './write/bulk-job.ts'
import { wasCommitted } from './write/commit-records.ts'
import { areGiven, givenOutcome } from './write/given-rows.ts'
import { type ChangeJob, runChange, runWrite, type WriteJob } from './write/write-job.ts'

const NEVER: Stoppable = new AbortController()

/** Undefined when the write would change a long row; nothing is written then. One promise, because this is every small write. */
export async function writeShort(open: OpenDatabase, request: WriteRequest): Promise<WriteReply | undefined> {
  const { writing, writingStatements, commits, longWrites, availability } = open
  const { owner, running } = request
  try {
    const written = commits.write(() => runWrite(writing, writingStatements, request), {
      owner,
      isOneStatement: isOneStatement(request),
      running,
    })
    const reply = await longWrites.countShort(owner, written)
    availability.succeeded(true)
    return reply
  } catch (error) {
    availability.failed(error)
    if (error instanceof LongRow) return undefined
    // A short write is stopped only while it waits.
    throw missedTurn(error)
  }
}

export async function writeApart(
  open: OpenDatabase,
  { running, owner, tables: _, ...request }: WriteRequest,
): Promise<WriteReply> {
  // Rows that are known here are not sent back by the other process.
  const omitsRows = areGiven(request)
  const reply = await runApart(open, owner, { ...request, omitsRows }, running)
  if (reply === undefined) throw new Error('A long write without an outcome')
  if (!omitsRows || reply.isReplay) return reply
  return { ...reply, outcome: await inTurns(givenOutcome(request, reply.outcome.rowsAffected)) }
}

/** A bulk insert always runs in the writer process. */
export async function writeBulk(
  open: OpenDatabase,
  { running, owner, tables: _t, columns: _c, keyColumns: _k, ...job }: BulkRequest,
): Promise<WriteReply> {
  const reply = await runApart(open, owner, job, running)
  if (reply === undefined) throw new Error('A bulk insert without an outcome')
  return reply
}

/** SQLite undoes a single statement that fails, but not one that is refused for what it returned. */
function isOneStatement({ steps, tracksRows, mustBeWhole, idempotencyKey, erases }: WriteJob): boolean {
  const isSingle = steps.length === 1 && steps[0]?.parameterSets.length === 1
  const isPlain = !tracksRows && !mustBeWhole && idempotencyKey === undefined && erases === undefined
  return isSingle && steps[0]?.constraints === undefined && isPlain
}

export async function change(
  open: OpenDatabase,
  { running = NEVER, owner, ...job }: ChangeRequest,
): Promise<WriteReply | undefined> {
  const { reading, writing, commits, longWrites, maxTables } = open
  try {
    const isApart = await retryWhileLocked(() => {
      refuseTooMany(reading, job.changes, maxTables)
      return areLong(reading, job.changes)
    })
    if (isApart) return await runApart(open, owner, job, running)
    const written = watched(open, () => commits.write(() => runChange(writing, job), { owner, running }))
    return await longWrites.countShort(owner, written).catch((error) => {
      throw missedTurn(error)
    })
  } catch (error) {
    throw asRefusal(error) ?? error
  }
}

/** Runs a long write in the writer process. Other writes wait, because that process holds SQLite's write lock. */
function runApart(
  { writing, commits, longWrites, writer, isShared }: OpenDatabase,
  owner: string | undefined,
  job: WriteJob | ChangeJob | BulkJob,
  running: Stoppable,
) {
  return longWrites.run(owner, running, async (stopped) => {
    const acquired = commits.acquire()
    try {
      await awaitTurn(acquired, stopped)
      // The other process must not build on a commit that may be lost: it would not learn of the loss.
      await commits.synced()
      // The writer process cannot announce that it waits, so this one waits for the lock: the worker that holds it learns which owner
      // waits.
      if (isShared) {
        const owners = (): string[] => [owner ?? '']
        await awaitTurn(
          commits.waitForLock(() => tryLock(writing), { owners }),
          stopped,
        )
      }
      const reply = await writer.run(owner, job, {
        signal: stopped,
        findCommit: (id) => findCommit(writing, commits, id),
      })
      commits.committed()
      return reply
    } finally {
      void acquired.then((release) => release())
    }
  })
}

/** Whether the write of a process that has ended was committed. Needs exclusive use of the connection. */
async function findCommit(writing: Database, commits: GroupCommit, id: string): Promise<boolean> {
  try {
    await commits.waitForLock(() => writing.exec('BEGIN IMMEDIATE'))
    const isCommitted = wasCommitted(writing, id)
    writing.exec('COMMIT')
    await commits.durable()
    return isCommitted
  } catch {
    throw unavailable('The process of the write ended while it committed: the write may be stored or not')
  } finally {
    if (writing.inTransaction) writing.exec('ROLLBACK')
  }
}

function tryLock(writing: Database): void {
  writing.exec('BEGIN IMMEDIATE')
  writing.exec('ROLLBACK')
}
