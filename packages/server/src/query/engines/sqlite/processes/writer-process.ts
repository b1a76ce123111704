/** The process that runs long writes: started by the first one, kept for the next ones, ended when idle. */
import type { WriteReply } from '../../engine.ts'
import type { BulkJob } from '../write/bulk-job.ts'
import type { ChangeJob, WriteJob } from '../write/write-job.ts'
import { ProcessGone, QueryProcess } from './query-process.ts'
import type { TempBudget } from './temp-budget.ts'

export class WriterProcess {
  readonly #path: string
  readonly #budget: TempBudget
  readonly #idleMilliseconds: number
  #process: QueryProcess | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(path: string, idleMilliseconds: number, budget: TempBudget) {
    this.#path = path
    this.#budget = budget
    this.#idleMilliseconds = idleMilliseconds
  }

  /** One at a time. If the signal aborts it, its process is killed, and nothing has been written. */
  async run(
    owner: string | undefined,
    job: WriteJob | ChangeJob | BulkJob,
    signal: AbortSignal,
  ): Promise<WriteReply | undefined> {
    signal.throwIfAborted()
    clearTimeout(this.#idleTimer)
    const writer = this.#process?.isAlive ? this.#process : new QueryProcess(this.#path, 'write', this.#budget)
    this.#process = writer
    const stop = (): void => writer.kill()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await writer.write(owner, job)
    } catch (error) {
      throw error instanceof ProcessGone && signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', stop)
      // Its lock on the database is free when it has ended.
      if (!writer.isAlive) await writer.exited
      this.#idleTimer = setTimeout(() => writer.kill(), this.#idleMilliseconds).unref()
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer)
    this.#process?.kill()
    await this.#process?.exited
  }
}
