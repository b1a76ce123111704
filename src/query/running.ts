/** The queries that run now: how many each caller may have, and how one is stopped. */
import type { Clock } from '../protocol/clock.ts'
import type { Principal } from '../protocol/principal.ts'
import { refuse } from './errors.ts'

const LONGEST_SHOWN = 500

export interface RunningLimits {
  readonly perUser: number
  readonly milliseconds: number
}

/** A query that runs, as operators see it. */
export interface LiveQuery {
  readonly requestId: string
  readonly subject: string
  readonly clientId: string
  readonly statement: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

export interface RunningQuery {
  readonly requestId: string
  /** Made when it is first asked for, and the time limit with it: what runs at once needs neither. */
  readonly signal: AbortSignal
  /** Aborts with a reason of one's own: a client that is gone. */
  stop(reason: unknown): void
  end(): void
}

export class RunningQueries {
  readonly #limits: RunningLimits
  readonly #clock: Clock
  readonly #byUser = new Map<string, Map<string, Entry>>()

  constructor(limits: RunningLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    let size = 0
    for (const queries of this.#byUser.values()) size += queries.size
    return size
  }

  /** Refuses a query that may not begin. What is answered at once is nobody's to see or to stop, and needs no more than this. */
  check(principal: Principal, requestId: string): void {
    const queries = this.#byUser.size === 0 ? undefined : this.#byUser.get(ownerOf(principal))
    if (queries?.has(requestId))
      throw refuse('Request.BadRequestId', `A query with the Request-Id ${requestId} is running`)
    const count = queries?.size ?? 0
    if (count < this.#limits.perUser) return
    throw refuse('Limit.Concurrency', `You have ${count} queries running, the most there may be`, {
      headers: { 'Retry-After': '1' },
    })
  }

  begin(principal: Principal, requestId: string, statement: string): RunningQuery {
    this.check(principal, requestId)
    const user = ownerOf(principal)
    const queries: Map<string, Entry> = this.#byUser.get(user) ?? new Map()
    const { subject, clientId } = principal
    const startedAt = this.#clock()
    const shown = statement.length > LONGEST_SHOWN ? `${statement.slice(0, LONGEST_SHOWN)}…` : statement
    const entry = new Entry(
      { requestId, subject, clientId, statement: shown, startedAt },
      this.#limits.milliseconds,
      () => {
        queries.delete(requestId)
        if (queries.size === 0) this.#byUser.delete(user)
      },
    )
    if (queries.size === 0) this.#byUser.set(user, queries)
    queries.set(requestId, entry)
    return entry
  }

  *list(): Generator<LiveQuery> {
    for (const queries of this.#byUser.values()) for (const { live } of queries.values()) yield live
  }

  /** One's own query (see `ownerOf`), or for an administrator anybody's; false when there is none. */
  cancel(requestId: string, owner: string | undefined): boolean {
    const users = owner === undefined ? [...this.#byUser.keys()] : [owner]
    const found = users.flatMap((user) => this.#byUser.get(user)?.get(requestId) ?? [])
    for (const entry of found) entry.stop(refuse('Limit.Cancelled', 'The query was cancelled'))
    return found.length > 0
  }

  stopAll(): void {
    for (const queries of this.#byUser.values()) {
      for (const entry of queries.values()) {
        entry.stop(refuse('Limit.Overload', 'The service is shutting down', { headers: { 'Retry-After': '5' } }))
      }
    }
  }
}

class Entry implements RunningQuery {
  readonly live: LiveQuery
  readonly #milliseconds: number
  readonly #forget: () => void
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(live: LiveQuery, milliseconds: number, forget: () => void) {
    this.live = live
    this.#milliseconds = milliseconds
    this.#forget = forget
  }

  get requestId(): string {
    return this.live.requestId
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      const seconds = this.#milliseconds / 1000
      this.#timer = setTimeout(
        () => this.stop(refuse('Limit.Time', `The query ran for ${seconds} s, the longest it may`)),
        this.#milliseconds,
      )
      this.#timer.unref()
    }
    return this.#controller.signal
  }

  stop(reason: unknown): void {
    void this.signal
    this.#controller?.abort(reason)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#forget()
  }
}

export function ownerOf(principal: Principal): string {
  return `${principal.kind}:${principal.subject}`
}
