/** Deletes the rows of tables with a retention, on the node that is the keeper. Loaded when the first table has one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { type KeeperTerm, TermLost } from '../engines/keeper-lease.ts'
import type { RetentionRows, RetentionState } from '../engines/retention-rows.ts'
import type { Keeper } from '../keeper/keeper.ts'
import { ClockCheck } from './clock-check.ts'
import { TableRetention } from './table-retention.ts'
import type { FindViews } from './views.ts'

export interface RetentionOptions {
  readonly keeper: Keeper
  readonly rows: RetentionRows
  readonly clock: Clock
  readonly audit: Audit
  readonly metrics: Metrics | undefined
  readonly onError: (error: unknown) => void
  /** Loads the definitions of tables again: this node has missed a change. */
  readonly reload: () => Promise<void>
  readonly views: FindViews
  readonly tickMs?: number
}

const TICK_MS = 1_000

interface Turn {
  readonly state: RetentionState
  readonly now: bigint
  readonly fault: string | undefined
  readonly signal: AbortSignal
}

export class Retention {
  readonly #options: RetentionOptions
  readonly #clock: ClockCheck
  /** Those with a retention, by name in lower case. */
  #tables: ReadonlyMap<string, TableDefinition> = new Map()
  #end: (() => void) | undefined
  #running = new Map<string, TableRetention>()
  #faults = new Set<string>()
  /** The tables whose last turn failed, with the error that was reported. */
  readonly #failing = new Map<string, string | undefined>()
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
    await this.#recordEnded()
    this.#running.clear()
    this.#failing.clear()
  }

  /** What was deleted from tables whose retention has ended. That of others the next term records. */
  async #recordEnded(): Promise<void> {
    try {
      for (const [name, table] of this.#running) if (!this.#tables.has(name)) await table.recordAll()
    } catch (error) {
      if (!(error instanceof TermLost)) this.#options.onError(error)
    }
  }

  /** Whether there are more rows to delete. */
  async #tick(term: KeeperTerm, signal: AbortSignal): Promise<boolean> {
    const { rows } = this.#options
    await this.#follow(term)
    const states = await rows.list()
    const now = await rows.now()
    if ([...states.values()].some(({ requested, done }) => requested > done)) this.#clock.trust()
    const fault = this.#clock.findFault(now)
    this.#report(fault)
    let hasMore = false
    for (const [name, table] of this.#running) {
      const state = states.get(name)
      if (state === undefined || signal.aborted) continue
      try {
        hasMore = (await this.#turn(table, { state, now, fault, signal })) || hasMore
        this.#failing.delete(name)
      } catch (error) {
        if (error instanceof TermLost) throw error
        await this.#fail(table, error)
      }
    }
    return hasMore
  }

  /** Whether the table has more rows to delete. */
  async #turn(table: TableRetention, { state, now, fault, signal }: Turn): Promise<boolean> {
    const { rows, reload } = this.#options
    table.accept(state)
    if (!table.isCurrent(state)) {
      await reload()
      return false
    }
    if (fault === undefined) await table.advance(state, now)
    const advanced = await rows.find(state.name)
    if (advanced === undefined) return false
    await table.record(advanced, now)
    const hasMore = fault === undefined && (await table.remove(advanced, signal))
    if (state.fault !== fault) await rows.setFault(table.term, table.table, fault)
    await table.finish({ ...advanced, fault })
    return hasMore
  }

  /** Other tables go on. A single failure may be a definition that this node has not loaded yet. */
  async #fail(running: TableRetention, error: unknown): Promise<void> {
    const { rows, onError } = this.#options
    const { table, term } = running
    const name = table.name.toLowerCase()
    const fault = error instanceof Error ? error.message : String(error)
    if (!this.#failing.has(name)) {
      this.#failing.set(name, undefined)
      return
    }
    if (this.#failing.get(name) !== fault) {
      this.#failing.set(name, fault)
      onError(new Error(`The retention of ${table.name} fails`, { cause: error }))
      await rows.setFault(term, table, fault)
    }
    const state = await rows.find(table.name)
    if (state !== undefined) await running.finish({ ...state, fault })
  }

  /** Takes over which tables there are. */
  async #follow(term: KeeperTerm): Promise<void> {
    const { rows, audit, metrics, views } = this.#options
    const onRemoved = (table: string, count: number): void =>
      metrics?.counter('gatehouse_retention_rows_total', { table })(count)
    for (const [name, running] of this.#running)
      if (!this.#tables.has(name)) {
        this.#running.delete(name)
        this.#failing.delete(name)
        await running.recordAll()
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
