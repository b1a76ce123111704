/** Runs the reads of live queries: within the time limit, fairly by owner, and on at most half of the readers. */
import { Refusal } from 'gatehouse-protocol'
import type { Copies, CopyTimes } from '../../catalogue/licences.ts'
import type { LiveReadRequest, LiveReply, LiveSource, Positions } from '../../engines/live-source.ts'
import type { OwnTime } from '../../engines/slots/expectations.ts'
import { FairSlots } from '../../engines/slots/fair-slots.ts'
import { refuse } from '../../errors.ts'
import { isBounded } from '../../model/cost-class.ts'
import type { Observe } from '../../run/observe.ts'
import { type LiveLimits, ownerShare, shuttingDown, tooManyOwnBytes, tooManyRows } from '../limits.ts'
import type { FamilyTarget, LiveTarget } from '../target.ts'

export interface ReaderOptions {
  readonly source: LiveSource
  readonly limits: LiveLimits
  /** A read of a whole result counts as a query. */
  readonly observe: Observe
  /** The time limit of a query. */
  readonly milliseconds: number
  /** The number of queries that can run at the same time. */
  readonly concurrency: number
  readonly copies: Copies
  /** Copies new rows of the audit log into the table auditlog. */
  readonly catchUpAuditLog: (signal: AbortSignal) => Promise<void>
}

/** What was read, and the times of the copies before. */
export interface TimedReply extends LiveReply {
  readonly times: CopyTimes
}

export interface ReadOptions {
  /** Called when the read begins. */
  readonly onStart?: (() => void) | undefined
  /** Aborted when the result no longer has users. */
  readonly signal?: AbortSignal | undefined
}

/** The number of short reads that run at the same time. */
const SHORT_READS = 8
/** The number of former results that are being read or wait to be. Further resuming clients get a snapshot, which they share. */
const MAX_FORMER_READS = 64

export class LiveReader {
  readonly source: LiveSource
  readonly limits: LiveLimits
  readonly #options: ReaderOptions
  /** Half of the slots of queries, so that a query always finds a free one. One of the half is left to reads that turn out to be short. */
  readonly #long: FairSlots
  readonly #short = new FairSlots(SHORT_READS, Number.POSITIVE_INFINITY)
  readonly #closing = new AbortController()
  #running = 0
  #formerReads = 0

  constructor(options: ReaderOptions) {
    this.source = options.source
    this.limits = options.limits
    this.#options = options
    const slots = Math.max(2, Math.floor(options.concurrency / 2))
    this.#long = new FairSlots(slots, Number.POSITIVE_INFINITY, { long: slots - 1 })
  }

  /** Whole results that are read now. */
  get running(): number {
    return this.#running
  }

  /** Reads that wait for a slot. */
  get waiting(): number {
    return this.#long.waiting + this.#short.waiting
  }

  /** The whole result. Refuses one that is beyond the limits. */
  readWhole(target: LiveTarget, options: ReadOptions): Promise<TimedReply> {
    return this.#readWhole(target, target.read(), { ...options, readsAuditLog: target.readsAuditLog })
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
      return await this.#readWhole(target, parts, { readsAuditLog: false })
    } finally {
      this.#formerReads--
    }
  }

  async #readWhole(
    { text: statement, owner }: LiveTarget,
    read: ReturnType<LiveTarget['read']>,
    { onStart, signal: wanted, readsAuditLog }: ReadOptions & { readonly readsAuditLog: boolean },
  ): Promise<TimedReply> {
    const { observe, catchUpAuditLog, copies } = this.#options
    const parts = this.#request(read)
    const slots = isBounded(parts.statement.cost) ? this.#short : this.#long
    const run = new TimedRead(this.#options.milliseconds)
    const ran = (outcome: string): void => observe({ statement, ms: run.elapsed, outcome, rows: 0, owner })
    let { times } = copies
    try {
      const request = { owner: parts.owner, statement, wanted }
      const reply = await this.#take(slots, request, run, async (signal, begin) => {
        times = copies.times
        const started = (ownTime?: OwnTime): void => {
          run.restart()
          begin(ownTime)
          times = copies.times
          onStart?.()
        }
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
      return { ...reply, times }
    } catch (error) {
      ran(error instanceof Refusal ? error.code : 'server.fault')
      throw error
    }
  }

  /** The rows of a family that have changed since a position, as they are or as they were. Rejects with LostPosition if they are not known. */
  readChanged(parts: ReturnType<FamilyTarget['read']>): Promise<TimedReply> {
    const request = this.#request(parts)
    const run = new TimedRead(this.#options.milliseconds)
    return this.#take(this.#short, { owner: request.owner }, run, async (signal) => {
      const { times } = this.#options.copies
      return { ...(await this.source.read(request, signal)), times }
    })
  }

  close(): void {
    this.#closing.abort(shuttingDown())
  }

  #request(parts: ReturnType<LiveTarget['read']>): LiveReadRequest {
    return { ...parts, maxRows: this.limits.rows, maxBytes: ownerShare(this.limits) }
  }

  /** Long reads that are preempted wait for their turn again. */
  async #take<Result>(
    slots: FairSlots,
    { owner, statement, wanted }: WantedRead,
    run: TimedRead,
    work: (signal: AbortSignal, begin: (ownTime?: OwnTime) => void) => Promise<Result>,
  ): Promise<Result> {
    const { signal: closing } = this.#closing
    const signal = wanted === undefined ? closing : AbortSignal.any([wanted, closing])
    for (let isLong = false; ; isLong = true) {
      const slot = await slots.acquire({ owner, statement, isLong }, { signal })
      const stopped = new AbortController()
      run.restart()
      const begin = (ownTime?: OwnTime): void => {
        if (slots === this.#long) slot.begin(() => stopped.abort(), ownTime)
      }
      try {
        return await work(AbortSignal.any([run.signal, signal, stopped.signal]), begin)
      } catch (error) {
        if (!slot.isPreempted || signal.aborted) throw error
      } finally {
        run.end()
        slot.release()
      }
    }
  }
}

/** The owner of the read, and the signal that ends it. */
interface WantedRead {
  readonly owner: string
  readonly statement?: string
  readonly wanted?: AbortSignal | undefined
}

/** The time limit of one read. Waiting for a reader does not count. */
class TimedRead {
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
