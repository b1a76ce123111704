/** Writes feeds.db: the jobs of one turn of the event loop together; on the event loop while they are few and short, then in a thread. */
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Clock, MonotonicClock } from 'gatehouse-protocol'
import { PublisherTurns, withoutChosen } from '../publisher-turns.ts'
import { type Job, type JobBatch, type JobResult, type JobResults, queuedRequest, textLength } from './jobs.ts'
import { LoopWriter } from './loop-writer.ts'

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

export interface WriterOptions {
  readonly file: string
  readonly clock: Clock
  /** Processes that share a file wait for each other: they have a thread at once. */
  readonly isShared: boolean
  readonly monotonic: MonotonicClock
}

export class Writer {
  readonly #file: string
  readonly #clock: Clock
  /** Until the thread is needed, which from then on writes everything. */
  #loop: LoopWriter | undefined
  /** Undefined until it has started. */
  #thread: Worker | undefined
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
  static async open({ file, clock, isShared, monotonic }: WriterOptions): Promise<Writer> {
    const writer = new Writer(file, clock)
    if (isShared) writer.#use(await startThread(file))
    else writer.#loop = new LoopWriter(file, monotonic)
    return writer
  }

  private constructor(file: string, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** Rejects if the job failed: then nothing was written. */
  run(job: Job): Promise<JobResult> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    // While somebody waits, the process must not end.
    if (this.#waiting === 0) this.#thread?.ref()
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
    this.#fail(undefined)
    this.#loop?.close()
    await this.#thread?.terminate()
  }

  get #waiting(): number {
    return this.#sent.size + this.#queued.length
  }

  #use(thread: Worker): void {
    this.#thread = thread
    this.#failure = undefined
    if (this.#waiting === 0) thread.unref()
    thread.on('message', ({ results }: JobResults) => this.#answer(results))
    thread.on('error', (error) => this.#fail(error))
    thread.on('exit', (code) => {
      this.#fail(endedWith(code))
      void this.#restart()
    })
  }

  #send(): void {
    this.#willSend = false
    if (this.#loop !== undefined) this.#writeOnLoop(this.#loop)
    if (this.#thread === undefined) return
    const sent = this.#takeNext()
    if (sent.length === 0) return
    for (const queued of sent) {
      this.#sentLength += queued.size
      this.#sent.set(queued.id, queued)
    }
    const jobs = sent.map(({ id, job }) => ({ id, job, ...queuedRequest(job) }))
    this.#thread.postMessage({ now: this.#clock(), jobs } satisfies JobBatch)
  }

  /** What it does not write waits for the thread. */
  #writeOnLoop(loop: LoopWriter): void {
    const now = this.#clock()
    const results = loop.write(this.#queued.map(({ job }) => ({ job, now })))
    if (results === undefined) {
      loop.close()
      this.#loop = undefined
      void this.#start()
      return
    }
    for (const [index, queued] of this.#queued.splice(0).entries()) settle(queued, results[index])
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
      settle(queued, result)
    }
    if (this.#waiting === 0) this.#thread?.unref()
    else if (this.#queued.length > 0) this.#send()
  }

  #fail(error: unknown): void {
    this.#failure ??= this.#isClosing ? new Error('The feeds are closed') : error
    const waiting = [...this.#sent.values(), ...this.#queued.splice(0)]
    this.#sent.clear()
    this.#sentLength = 0
    for (const { reject } of waiting) reject(this.#failure)
  }

  /** What waits fails if it cannot start. */
  async #start(): Promise<void> {
    try {
      this.#use(await startThread(this.#file))
      this.#send()
    } catch (error) {
      this.#failure = error
      this.#fail(error)
      void this.#restart()
    }
  }

  /** A thread that has ended, for lack of memory for example, is replaced. What it had not committed has failed. */
  async #restart(): Promise<void> {
    if (this.#isClosing) return
    await pause(RESTART_MS, undefined, { ref: false })
    if (!this.#isClosing) await this.#start()
  }
}

function settle(queued: QueuedJob, result: JobResult | undefined): void {
  if (result === undefined) queued.reject(new Error('A job of feeds has no result'))
  else if (result.kind === 'failed') queued.reject(Object.assign(new Error(result.message), { code: result.code }))
  else queued.resolve(result)
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
