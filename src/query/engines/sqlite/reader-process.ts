/** The program of a reader process: takes one job after another from its input, and can be killed at any moment. */
import { flushCompileCache } from 'node:module'
import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { createEncoder } from '../../result/encoding.ts'
import type { WriteReply } from '../engine.ts'
import { openForReading, openForWriting } from './connection.ts'
import { type ReadJob, rowsOf, runRead, Statements } from './execute.ts'
import { describeFailure } from './failure.ts'
import { decodePayload, FRAME, readFrameSync, writeFrameSync } from './frames.ts'
import { stepBehind } from './step-behind.ts'
import { type ChangeJob, runChange, runWrite, type WriteJob } from './write.ts'

const INPUT = 0
const OUTPUT = 1

const [, , path, task] = process.argv
if (path === undefined) throw new Error('The reader process needs the path of the database')

// Ending by itself this process would wait for the thread below, and the server for this process.
process.on('uncaughtException', (error) => {
  console.error(error)
  process.kill(process.pid, 'SIGKILL')
})

// A statement blocks this thread; another one notices that the server is gone (its pipe ends) and ends the process.
new Worker(`require('node:fs').readSync(3, Buffer.alloc(1)); process.kill(process.pid, 'SIGKILL')`, {
  eval: true,
  // Not piped through process.stdout: opening that would make the pipe of the results non-blocking.
  stdout: true,
  stderr: true,
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
})

if (task === 'write') writeOnce(path)
else await readJobs(path)

async function readJobs(database: string): Promise<void> {
  const statements = new Statements(openForReading(database), 50)
  // Queries make way for the server and the lookups that it answers by itself; a write does not, since others wait for it.
  // Only once the process has started: on a machine that is busy with other things that alone would take seconds.
  stepBehind()
  for (let isFirst = true; ; isFirst = false) {
    const frame = readFrameSync(INPUT)
    if (frame === undefined) break
    const job = decodePayload(frame.payload) as ReadJob
    try {
      const encoder = await createEncoder(job.encoding, job.columns)
      const send = (): number => {
        const chunk = encoder.take()
        writeFrameSync(OUTPUT, FRAME.chunk, chunk)
        return chunk.byteLength
      }
      const outcome = runRead(rowsOf(statements.get(job.sql), job.parameters), job, encoder, send)
      send()
      writeFrameSync(OUTPUT, FRAME.done, serialize(outcome))
    } catch (error) {
      writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(error)))
    }
    // Kept now, for the next process to start on: this one will be killed, and only one that ends by itself would keep it.
    if (isFirst) flushCompileCache()
  }
  process.exit()
}

function writeOnce(file: string): void {
  const frame = readFrameSync(INPUT)
  if (frame === undefined) process.exit()
  const job = decodePayload(frame.payload) as WriteJob | ChangeJob
  try {
    const database = openForWriting(file)
    const statements = new Statements(database, 10)
    const reply = database.transaction(() => perform(database, statements, job)).immediate()
    writeFrameSync(OUTPUT, FRAME.done, serialize(reply))
  } catch (error) {
    writeFrameSync(OUTPUT, FRAME.failed, serialize(describeFailure(error)))
  }
  process.exit()
}

function perform(database: Database, statements: Statements, job: WriteJob | ChangeJob): WriteReply | undefined {
  return 'changes' in job ? runChange(database, job) : runWrite(database, statements, job)
}
