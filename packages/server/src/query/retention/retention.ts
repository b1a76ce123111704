/** Deletes the rows of tables with a retention, on the node that is the keeper. Loaded when the first table has one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { type KeeperTerm, TermLost } from '../engines/keeper-lease.ts'
import type { RetentionRows } from '../engines/retention-rows.ts'
import type { Keeper } from '../keeper/keeper.ts'
import { ClockCheck } from './clock-check.ts'
import { TableRetention } from './table-retention.ts'
import { type FindViews, NO_VIEWS } from './views.ts'

export interface RetentionOptions {
  readonly keeper: Keeper
  readonly rows: RetentionRows
  readonly clock: Clock
  readonly audit: Audit
  readonly metrics: Metrics | undefined
  readonly onError: (error: unknown) => void
  readonly views?: FindViews
  readonly tickMs?: number
}

const TICK_MS = 1_000

export class Retention {
  readonly #options: RetentionOptions
  readonly #clock: ClockCheck
  /** Those with a retention, by name in lower case. */
  #tables: ReadonlyMap<string, TableDefinition> = new Map()
  #end: (() => void) | undefined
  #running = new Map<string, TableRetention>()
  #faults = new Set<string>()
  #wake: () => void = () => {}

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#clock = new ClockCheck(options.clock)
    options.metrics?.watch('gatehouse_retention_behind_seconds', () =>
      [...this.#running.values()].map(({ table, behind }) => [{ table: table.name }, behind]),
    )
  }

  /** `tables` are those with a retention. */
  catalogueLoaded(tables: readonly TableDefinition[]): void {
    this.#tables = new Map(tables.map((table) => [table.name.toLowerCase(), table]))
    if (tables.length === 0) {
      this.#end?.()
      this.#end = undefined
    } else this.#end ??= this.#options.keeper.keep({ name: 'retention', start: (term) => this.#start(term) })
  }

  /** Does not wait for the next look at what was asked for. */
  wake(): void {
    this.#wake()
  }

  #start(term: KeeperTerm): () => Promise<void> {
    const stop = new AbortController()
    this.#clock.trust()
    const ended = this.#run(term, stop.signal)
    return async () => {
      stop.abort()
      this.#wake()
      await ended
    }
  }

  async #run(term: KeeperTerm, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      let hasMore = false
      try {
        hasMore = await this.#tick(term, signal)
      } catch (error) {
        if (error instanceof TermLost) break
        this.#options.onError(error)
      }
      if (!hasMore) await Promise.race([woken, sleep(this.#options.tickMs ?? TICK_MS, undefined, { ref: false })])
    }
    for (const table of this.#running.values()) table.record(true)
    this.#running.clear()
  }

  /** Whether there are more rows to delete. */
  async #tick(term: KeeperTerm, signal: AbortSignal): Promise<boolean> {
    const { rows } = this.#options
    this.#follow(term)
    const states = await rows.list()
    const now = await rows.now()
    if ([...states.values()].some(({ requested, done }) => requested > done)) this.#clock.trust()
    const fault = this.#clock.findFault(now)
    this.#report(fault)
    let hasMore = false
    for (const [name, table] of this.#running) {
      const state = states.get(name)
      if (state === undefined || signal.aborted) continue
      table.accept(state)
      if (state.fault !== fault) await rows.setFault(term, table.table, fault)
      if (fault === undefined) await table.advance(state, now)
      const advanced = await rows.find(name)
      if (advanced === undefined) continue
      if (fault === undefined) hasMore = (await table.remove(advanced, signal)) || hasMore
      await table.finish({ ...advanced, fault })
      table.record()
    }
    return hasMore
  }

  /** Takes over which tables there are. */
  #follow(term: KeeperTerm): void {
    const { rows, audit, metrics, views = NO_VIEWS } = this.#options
    const onRemoved = (table: string, count: number): void =>
      metrics?.counter('gatehouse_retention_rows_total', { table })(count)
    for (const [name, running] of this.#running)
      if (!this.#tables.has(name)) {
        running.record(true)
        this.#running.delete(name)
      }
    for (const [name, table] of this.#tables) {
      const running = this.#running.get(name)
      if (running === undefined)
        this.#running.set(name, new TableRetention(table, term, { rows, audit, views, onRemoved }))
      else running.table = table
    }
  }

  /** Once, until it is over. */
  #report(fault: string | undefined): void {
    if (fault === undefined) this.#faults.clear()
    else if (this.#faults.size === 0) {
      this.#faults.add(fault)
      this.#options.onError(new Error(`Retention stands still. ${fault}`))
    }
  }
}
