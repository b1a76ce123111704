/** Rate limits of route groups: requests are counted by address and, once the caller is known, by client and by user. */

import { type Principal, Refusal } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'
import { addressNetwork } from '../../lib/network.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { bareAddress, networkList } from '../request/request-head.ts'
import type { Budget, Decision, SlidingWindow } from './sliding-window.ts'

/** A name from the settings, such as token or query. */
export type LimitGroup = string
type CountedBy = 'address' | 'client' | 'user'
export type GroupBudgets = { readonly [By in CountedBy]?: Budget }

export interface LimitedCaller {
  readonly client?: string | undefined
  readonly user?: string | undefined
}

export interface LimitState {
  readonly by: CountedBy
  readonly budget: Budget
  readonly decision: Decision
}

interface Limits {
  readonly budgets: ReadonlyMap<LimitGroup, GroupBudgets>
  /** Addresses and networks that are never limited. */
  readonly exempt: readonly string[]
}

const NOT_LIMITED: readonly LimitState[] = []

export class RateLimits {
  readonly #window: SlidingWindow
  readonly #metrics: Metrics
  #budgets!: Limits['budgets']
  #networkCounted!: (address: string) => string | undefined

  constructor(window: SlidingWindow, limits: Limits, metrics: Metrics) {
    this.#window = window
    this.#metrics = metrics
    this.setLimits(limits)
  }

  setLimits({ budgets, exempt }: Limits): void {
    this.#budgets = budgets
    this.#networkCounted = countedNetworks(exempt)
  }

  /** Throws a 429 when the address has sent too many requests. */
  countAddress(group: LimitGroup, address: string): readonly LimitState[] {
    return this.#count(group, 'address', this.#networkCounted(address))
  }

  /** Throws a 429 when the client or the user of a request has sent too many requests. */
  countCaller(group: LimitGroup, address: string, { client, user }: LimitedCaller): readonly LimitState[] {
    if (this.#networkCounted(address) === undefined) return NOT_LIMITED
    return [...this.#count(group, 'client', client), ...this.#count(group, 'user', user)]
  }

  #count(group: LimitGroup, by: CountedBy, key: string | undefined): readonly LimitState[] {
    const budget = this.#budgets.get(group)?.[by]
    if (budget === undefined || key === undefined) return NOT_LIMITED
    const state = { by, budget, decision: this.#window.take(`${group} ${by} ${key}`, budget) }
    if (state.decision.allowed) return [state]
    this.#metrics.count('gatehouse_http_rejected_total', { group, by })
    throw tooManyRequests(state)
  }
}

/** How the caller of a token is counted. */
export function limitedCaller({ clientId, subject, kind }: Principal): LimitedCaller {
  return { client: clientId, user: kind === 'user' ? subject : undefined }
}

/** The fields of the IETF draft "RateLimit header fields for HTTP", version 10: each policy is named after what it counts. */
export function limitHeaders(states: readonly LimitState[]): readonly string[] {
  const policies = states.map(({ by, budget }) => `"${by}";q=${budget.requests};w=${budget.seconds}`)
  const limits = states.map(({ by, decision }) => `"${by}";r=${decision.remaining};t=${decision.seconds}`)
  return ['ratelimit-policy', policies.join(', '), 'ratelimit', limits.join(', ')]
}

function tooManyRequests(state: LimitState): Refusal {
  const { seconds } = state.decision
  const [policyName = '', policy = '', limitName = '', limit = ''] = limitHeaders([state])
  return new Refusal('http.too_many_requests', 429, `Too many requests: try again in ${seconds} s`, {
    headers: { [policyName]: policy, [limitName]: limit, 'retry-after': String(seconds) },
  })
}

const CACHED_ADDRESSES = 1_000

/** The network that an address is counted as; undefined for one that is exempt. */
export function countedNetworks(exempt: readonly string[]): (address: string) => string | undefined {
  const isExempt = networkList(exempt)
  const known = new LruMap<{ readonly network: string | undefined }>(CACHED_ADDRESSES)
  return (address) => {
    let found = known.get(address)
    if (found === undefined) {
      const bare = bareAddress(address)
      found = { network: isExempt(bare) ? undefined : addressNetwork(bare) }
      known.set(address, found)
    }
    return found.network
  }
}
