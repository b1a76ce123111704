/** The alerts as work of the keeper: there is some while there is an alert. */
import type { Keeper, KeeperTerm, Kept } from '../../query/index.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { AlertTerm, type AlertTermEnv } from './alert-term.ts'

export interface AlertKeeperEnv extends Omit<AlertTermEnv, 'isKeeper' | 'onAttempt'> {
  readonly keeper: Pick<Keeper, 'keep' | 'isSure'>
  readonly countAlerts: () => Promise<number>
  readonly metrics: Metrics | undefined
}

export class AlertKeeper {
  readonly #env: AlertKeeperEnv
  readonly #kept: Kept
  #end: (() => void) | undefined
  #term: AlertTerm | undefined

  constructor(env: AlertKeeperEnv) {
    this.#env = env
    this.#kept = { name: 'alerts', start: (term) => this.#start(term) }
    if (env.metrics !== undefined) this.#watch(env.metrics)
  }

  /** Whether there is work for a keeper. Call it at the start, and when alerts have changed. */
  async follow(): Promise<void> {
    if ((await this.#env.countAlerts()) > 0) this.#end ??= this.#env.keeper.keep(this.#kept)
    else this.close()
  }

  close(): void {
    this.#end?.()
    this.#end = undefined
  }

  #start(term: KeeperTerm): () => Promise<void> {
    const { keeper, metrics } = this.#env
    const running = new AlertTerm(term, {
      ...this.#env,
      isKeeper: () => keeper.isSure,
      onAttempt: (kind, outcome) => metrics?.counter('gatehouse_alert_deliveries_total', { kind, outcome })(1),
    })
    this.#term = running
    return async () => {
      await running.stop()
      if (this.#term === running) this.#term = undefined
    }
  }

  #watch(metrics: Metrics): void {
    metrics.watch('gatehouse_alerts', () =>
      [...(this.#term?.countStates() ?? [])].map(([state, count]) => [{ state }, count]),
    )
    metrics.watch('gatehouse_alert_queue', () => [[{}, this.#term?.lanes.waiting.count ?? 0]])
    metrics.watch('gatehouse_alert_queue_age_seconds', () => {
      const since = this.#term?.lanes.waiting.since
      return [[{}, since === undefined ? 0 : Math.max(0, this.#env.clock() - since) / 1000]]
    })
  }
}
