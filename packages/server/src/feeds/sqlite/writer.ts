/** The thread that writes feeds.db, as the server sees it: jobs of one turn of the event loop are sent, and answered, together. */
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Clock } from 'gatehouse-protocol'
import { PublisherTurns, withoutChosen } from '../publisher-turns.ts'
import { type Job, type JobBatch, type JobResult, type JobResults, queuedRequest, textLength } from './jobs.ts'

/** V8 would otherwise reserve 512 MiB for the code of the thread. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8, codeRangeSizeMb: 16 }
/** The text that the thread has in its memory at once, in characters. Jobs beyond it wait here. */
const MAX_SENT_LENGTH = 16 * 1024 * 1024
const RESTART_MS = 1_000

interface QueuedJob {
  readonly id: number
  readonly job: Job
  readonly publisher: string
  /** Of its text. */
  readonly size: number
  resolve(result: JobResult): void
  reject(error: unknown): void
}

export class Writer {
  readonly #file: string
  readonly #clock: Clock
  #worker: Worker
  readonly #turns = new PublisherTurns()
  /** Jobs that have not been sent. */
  #queued: QueuedJob[] = []
  readonly #sent = new Map<number, QueuedJob>()
  #sentLength = 0
  #willSend = false
  #lastId = 0
  #failure: unknown
  #isClosing = false

  /** Resolves when the file is open; rejects if it cannot be opened. */
  static async open(file: string, clock: Clock): Promise<Writer> {
    return new Writer(file, clock, await startThread(file))
  }

  private constructor(file: string, clock: Clock, worker: Worker) {
    this.#file = file
    this.#clock = clock
    this.#worker = worker
    this.#listen()
  }

  /** Rejects if the job failed: then nothing was written. */
  run(job: Job): Promise<JobResult> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    // While somebody waits, the process must not end.
    if (this.#waiting === 0) this.#worker.ref()
    return new Promise((resolve, reject) => {
      const { publisher } = queuedRequest(job)
      this.#queued.push({ id: ++this.#lastId, job, publisher, size: textLength(job), resolve, reject })
      if (this.#willSend) return
      this.#willSend = true
      setImmediate(() => this.#send())
    })
  }

  /** After what was given to it so far. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#waiting > 0) await this.run({ kind: 'check' }).catch(() => {})
    await this.#worker.terminate()
  }

  get #waiting(): number {
    return this.#sent.size + this.#queued.length
  }

  #listen(): void {
    this.#worker.unref()
    this.#worker.on('message', ({ results }: JobResults) => this.#answer(results))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', (code) => {
      this.#fail(endedWith(code))
      if (!this.#isClosing) void this.#restart()
    })
  }

  #send(): void {
    this.#willSend = false
    const sent = this.#takeNext()
    if (sent.length === 0) return
    for (const queued of sent) {
      this.#sentLength += queued.size
      this.#sent.set(queued.id, queued)
    }
    const jobs = sent.map(({ id, job }) => ({ id, job, ...queuedRequest(job) }))
    this.#worker.postMessage({ now: this.#clock(), jobs } satisfies JobBatch)
  }

  /** As many as the thread may have. */
  #takeNext(): readonly QueuedJob[] {
    const queued = this.#queued
    const room = MAX_SENT_LENGTH - this.#sentLength
    if (room <= 0) return []
    const isAll = queued.reduce((sum, { size }) => sum + size, 0) <= room
    const chosen = isAll ? queued : this.#turns.choose(queued, room)
    this.#queued = isAll ? [] : withoutChosen(queued, chosen)
    return chosen
  }

  #answer(results: JobResults['results']): void {
    for (const [id, result] of results) {
      const queued = this.#sent.get(id)
      if (queued === undefined) continue
      this.#sent.delete(id)
      this.#sentLength -= queued.size
      if (result.kind === 'failed') queued.reject(Object.assign(new Error(result.message), { code: result.code }))
      else queued.resolve(result)
    }
    if (this.#waiting === 0) this.#worker.unref()
    else if (this.#queued.length > 0) this.#send()
  }

  #fail(error: unknown): void {
    this.#failure ??= this.#isClosing ? new Error('The feeds are closed') : error
    const waiting = [...this.#sent.values(), ...this.#queued.splice(0)]
    this.#sent.clear()
    this.#sentLength = 0
    for (const { reject } of waiting) reject(this.#failure)
  }

  /** A thread that has ended, for lack of memory for example, is replaced. What it had not committed has failed. */
  async #restart(): Promise<void> {
    while (!this.#isClosing) {
      await pause(RESTART_MS, undefined, { ref: false })
      try {
        this.#worker = await startThread(this.#file)
        this.#listen()
        this.#failure = undefined
        return
      } catch (error) {
        this.#failure = error
      }
    }
  }
}

async function startThread(file: string): Promise<Worker> {
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData: file,
    resourceLimits: RESOURCE_LIMITS,
    env: {},
  })
  const opened = Promise.withResolvers<unknown>()
  const onExit = (code: number): void => opened.reject(endedWith(code))
  worker.once('message', opened.resolve).once('error', opened.reject).once('exit', onExit)
  await opened.promise
  worker.off('error', opened.reject).off('exit', onExit)
  return worker
}

function endedWith(code: number): Error {
  return new Error(`The thread that writes feeds ended with code ${code}`)
}
