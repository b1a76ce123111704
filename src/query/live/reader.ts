/** Runs the reads of live queries: within the time limit, and so few at once that they do not fill the queue of queries. */
import { createSemaphore } from '../../lib/semaphore.ts'
import { isBounded } from '../engines/cost-class.ts'
import type { LiveReadRequest, LiveReply, LiveSource } from '../engines/live-source.ts'
import { refuse } from '../errors.ts'
import { type LiveLimits, tooManyBytes, tooManyRows } from './limits.ts'
import type { FamilyTarget, LiveTarget } from './target.ts'

export interface ReaderOptions {
  readonly source: LiveSource
  readonly limits: LiveLimits
  /** The time limit of a query. */
  readonly milliseconds: number
  /** The queries that can run at once. */
  readonly concurrency: number
  /** Copies new rows of the audit log into the table auditlog. */
  readonly catchUpAuditLog: (signal: AbortSignal) => Promise<void>
}

/** Reads of changed rows at once: they are short. */
const SHORT_READS = 8

export class LiveReader {
  readonly source: LiveSource
  readonly limits: LiveLimits
  readonly #options: ReaderOptions
  readonly #long
  readonly #short = createSemaphore(SHORT_READS, Number.POSITIVE_INFINITY)
  readonly #closing = new AbortController()

  constructor(options: ReaderOptions) {
    this.source = options.source
    this.limits = options.limits
    this.#options = options
    this.#long = createSemaphore(Math.max(1, options.concurrency - 1), Number.POSITIVE_INFINITY)
  }

  /** The whole result. Refuses one that is beyond the limits. */
  async readWhole(target: LiveTarget): Promise<LiveReply> {
    const semaphore = isBounded(target.plan.statement.cost) ? this.#short : this.#long
    const { catchUpAuditLog } = this.#options
    const reply = await this.#run(semaphore, async (signal) => {
      if (target.readsAuditLog) await catchUpAuditLog(signal)
      return this.source.read(this.#request(target.read()), signal)
    })
    if (reply.exceeded === 'rows') throw tooManyRows(this.limits)
    if (reply.exceeded === 'bytes') throw tooManyBytes()
    return reply
  }

  /** The rows that have changed since a position. Rejects with LostPosition if they are not known. */
  readChanged(family: FamilyTarget, position: string): Promise<LiveReply> {
    const request = { ...this.#request(family.read(position)), since: { table: family.table, position } }
    return this.#run(this.#short, (signal) => this.source.read(request, signal))
  }

  close(): void {
    this.#closing.abort(refuse('Limit.Overload', 'The service is shutting down', { headers: { 'Retry-After': '5' } }))
  }

  #request(parts: ReturnType<LiveTarget['read']>): LiveReadRequest {
    return { ...parts, maxRows: this.limits.rows, maxBytes: this.limits.bytes }
  }

  async #run<Result>(
    semaphore: ReturnType<typeof createSemaphore>,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const outcome = await semaphore.run(async () => {
      this.#closing.signal.throwIfAborted()
      const { milliseconds } = this.#options
      const limit = new AbortController()
      const timer = setTimeout(
        () => limit.abort(refuse('Limit.Time', `The query ran for ${milliseconds / 1000} s, which is the limit`)),
        milliseconds,
      )
      timer.unref()
      try {
        return await work(AbortSignal.any([limit.signal, this.#closing.signal]))
      } finally {
        clearTimeout(timer)
      }
    })
    if (outcome === 'full') throw new Error('The queue has no limit')
    return outcome.result
  }
}
