/** The open file of the embedded engine: a connection for small reads, one for writes, and the processes for long ones. */
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Availability } from '../../../lib/availability.ts'
import { GroupCommit } from '../../../store/database/group-commit.ts'
import type { EngineOptions } from '../engine-options.ts'
import { prepareCatalogue } from './catalogue.ts'
import { doNotBlock, openForReading, openForWriting } from './connection.ts'
import { refuseLongRows } from './functions/functions.ts'
import { ReaderPool } from './processes/reader-pool.ts'
import { TempBudget } from './processes/temp-budget.ts'
import { WriterProcess } from './processes/writer-process.ts'
import { StatementCache } from './statement-cache.ts'
import { LongWriteQueue } from './write/long-write-queue.ts'

export interface OpenDatabase {
  readonly path: string
  readonly writing: Database
  readonly writingStatements: StatementCache
  readonly commits: GroupCommit
  readonly reading: Database
  readonly readingStatements: StatementCache
  readonly pool: ReaderPool
  readonly longWrites: LongWriteQueue
  readonly writer: WriterProcess
  readonly maxTables: number
  readonly availability: Availability
  /** With other workers. */
  readonly isShared: boolean
}

/** After this time without work, a process is ended. */
const IDLE_MS = 60_000

export function openDatabase(options: EngineOptions): OpenDatabase {
  const { concurrency, waiting, writeWaitMs, maxTables, availability, temp, shared } = options
  const path = join(options.dataFolder, 'query.db')
  const writing = openForWriting(path)
  prepareCatalogue(writing)
  const reading = openForReading(path)
  doNotBlock(writing, reading)
  refuseLongRows(writing)
  const budget = new TempBudget(temp)
  const longWrites = new LongWriteQueue(writeWaitMs)
  shared?.onWaiting((owners) => longWrites.wantedElsewhere(owners))
  return {
    path,
    writing,
    writingStatements: new StatementCache(writing),
    commits: new GroupCommit(writing, path, shared),
    reading,
    readingStatements: new StatementCache(reading),
    pool: new ReaderPool({ path, long: concurrency, maximumWaiting: waiting, idleMilliseconds: IDLE_MS, budget }),
    longWrites,
    writer: new WriterProcess(path, IDLE_MS, budget),
    maxTables,
    availability,
    isShared: shared !== undefined,
  }
}

export async function closeDatabase({ pool, writer, commits, writing, reading }: OpenDatabase): Promise<void> {
  await pool.close()
  await writer.close()
  await commits.close()
  writing.close()
  reading.close()
}

/** Reports whether the database takes writes. */
export async function watched<T>(
  { availability }: Pick<OpenDatabase, 'availability'>,
  write: () => Promise<T>,
): Promise<T> {
  try {
    const result = await write()
    availability.succeeded(true)
    return result
  } catch (error) {
    availability.failed(error)
    throw error
  }
}
