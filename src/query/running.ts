/** The queries that run now: how many each caller may have, and how one is stopped. */
import type { Principal } from '../protocol/principal.ts'
import { refuse } from './errors.ts'

export interface RunningLimits {
  readonly perUser: number
  readonly milliseconds: number
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
  readonly #byUser = new Map<string, Map<string, AbortController>>()

  constructor(limits: RunningLimits) {
    this.#limits = limits
  }

  get size(): number {
    let size = 0
    for (const queries of this.#byUser.values()) size += queries.size
    return size
  }

  begin(principal: Principal, requestId: string): RunningQuery {
    const user = userOf(principal)
    const queries = this.#byUser.get(user) ?? new Map<string, AbortController>()
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
    queries.set(requestId, controller)
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

  /** One's own query, or with the right to administer anybody's. */
  cancel(principal: Principal, requestId: string, isAdmin: boolean): void {
    const owners = isAdmin ? [...this.#byUser.keys()] : [userOf(principal)]
    const controllers = owners.flatMap((user) => this.#byUser.get(user)?.get(requestId) ?? [])
    if (controllers.length === 0)
      throw refuse('Request.UnknownRequest', `No running query bears the Request-Id ${requestId}`)
    for (const controller of controllers) controller.abort(refuse('Limit.Cancelled', 'The query was cancelled'))
  }

  stopAll(): void {
    for (const queries of this.#byUser.values()) {
      for (const controller of queries.values()) {
        controller.abort(refuse('Limit.Overload', 'The service is shutting down', { headers: { 'Retry-After': '5' } }))
      }
    }
  }
}

function userOf(principal: Principal): string {
  return `${principal.kind}:${principal.subject}`
}
