/** What live queries have done so far, for the metrics. */
import type { Metrics } from '../../telemetry/metrics.ts'
import type { LiveMethod } from '../plan/live-method.ts'
import type { ResetReason } from './contract.ts'

export class LiveCounts {
  readonly evaluations: Record<LiveMethod, number> = { keys: 0, rerun: 0, clock: 0 }
  readonly resets: Record<ResetReason, number> = { Rights: 0, Definition: 0, Lost: 0, Expired: 0, Overflow: 0 }
  readonly resumes = { recovered: 0, reset: 0 }
  #observeDelivery: ((seconds: number) => void) | undefined

  /** The time from when this node learned of a commit until its messages were sent. */
  delivered(milliseconds: number): void {
    this.#observeDelivery?.(milliseconds / 1000)
  }

  watch(metrics: Metrics): void {
    this.#observeDelivery = metrics.histogram('gatehouse_live_delivery_seconds', {})
    metrics.watch('gatehouse_live_evaluations_total', () =>
      Object.entries(this.evaluations).map(([method, count]) => [{ method }, count]),
    )
    metrics.watch('gatehouse_live_resets_total', () =>
      Object.entries(this.resets).map(([reason, count]) => [{ reason }, count]),
    )
    metrics.watch('gatehouse_live_resumes_total', () =>
      Object.entries(this.resumes).map(([outcome, count]) => [{ outcome }, count]),
    )
  }
}
