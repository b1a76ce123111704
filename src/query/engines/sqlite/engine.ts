/** The embedded engine: one file, one writer with group commit, reader processes, and cheap lookups in the server itself. */
import type { Database } from 'better-sqlite3'
import type { CatalogueRow } from '../../catalogue/definition.ts'
import type { ChangeRequest, Engine, ReadRequest, WholeRead, WriteReply, WriteRequest } from '../engine.ts'
import { createAuditCopy } from './audit-copy.ts'
import { leaveSyncing, openForReading, openForWriting } from './connection.ts'
import { isLong, prepareCatalogue, readCatalogue } from './define.ts'
import { SQLITE } from './dialect.ts'
import { Statements } from './execute.ts'
import { asRefusal } from './failure.ts'
import type { SmallRead } from './plain-read.ts'
import { Readers } from './readers.ts'
import { toSqlite } from './representation.ts'
import { readSmall } from './small-read.ts'
import { recall, runChange, runWrite } from './write.ts'
import { runInProcess } from './write-process.ts'
import { createWriter, type Writer } from './writer.ts'

export interface SqliteOptions {
  readonly path: string
  readonly readers: number
  readonly waitingReads: number
}

const READER_IDLE_MS = 60_000
const NEVER = new AbortController().signal

export function openSqliteEngine(options: SqliteOptions): Engine {
  const { path } = options
  const writing = openForWriting(path)
  prepareCatalogue(writing)
  const reading = openForReading(path)
  const state: State = {
    path,
    writer: createWriter(writing, leaveSyncing(writing, path)),
    writerStatements: new Statements(writing),
    reading,
    statements: new Statements(reading),
    readers: new Readers({
      path,
      maximum: options.readers,
      maximumWaiting: options.waitingReads,
      idleMilliseconds: READER_IDLE_MS,
    }),
  }
  return {
    kind: 'sqlite',
    dialect: SQLITE,
    finish: (slots, marked) => slots.positional(marked),
    bind: toSqlite,
    read: (request) => state.readers.run(jobOf(request), request.signal),
    readAtOnce: (request) => readAtOnce(state, request),
    write: (request) => write(state, request),
    loadCatalogue: async (): Promise<readonly CatalogueRow[]> => readCatalogue(reading),
    change: (request) => change(state, request),
    recall: async (once) => recall(reading, once),
    forgetRequests: (before) =>
      state.writer.write(
        (database) => void database.prepare('DELETE FROM main._gh_requests WHERE created < ?').run(before),
      ),
    auditCopy: createAuditCopy(reading, state.writer),
    get load() {
      return { busy: state.readers.busy, total: state.readers.size }
    },
    async check() {
      state.writer.check()
      readCatalogue(reading)
    },
    async close() {
      await state.readers.close()
      await state.writer.close()
      reading.close()
    },
  }
}

interface State {
  readonly path: string
  readonly writer: Writer
  readonly writerStatements: Statements
  readonly reading: Database
  readonly statements: Statements
  readonly readers: Readers
}

/** Plain data: neither the signal nor anything else of the server crosses to a reader. */
function jobOf({ sql, parameters, columns, keyColumns, encoding, limits }: ReadRequest) {
  return { sql, parameters, columns, keyColumns, encoding, limits }
}

function readAtOnce(state: State, request: SmallRead): WholeRead | undefined {
  try {
    return readSmall(state.statements, request)
  } catch (error) {
    throw asRefusal(error) ?? error
  }
}

async function write(state: State, request: WriteRequest): Promise<WriteReply> {
  const { steps, returning, isChecked, notesRows, isShort, rowLimit, mustBeWhole, once } = request
  const job = { steps, returning, isChecked, notesRows, isShort, rowLimit, mustBeWhole, once }
  try {
    if (isShort) {
      // A row that its writer may not read is found after it was written: that takes more than SQLite's own undoing.
      const isOneStatement =
        steps.length === 1 && steps[0]?.parameterSets.length === 1 && !isChecked && !notesRows && !mustBeWhole && !once
      return await state.writer.write((database) => runWrite(database, state.writerStatements, job), {
        isOneStatement,
        running: request.running,
      })
    }
    const { signal } = request.running
    const reply = await state.writer.exclusively(() => runInProcess(state.path, job, signal), signal)
    if (reply === undefined) throw new Error('A long write without an outcome')
    return reply
  } catch (error) {
    throw asRefusal(error) ?? error
  }
}

/** What goes through the rows of a large table runs apart from the event loop, as long writes do. */
async function change(state: State, { changes, record, signal = NEVER }: ChangeRequest) {
  const job = { changes, record }
  try {
    if (changes.some(({ change: step }) => isLong(state.reading, step)))
      return await state.writer.exclusively(() => runInProcess(state.path, job, signal), signal)
    return await state.writer.write((database) => runChange(database, job), { running: { signal } })
  } catch (error) {
    throw asRefusal(error) ?? error
  }
}
