/** The program of the catalogue's process: takes statements from its input one by one, and can be killed at any time. */
import { flushCompileCache } from 'node:module'
import { serialize } from 'node:v8'
import { endWithServer } from '../../../child-process/end-with-server.ts'
import { decodePayload, FRAME, readFrameSync, writeFrameSync } from '../../../child-process/frames.ts'
import { lowerPriority, READ_PRIORITY } from '../../../child-process/priority.ts'
import { CatalogueDatabase } from '../database/database.ts'
import type { VisibleTable } from '../database/objects.ts'
import { type CatalogueJob, describeFailure, type StatementJob, type StatementReply } from './jobs.ts'

const INPUT = 0
const OUTPUT = 1
/** The server reads one chunk without blocking its event loop for long. */
const CHUNK_ROWS = 1000

const [, , version = '', startedAt = '0'] = process.argv

endWithServer()
// Not before the process has started: on a busy machine the start alone would take seconds.
lowerPriority(process.pid, READ_PRIORITY)
writeFrameSync(OUTPUT, FRAME.ready, Buffer.alloc(0))
takeJobs()
process.exit()

function takeJobs(): void {
  const received = new Map<string, VisibleTable[]>()
  const databases = new Map<string, CatalogueDatabase>()
  const databaseFor = (key: string): CatalogueDatabase => {
    const known = databases.get(key)
    if (known !== undefined) return known
    const database = new CatalogueDatabase(received.get(key) ?? [], { version, startedAt: Number(startedAt) })
    received.delete(key)
    databases.set(key, database)
    return database
  }
  for (let isFirst = true; ; ) {
    const frame = readFrameSync(INPUT)
    if (frame === undefined) return
    const job = decodePayload(frame.payload) as CatalogueJob
    if (job.kind === 'tables') {
      const tables = received.get(job.key) ?? []
      for (const table of JSON.parse(job.tables) as VisibleTable[]) tables.push(table)
      received.set(job.key, tables)
    } else if (job.kind === 'drop') {
      databases.get(job.key)?.close()
      databases.delete(job.key)
    } else {
      reply(job, databaseFor)
      // Written now, so that the next process starts faster: this one will be killed, and would not write it at exit.
      if (isFirst) flushCompileCache()
      isFirst = false
    }
  }
}

function reply(
  { kind, key, text, parameters, types, ...session }: StatementJob,
  databaseFor: (key: string) => CatalogueDatabase,
): void {
  try {
    const database = databaseFor(key)
    const described = database.describe(text, types, session)
    if (kind === 'run') {
      const rows = database.run(text, parameters, types, session)
      for (let start = 0; start < rows.length; start += CHUNK_ROWS)
        writeFrameSync(OUTPUT, FRAME.chunk, serialize(rows.slice(start, start + CHUNK_ROWS)))
    }
    const { columns, parameterTypes } = described
    const done: StatementReply = { columns, parameters: parameterTypes, cancels: database.cancels }
    writeFrameSync(OUTPUT, FRAME.done, serialize(done))
  } catch (error) {
    writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(error)))
  }
}
