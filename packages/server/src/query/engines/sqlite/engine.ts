/** The embedded engine: one file, one writer with group commit, reader processes, and small reads on the event loop. */
import type { Database } from 'better-sqlite3'
import type { Availability } from '../../../lib/availability.ts'
import { inTurns } from '../../../lib/turns.ts'
import { GroupCommit } from '../../../store/database/group-commit.ts'
import type { SharedFile } from '../../../store/database/shared-file.ts'
import { isLocked, retryWhileLocked } from '../../../store/database/write-lock.ts'
import type { Bindable } from '../emit/parameters.ts'
import type {
  ChangeRequest,
  Engine,
  PreparedRead,
  ReadStatement,
  Stoppable,
  TempLimits,
  WriteReply,
  WriteRequest,
} from '../engine.ts'
import type { LogLimits } from '../live-source.ts'
import { missedTurn, turnOf } from '../missed-turn.ts'
import { type ResponseLimits, StoredResponses } from '../stored-responses.ts'
import { areLong, prepareCatalogue, readCatalogue, refuseTooMany } from './catalogue.ts'
import { doNotBlock, openForReading, openForWriting } from './connection.ts'
import { SQLITE } from './dialect/dialect.ts'
import { asRefusal } from './failure.ts'
import { LongRow, refuseLongRows } from './functions/functions.ts'
import { SqliteLiveSource } from './live/live-source.ts'
import { ReaderPool } from './processes/reader-pool.ts'
import { TempBudget } from './processes/temp-budget.ts'
import { Writer } from './processes/writer.ts'
import { InlineRead } from './read/inline-read.ts'
import { toSqlite } from './representation.ts'
import { serviceTables, tryWrite, watched } from './service-tables.ts'
import { StatementCache } from './statement-cache.ts'
import { areGiven, givenOutcome } from './write/given-rows.ts'
import { LongWrites } from './write/long-writes.ts'
import { type ChangeJob, findResponse, runChange, runWrite, type WriteJob } from './write/write.ts'

export interface SqliteOptions {
  readonly path: string
  /** The number of processes for long queries. */
  readonly readers: number
  readonly waitingReads: number
  /** How long a write waits for a long one of another owner before that one is stopped. */
  readonly writeWaitMs: number
  /** The most tables that can be created. */
  readonly maxTables: number
  readonly availability: Availability
  readonly log: LogLimits
  readonly temp: TempLimits
  readonly responses: ResponseLimits
  /** For workers on one file. */
  readonly shared?: SharedFile | undefined
}

/** Of processes. */
const IDLE_MS = 60_000
const NEVER: Stoppable = new AbortController()

