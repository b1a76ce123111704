/** Runs the reads of live queries: within the time limit, fairly by owner, and on at most half of the readers. */
import { Refusal } from 'gatehouse-protocol'
import { isBounded } from '../../engines/cost-class.ts'
import { FairSlots } from '../../engines/fair-slots.ts'
import type { LiveReadRequest, LiveReply, LiveSource, Positions } from '../../engines/live-source.ts'
import { refuse } from '../../errors.ts'
import { logSlow, type SlowLog } from '../../run/slow-log.ts'
import type { LiveCounts } from '../counts.ts'
import { type LiveLimits, shareOf, shuttingDown, tooManyOwnBytes, tooManyRows } from '../limits.ts'
import type { FamilyTarget, LiveTarget } from '../target.ts'

export interface ReaderOptions {
  readonly source: LiveSource
  readonly limits: LiveLimits
  readonly counts: LiveCounts
  readonly slowLog: SlowLog
  /** The time limit of a query. */
  readonly milliseconds: number
  /** The queries that can run at once. */
  readonly concurrency: number
  /** Copies new rows of the audit log into the table auditlog. */
  readonly catchUpAuditLog: (signal: AbortSignal) => Promise<void>
}

/** Short reads at once. */
const SHORT_READS = 8
/** Former results being read or waiting to be. Further clients that come back get a snapshot, which they share. */
const MAX_FORMER_READS = 64

export class LiveReader {
  readonly source: LiveSource
  readonly limits: LiveLimits
  readonly #options: ReaderOptions
  /** Half of the slots that queries have, so that these always find a free one. */
  readonly #long: FairSlots
  readonly #short = new FairSlots(SHORT_READS, Number.POSITIVE_INFINITY)
  readonly #closing = new AbortController()
  #running = 0
  #formerReads = 0

  constructor(options: ReaderOptions) {
    this.source = options.source
    this.limits = options.limits
    this.#options = options
    this.#long = new FairSlots(Math.max(1, Math.floor(options.concurrency / 2)), Number.POSITIVE_INFINITY)
  }

  /** Whole results that are read now. */
  get running(): number {
    return this.#running
  }

  /** Reads that wait for a slot. */
  get waiting(): number {
    return this.#long.waiting + this.#short.waiting
  }

  /** The whole result. Refuses one that is beyond the limits. `onStart` is called when the read begins. */
  readWhole(target: LiveTarget, onStart?: () => void): Promise<LiveReply> {
    return this.#readWhole(target, target.read(), target.readsAuditLog, onStart)
  }

  /**
   * The whole result as it was at these positions. Undefined if it cannot be read, or if too many such reads are waiting. Rejects with
   * LostPosition if the change log does not reach back to them.
   */
  async readFormer(target: LiveTarget, positions: Positions): Promise<LiveReply | undefined> {
    const parts = this.#formerReads < MAX_FORMER_READS ? target.readFormer(positions) : undefined
    if (parts === undefined) return undefined
    this.#formerReads++
    try {
      return await this.#readWhole(target, parts, false)
    } finally {
      this.#formerReads--
    }
  }

  async #readWhole(
    { text: statement, owner }: LiveTarget,
    read: ReturnType<LiveTarget['read']>,
    readsAuditLog: boolean,
    onStart?: () => void,
  ): Promise<LiveReply> {
    const { counts, slowLog, catchUpAuditLog } = this.#options
    const parts = this.#request(read)
    const slots = isBounded(parts.statement.cost) ? this.#short : this.#long
    const run = new Run(this.#options.milliseconds)
    const ran = (outcome: string): void => {
      const { elapsed: ms } = run
      counts.ran(outcome, ms)
      if (ms >= slowLog.limits.slowMs) logSlow(slowLog, { owner, ms, outcome, statement })
    }
    const started = (): void => {
      run.restart()
      onStart?.()
    }
    try {
      const reply = await this.#take(slots, parts.owner, run, async (signal) => {
        this.#running++
        try {
          if (readsAuditLog) await catchUpAuditLog(signal)
          return await this.source.read({ ...parts, background: { onStart: started } }, signal)
        } finally {
          this.#running--
        }
      })
      if (reply.exceeded === 'rows') throw tooManyRows(this.limits)
      if (reply.exceeded === 'bytes') throw tooManyOwnBytes()
      ran('ok')
      return reply
    } catch (error) {
      ran(error instanceof Refusal ? error.code : 'server.fault')
      throw error
    }
  }

  /** The rows that have changed since a position. Rejects with LostPosition if they are not known. */
  readChanged(family: FamilyTarget, position: string): Promise<LiveReply> {
    return this.#readChanged(family.read(position))
  }

  /** The keys and routes of the rows that have changed since a position, as they were. Rejects with LostPosition as well. */
  readChangedFormer(family: FamilyTarget, position: string): Promise<LiveReply> {
    return this.#readChanged(family.readFormer(position))
  }

  #readChanged(parts: ReturnType<FamilyTarget['read']>): Promise<LiveReply> {
    const request = this.#request(parts)
    const run = new Run(this.#options.milliseconds)
    return this.#take(this.#short, request.owner, run, (signal) => this.source.read(request, signal))
  }

  close(): void {
    this.#closing.abort(shuttingDown())
  }

  #request(parts: ReturnType<LiveTarget['read']>): LiveReadRequest {
    return { ...parts, maxRows: this.limits.rows, maxBytes: shareOf(this.limits) }
  }

  async #take<Result>(
    slots: FairSlots,
    owner: string,
    run: Run,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const slot = await slots.acquire({ owner }, this.#closing)
    run.restart()
    try {
      return await work(AbortSignal.any([run.signal, this.#closing.signal]))
    } finally {
      run.end()
      slot.release()
    }
  }
}

/** The time limit of one read. Waiting for a reader does not count. */
class Run {
  readonly #milliseconds: number
  readonly #controller = new AbortController()
  #startedAt = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get elapsed(): number {
    return performance.now() - this.#startedAt
  }

  restart(): void {
    const seconds = this.#milliseconds / 1000
    clearTimeout(this.#timer)
    this.#startedAt = performance.now()
    this.#timer = setTimeout(
      () => this.#controller.abort(refuse('Limit.Time', `The query ran for ${seconds} s, which is the limit`)),
      this.#milliseconds,
    )
    this.#timer.unref()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
