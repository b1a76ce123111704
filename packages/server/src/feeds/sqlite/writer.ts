/** The thread that writes feeds.db, as the server sees it: jobs of one turn of the event loop are sent, and answered, together. */
import { Worker } from 'node:worker_threads'
import type { Clock } from 'gatehouse-protocol'
import type { Job, JobBatch, JobResult, JobResults } from './jobs.ts'

/** V8 would otherwise reserve 512 MiB for the code of the thread. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8, codeRangeSizeMb: 16 }

interface Waiting {
  resolve(result: JobResult): void
  reject(error: unknown): void
}

export class Writer {
  readonly #clock: Clock
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #queue: { id: number; job: Job }[] = []
  #lastId = 0
  #failure: unknown
  #isClosing = false

  /** Resolves when the file is open; rejects if it cannot be opened. */
  static async open(file: string, clock: Clock): Promise<Writer> {
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
    return new Writer(worker, clock)
  }

  private constructor(worker: Worker, clock: Clock) {
    this.#worker = worker
    this.#clock = clock
    worker.unref()
    worker.on('message', ({ results }: JobResults) => this.#answer(results))
    worker.on('error', (error) => this.#fail(error))
    worker.on('exit', (code) => this.#fail(endedWith(code)))
  }

  /** Rejects if the job failed: then nothing was written. */
  run(job: Job): Promise<JobResult> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const id = ++this.#lastId
    if (this.#queue.push({ id, job }) === 1) setImmediate(() => this.#send())
    // While somebody waits, the process must not end.
    if (this.#waiting.size === 0) this.#worker.ref()
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  /** After what was given to it so far. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#waiting.size > 0) await this.run({ kind: 'check' }).catch(() => {})
    await this.#worker.terminate()
  }

  #send(): void {
    const jobs = this.#queue
    this.#queue = []
    this.#worker.postMessage({ now: this.#clock(), jobs } satisfies JobBatch)
  }

  #answer(results: JobResults['results']): void {
    for (const [id, result] of results) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (result.kind === 'failed') waiting?.reject(Object.assign(new Error(result.message), { code: result.code }))
      else waiting?.resolve(result)
    }
    if (this.#waiting.size === 0) this.#worker.unref()
  }

  #fail(error: unknown): void {
    this.#failure ??= this.#isClosing ? new Error('The feeds are closed') : error
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(this.#failure)
  }
}

function endedWith(code: number): Error {
  return new Error(`The thread that writes feeds ended with code ${code}`)
}
