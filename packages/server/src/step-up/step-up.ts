/** Refuses callers whose sign-in is too weak or too old for what they request (RFC 9470), and records it. */
import { type Audit, type Clock, meets, type Principal, type StepUpNeed, stepUpRefusal } from 'gatehouse-protocol'
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

export function createStepUp({ clock, audit, metrics }: StepUpOptions): StepUp {
  return {
    require(principal, need, request) {
      const now = clock()
      if (need === undefined || meets(principal, need, now)) return
      metrics?.count('gatehouse_step_ups_total', { outcome: principal.kind === 'user' ? 'asked' : 'refused' })
      if (principal.kind === 'user') record(principal, need, request)
      throw stepUpRefusal(principal, need)
    },
  }

  function record(principal: Principal, { acr, age }: StepUpNeed, request: StepUpRequest): void {
    const { subject: actor, clientId: client } = principal
    const { resource, address, requestId } = request
    const details = { resource, acr_values: acr === undefined ? undefined : String(acr), max_age: age }
    audit.record({ event: 'stepup.asked', actor, client, address, requestId, details })
  }
}
