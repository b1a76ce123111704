/** Refuses callers whose sign-in is too weak or too old for what they request (RFC 9470), and records it. */
import { type Audit, type Clock, meets, type Principal, type StepUpNeed, stepUpRefusal } from 'gatehouse-protocol'
import { LruMap } from '../lib/lru-map.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export interface StepUpOptions {
  readonly clock: Clock
  readonly audit: Audit
  readonly metrics?: Metrics | undefined
}

/** What was requested, and from where. */
export interface StepUpRequest {
  readonly resource: string
  readonly address?: string
  readonly requestId?: string
}

export interface StepUp {
  /** Throws the refusal if the token does not meet the need. */
  require(principal: Principal, need: StepUpNeed | undefined, request: StepUpRequest): void
}

/** A client that tries again and again must not fill the audit log. */
const AUDIT_INTERVAL_MS = 60_000
const MAX_REMEMBERED = 1_000

export function createStepUp({ clock, audit, metrics }: StepUpOptions): StepUp {
  /** When each token was recorded last. */
  const recorded = new LruMap<number>(MAX_REMEMBERED)
  return {
    require(principal, need, request) {
      const now = clock()
      if (need === undefined || meets(principal, need, now)) return
      metrics?.count('gatehouse_step_ups_total', { outcome: principal.kind === 'user' ? 'asked' : 'refused' })
      if (principal.kind === 'user') record(principal, need, request, now)
      throw stepUpRefusal(principal, need)
    },
  }

  function record(principal: Principal, { acr, age }: StepUpNeed, request: StepUpRequest, now: number): void {
    const { tokenId, subject: actor, clientId: client } = principal
    if (now - (recorded.get(tokenId) ?? 0) < AUDIT_INTERVAL_MS) return
    recorded.set(tokenId, now)
    const { resource, address, requestId } = request
    const details = { resource, acr_values: acr === undefined ? undefined : String(acr), max_age: age }
    audit.record({ event: 'stepup.asked', actor, client, address, requestId, details })
  }
}