export function openSqliteEngine(options: SqliteOptions): Engine {
  const { path, readers, waitingReads, writeWaitMs, maxTables, availability, log, temp, shared } = options
  const writing = openForWriting(path)
  prepareCatalogue(writing)
  const reading = openForReading(path)
  doNotBlock(writing, reading)
  refuseLongRows(writing)
  const commits = new GroupCommit(writing, path, shared)
  const readingStatements = new StatementCache(reading)
  const budget = new TempBudget(temp)
  const pool = new ReaderPool({
    path,
    long: readers,
    maximumWaiting: waitingReads,
    idleMilliseconds: IDLE_MS,
    budget,
  })
  const live = new SqliteLiveSource({
    reading,
    statements: readingStatements,
    writing,
    commits,
    pool,
    limits: log,
    shared,
  })
  const open: OpenDatabase = {
    writing,
    writingStatements: new StatementCache(writing),
    commits,
    reading,
    readingStatements,
    pool,
    longWrites: new LongWrites(writeWaitMs),
    writer: new Writer(path, IDLE_MS, budget),
    maxTables,
    availability,
    isShared: shared !== undefined,
  }
  const { longWrites, writer } = open
  shared?.onWaiting((owners) => longWrites.wantedElsewhere(owners))
  const responses = new StoredResponses(
    {
      table: 'main._gh_requests',
      placeholder: () => '?',
      read: <Row>(sql: string, parameters: readonly Bindable[]) =>
        retryWhileLocked(() => reading.prepare<unknown[], Row>(sql).all(...parameters)),
      write: ({ sql, parameters }) => commits.write(() => writing.prepare(sql).run(...parameters)),
    },
    options.responses,
  )
  return {
    kind: 'sqlite',
    dialect: SQLITE,
    finish: (placeholders, text) => placeholders.positional(text),
    bind: toSqlite,
    prepareRead: (query) => prepareRead(open, query),
    async write(request) {
      try {
        const reply = request.isShort ? await writeShort(open, request) : undefined
        const written = reply ?? (await writeApart(open, request))
        responses.count(request, written)
        return written
      } catch (error) {
        throw asRefusal(error) ?? error
      } finally {
        // A failed write may or may not have been committed.
        live.committed(request.tables)
      }
    },
    async loadCatalogue() {
      const rows = await retryWhileLocked(() => readCatalogue(reading))
      live.catalogueLoaded(rows)
      return rows
    },
    change: (request) => change(open, request),
    findResponse: (key) => retryWhileLocked(() => findResponse(reading, key)),
    deleteResponsesBefore: (time) =>
      commits.write(() => void writing.prepare('DELETE FROM main._gh_requests WHERE created < ?').run(time)),
    trimResponses: () => responses.trim(),
    ...serviceTables(open),
    live,
    get load() {
      return { busy: pool.busy, total: pool.size, waiting: pool.waiting, stoppedWrites: longWrites.stopped }
    },
    async check() {
      commits.check()
      await watched(open, async () => commits.write(() => tryWrite(writing)))
    },
    async close() {
      live.close()
      await pool.close()
      await writer.close()
      await commits.close()
      writing.close()
      reading.close()
    },
  }
}

interface OpenDatabase {
  readonly writing: Database
  readonly writingStatements: StatementCache
  readonly commits: GroupCommit
  readonly reading: Database
  readonly readingStatements: StatementCache
  readonly pool: ReaderPool
  readonly longWrites: LongWrites
  readonly writer: Writer
  readonly maxTables: number
  readonly availability: Availability
  /** With other workers. */
  readonly isShared: boolean
}

function prepareRead({ pool, readingStatements }: OpenDatabase, query: ReadStatement): PreparedRead {
  const { sql, columns, keyColumns } = query
  let inline: InlineRead | undefined
  return {
    readInline(run) {
      try {
        inline ??= new InlineRead(readingStatements, query)
        return inline.read(run)
      } catch (error) {
        // A reader process can wait.
        if (isLocked(error)) return undefined
        throw asRefusal(error) ?? error
      }
    },
    readStream: ({ owner, ...run }, running) => pool.read(owner, { sql, columns, keyColumns, ...run }, running),
  }
}

/** Undefined when the write would change a long row; nothing is written then. One promise, because this is every small write. */
async function writeShort(open: OpenDatabase, request: WriteRequest): Promise<WriteReply | undefined> {
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

async function writeApart(
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

/** SQLite undoes a single statement that fails, but not one that is refused for what it returned. */
function isOneStatement({ steps, isChecked, tracksRows, mustBeWhole, idempotencyKey }: WriteJob): boolean {
  const isSingle = steps.length === 1 && steps[0]?.parameterSets.length === 1
  return isSingle && !isChecked && !tracksRows && !mustBeWhole && idempotencyKey === undefined
}

async function change(
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
  job: WriteJob | ChangeJob,
  running: Stoppable,
) {
  return longWrites.run(owner, running, async (stopped) => {
    const acquired = commits.acquire()
    try {
      await turnOf(acquired, stopped)
      // The other process must not build on a commit that may be lost: it would not learn of the loss.
      await commits.synced()
      // The writer process cannot announce that it waits, so this one waits for the lock: the worker that holds it learns which owner
      // waits.
      if (isShared) {
        const owners = (): string[] => [owner ?? '']
        await turnOf(
          commits.waitForLock(() => tryLock(writing), { owners }),
          stopped,
        )
      }
      const reply = await writer.run(owner, job, stopped)
      commits.committed()
      return reply
    } finally {
      void acquired.then((release) => release())
    }
  })
}

function tryLock(writing: Database): void {
  writing.exec('BEGIN IMMEDIATE')
  writing.exec('ROLLBACK')
}
