/** The process that runs long writes: started by the first one, kept for the next ones, ended when idle. */
import { randomUUID } from 'node:crypto'
import type { WriteReply } from '../../engine.ts'
import type { BulkJob } from '../write/bulk-job.ts'
import type { ChangeJob, WriteJob } from '../write/write-job.ts'
import { CommitUnknown, ProcessGone, QueryProcess } from './query-process.ts'
import type { TempBudget } from './temp-budget.ts'

/** Finds out whether the write with this id was committed, now that its process has ended. */
export type FindCommit = (id: string) => Promise<boolean>

export class WriterProcess {
  readonly #path: string
  readonly #budget: TempBudget
  readonly #idleMilliseconds: number
  #process: QueryProcess | undefined
  #idleTimer: NodeJS.Timeout | undefined
  /** Resolves when the write that commits now has ended. */
  #committing: Promise<void> | undefined

  constructor(path: string, idleMilliseconds: number, budget: TempBudget) {
    this.#path = path
    this.#budget = budget
    this.#idleMilliseconds = idleMilliseconds
  }

  /**
   * One at a time. If the signal aborts it, its process is killed, and nothing has been written. The signal has no effect once the commit
   * has begun. If the process ends during the commit, `findCommit` decides.
   */
  async run(
    owner: string | undefined,
    job: WriteJob | ChangeJob | BulkJob,
    { signal, findCommit }: { readonly signal: AbortSignal; readonly findCommit: FindCommit },
  ): Promise<WriteReply | undefined> {
    signal.throwIfAborted()
    clearTimeout(this.#idleTimer)
    const writer = this.#process?.isAlive ? this.#process : new QueryProcess(this.#path, 'write', this.#budget)
    this.#process = writer
    const stop = (): void => writer.kill()
    signal.addEventListener('abort', stop, { once: true })
    const id = randomUUID()
    const ended = Promise.withResolvers<void>()
    const onCommit = (): void => {
      signal.removeEventListener('abort', stop)
      this.#committing = ended.promise
    }
    try {
      return await writer.write(owner, { id, job }, onCommit)
    } catch (error) {
      if (error instanceof CommitUnknown) {
        if (await findCommit(id)) return error.reply
        throw error.cause
      }
      throw error instanceof ProcessGone && signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', stop)
      this.#committing = undefined
      ended.resolve()
      // Its lock on the database is free when it has ended.
      if (!writer.isAlive) await writer.exited
      this.#idleTimer = setTimeout(() => writer.kill(), this.#idleMilliseconds).unref()
    }
  }

  async close(): Promise<void> {
    await this.#committing
    clearTimeout(this.#idleTimer)
    this.#process?.kill()
    await this.#process?.exited
  }
}
