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
  readonly signal: AbortSignal
  /** Aborts with a reason of one's own: a client that is gone. */
  stop(reason: unknown): void
  end(): void
}

export class RunningQueries {
  readonly #limits: RunningLimits
  readonly #clock: Clock
  readonly #byUser = new Map<string, Map<string, { controller: AbortController; live: LiveQuery }>>()

  constructor(limits: RunningLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    let size = 0
    for (const queries of this.#byUser.values()) size += queries.size
    return size
  }

  begin(principal: Principal, requestId: string, statement: string): RunningQuery {
    const user = ownerOf(principal)
    const queries = this.#byUser.get(user) ?? new Map()
    if (queries.has(requestId)) {
      throw refuse('Request.BadRequestId', `A query with the Request-Id ${requestId} is running`)
    }
    if (queries.size >= this.#limits.perUser) {
      throw refuse('Limit.Concurrency', `You have ${queries.size} queries running, the most there may be`, {
        headers: { 'Retry-After': '1' },
      })
    }
    const controller = new AbortController()
    const { milliseconds } = this.#limits
    const timer = setTimeout(
      () => controller.abort(refuse('Limit.Time', `The query ran for ${milliseconds / 1000} s, the longest it may`)),
      milliseconds,
    )
    timer.unref()
    const { subject, clientId } = principal
    const startedAt = this.#clock()
    const shown = statement.length > LONGEST_SHOWN ? `${statement.slice(0, LONGEST_SHOWN)}…` : statement
    queries.set(requestId, { controller, live: { requestId, subject, clientId, statement: shown, startedAt } })
    this.#byUser.set(user, queries)
    return {
      requestId,
      signal: controller.signal,
      stop: (reason) => controller.abort(reason),
      end: () => {
        clearTimeout(timer)
        queries.delete(requestId)
        if (queries.size === 0) this.#byUser.delete(user)
      },
    }
  }

  *list(): Generator<LiveQuery> {
    for (const queries of this.#byUser.values()) for (const { live } of queries.values()) yield live
  }

  /** One's own query (see `ownerOf`), or for an administrator anybody's; false when there is none. */
  cancel(requestId: string, owner: string | undefined): boolean {
    const users = owner === undefined ? [...this.#byUser.keys()] : [owner]
    const found = users.flatMap((user) => this.#byUser.get(user)?.get(requestId) ?? [])
    for (const { controller } of found) controller.abort(refuse('Limit.Cancelled', 'The query was cancelled'))
    return found.length > 0
  }

  stopAll(): void {
    for (const queries of this.#byUser.values()) {
      for (const { controller } of queries.values()) {
        controller.abort(refuse('Limit.Overload', 'The service is shutting down', { headers: { 'Retry-After': '5' } }))
      }
    }
  }
}

export function ownerOf(principal: Principal): string {
  return `${principal.kind}:${principal.subject}`
}
