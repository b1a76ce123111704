/** Runs the reads of live queries: within the time limit, so few at once that others find readers, and fairly by owner. */
import { Refusal } from 'gatehouse-protocol'
import { FairSlots } from '../../engines/fair-slots.ts'
import type { LiveReadRequest, LiveReply, LiveSource, Positions } from '../../engines/live-source.ts'
import { refuse } from '../../errors.ts'
import { isBounded } from '../../model/cost-class.ts'
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

export interface ReadOptions {
  /** Called when the read waits no more. */
  readonly onStart?: (() => void) | undefined
  /** Aborted when nobody wants the result any more. */
  readonly signal?: AbortSignal | undefined
}

/** Short reads at once. */
const SHORT_READS = 8
/** Results as they were that are read, or wait to be: clients that come back beyond these get a snapshot, which they share. */
const MAX_FORMER_READS = 64

export class LiveReader {
  readonly source: LiveSource
  readonly limits: LiveLimits
  readonly #options: ReaderOptions
  /** Half of what queries have, so that these always find something; one is left to reads that turn out to be short. */
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

  /** Reads that wait for their turn before they ask the database. */
  get waiting(): number {
    return this.#long.waiting + this.#short.waiting
  }

  /** The whole result. Refuses one that is beyond the limits. */
  readWhole(target: LiveTarget, options: ReadOptions): Promise<LiveReply> {
    return this.#readWhole(target, target.read(), { ...options, readsAuditLog: target.readsAuditLog })
  }

  /**
   * The whole result as it was at these positions. Undefined if that cannot be read, or too much of the kind is asked for. Rejects
   * with LostPosition if it is not known.
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
    try {
      const request = { owner: parts.owner, statement, wanted }
      const reply = await this.#take(slots, request, run, async (signal, begin) => {
        const started = (): void => {
          run.restart()
          begin()
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
    return this.#take(this.#short, { owner: request.owner }, run, (signal) => this.source.read(request, signal))
  }

  close(): void {
    this.#closing.abort(shuttingDown())
  }

  #request(parts: ReturnType<LiveTarget['read']>): LiveReadRequest {
    return { ...parts, maxRows: this.limits.rows, maxBytes: shareOf(this.limits) }
  }

  /** Long reads that have to make way wait for their turn again. */
  async #take<Result>(
    slots: FairSlots,
    { owner, statement, wanted }: Turn,
    run: Run,
    work: (signal: AbortSignal, begin: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { signal: closing } = this.#closing
    const signal = wanted === undefined ? closing : AbortSignal.any([wanted, closing])
    for (let isLong = false; ; isLong = true) {
      const slot = await slots.acquire({ owner, statement, isLong }, { signal })
      const stopped = new AbortController()
      run.restart()
      const begin = (): void => {
        if (slots === this.#long) slot.begin(() => stopped.abort())
      }
      try {
        return await work(AbortSignal.any([run.signal, signal, stopped.signal]), begin)
      } catch (error) {
        if (!slot.isPutOff || signal.aborted) throw error
      } finally {
        run.end()
        slot.release()
      }
    }
  }
}

/** Whose read it is, and as long as it is wanted. */
interface Turn {
  readonly owner: string
  readonly statement?: string
  readonly wanted?: AbortSignal | undefined
}

/** The time of one read. To wait for a reader is no part of it. */
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
