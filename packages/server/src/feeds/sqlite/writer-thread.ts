/** The thread that writes feeds.db. What arrives while it commits forms the next group: one transaction, and one sync of the disk, for all. */
import { parentPort, workerData } from 'node:worker_threads'
import { PublisherTurns, withoutChosen } from '../publisher-turns.ts'
import { GroupWriter, type TimedJob } from './group-writer.ts'
import type { JobBatch, JobResults, SentJob } from './jobs.ts'
import { openForWriting } from './schema.ts'

/** Messages of a group, which share a sync of the disk; a request with more is written alone. */
const MOST_MESSAGES = 1_000

const file: unknown = workerData
if (parentPort === null || typeof file !== 'string') throw new Error('This is a thread')
const port = parentPort
const database = openForWriting(file)
const writer = new GroupWriter(database)
const turns = new PublisherTurns()
let waiting: (SentJob & TimedJob)[] = []
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
  const results = writer.write(group)
  port.postMessage({
    results: group.flatMap(({ id }, index) => {
      const result = results[index]
      return result === undefined ? [] : [[id, result] as const]
    }),
  } satisfies JobResults)
  if (waiting.length === 0) return
  isScheduled = true
  setImmediate(writeGroup)
}
