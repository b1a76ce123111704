/** The retention of one table in the term of a keeper: closes rows, moves the cut, and deletes what is before it. */
import type { Audit } from 'gatehouse-protocol'
import type { TableDefinition } from '../catalogue/definition.ts'
import { horizonAt } from '../catalogue/retention.ts'
import type { KeeperTerm } from '../engines/keeper-lease.ts'
import type { RetentionRows, RetentionState } from '../engines/retention-rows.ts'
import { computeCut, type FindViews } from './views.ts'

export interface TableRetentionEnv {
  readonly rows: RetentionRows
  readonly audit: Audit
  readonly views: FindViews
  /** Counts deleted rows. */
  readonly onRemoved: (table: string, rows: number) => void
}

/** The most rows of a step, and how long one may block other writers, where it does: half of what they may wait. */
const MAX_STEP_ROWS = 5_000
const STEP_MS = 10
/** The longest pause between steps; most are as long as the step. */
const PAUSE_MS = 100
const FIRST_STEP_ROWS = 200
/** How long a table deletes before others have their turn. */
const TURN_MS = 1_000
const AUDIT_MS = 3_600_000
/** How long a round that was asked for waits for transactions that may not know of its horizon. */
const SETTLE_MS = 30_000

/** Deleted rows that the audit log does not have yet. */
interface Unrecorded {
  readonly rows: number
  readonly oldest: bigint | undefined
  readonly cut: bigint | undefined
}

export class TableRetention {
  readonly #env: TableRetentionEnv
  readonly term: KeeperTerm
  table: TableDefinition
  #limit = FIRST_STEP_ROWS
  /** Whether there may be rows before the cut. */
  #hasRows = true
  /** The last horizon that has settled. */
  #settled: bigint | undefined
  /** Transactions that may not know of a horizon. */
  #waiting: { readonly horizon: bigint; readonly writers: ReadonlySet<string> } | undefined
  #round: { readonly number: number; readonly since: number; removed: number } | undefined
  /** In this turn. */
  #removed = 0
  /** As the database has it. */
  #unrecorded: Unrecorded = { rows: 0, oldest: undefined, cut: undefined }
  /** By how many seconds the oldest row is older than it should be. */
  behind = 0

  constructor(table: TableDefinition, term: KeeperTerm, env: TableRetentionEnv) {
    this.table = table
    this.term = term
    this.#env = env
  }

  /** Whether the definition that this node knows is the one that the state follows. */
  isCurrent({ time, timeColumn }: RetentionState): boolean {
    const { retention } = this.table
    return time === retention?.time && timeColumn === retention?.on
  }

  /** Begins a round that was asked for. */
  accept({ requested, done }: RetentionState): void {
    if (requested <= done || this.#round?.number === requested) return
    this.#round = { number: requested, since: performance.now(), removed: 0 }
    this.#hasRows = true
  }

  /** Closes rows, each minute, and moves the cut. */
  async advance(state: RetentionState, now: bigint): Promise<void> {
    const { rows } = this.#env
    if (state.isHeld) return
    const target = horizonAt(now, this.table)
    if (target === undefined) return
    if (state.horizon === undefined || target > state.horizon) {
      await rows.close(this.term, this.table, target)
      await this.#measure(target)
    } else if (state.settling === undefined && state.horizon === this.#settled) return
    await rows.settle(this.term, this.table)
    await this.#moveCut()
  }

  async #moveCut(): Promise<void> {
    const { rows, views } = this.#env
    const { settling: settled, horizon, cut: former } = (await rows.find(this.table.name)) ?? {}
    // A hold, or another definition, may have come in between: then it is not settled.
    if (settled === undefined && horizon !== undefined && former !== undefined && former >= horizon)
      this.#settled = horizon
    if (settled === undefined || !(await this.#knowAll(settled))) return
    const found = await views(this.table)
    for (const view of found.bucketed) if (!(await view.hasReadPast(settled))) return
    const cut = await computeCut(settled, found)
    // First: what is deleted after it changes no row of these views.
    for (const view of found.bucketed) await view.freeze(this.term, cut)
    await rows.moveCut(this.term, this.table, settled, cut)
    this.#settled = settled
    this.#hasRows = true
  }

  /** Whether all transactions have ended that had written to the table when rows before the horizon were closed: later ones know of it. */
  async #knowAll(horizon: bigint): Promise<boolean> {
    const writers = await this.#env.rows.writers(this.table)
    const before = this.#waiting?.horizon === horizon ? this.#waiting.writers : writers
    this.#waiting = { horizon, writers: before.intersection(writers) }
    return this.#waiting.writers.size === 0
  }

  async #measure(target: bigint): Promise<void> {
    const oldest = await this.#env.rows.oldest(this.table)
    this.behind = oldest === undefined || oldest >= target ? 0 : Number((target - oldest) / 1_000_000n)
  }

  /** Deletes for a while. Whether there is more. */
  async remove(state: RetentionState, signal: AbortSignal): Promise<boolean> {
    const { cut } = state
    // Once it is released, rows may be there again.
    if (state.isHeld) this.#hasRows = true
    if (cut === undefined || state.isHeld || !this.#hasRows) return false
    const { rows } = this.#env
    const oldest = await rows.oldest(this.table)
    this.#removed = 0
    try {
      return await this.#removeFor(TURN_MS, cut, signal)
    } finally {
      if (this.#removed > 0) await this.#addUnrecorded(this.#removed, oldest, cut)
    }
  }

  async #addUnrecorded(removed: number, oldest: bigint | undefined, cut: bigint): Promise<void> {
    const before = this.#unrecorded
    this.#unrecorded = { rows: before.rows + removed, oldest: before.oldest ?? oldest, cut }
    await this.#env.rows.addUnrecorded(this.term, this.table, removed, oldest)
  }

  /** Whether there is more. */
  async #removeFor(milliseconds: number, cut: bigint, signal: AbortSignal): Promise<boolean> {
    const end = performance.now() + milliseconds
    while (performance.now() < end) {
      if (signal.aborted) return false
      if (!(await this.#step(cut))) {
        this.#hasRows = false
        return false
      }
    }
    return true
  }

  /** Whether there may be more rows. */
  async #step(cut: bigint): Promise<boolean> {
    const { rows, onRemoved } = this.#env
    const limit = this.#limit
    const began = performance.now()
    let blocked = 0
    const onBlocked = (milliseconds: number): void => {
      blocked = milliseconds
    }
    const removed = await rows.removeOldest(this.term, this.table, { cut, limit, onBlocked })
    const took = performance.now() - began
    if (removed > 0) {
      this.#removed += removed
      if (this.#round !== undefined) this.#round.removed += removed
      onRemoved(this.table.name, removed)
    }
    if (removed < limit) return false
    // What a step takes besides, such as its round trips, is the same for one row and for thousands.
    const wanted = Math.round((limit * STEP_MS) / Math.max(blocked, STEP_MS / 2))
    this.#limit = Math.max(1, Math.min(MAX_STEP_ROWS, wanted))
    // Others write meanwhile. A step that waited long for the database does not make this one wait as long again.
    await new Promise((resolve) => setTimeout(resolve, Math.min(took, PAUSE_MS)))
    return true
  }

  /** Ends a round that was asked for, once all is done that can be done now. */
  async finish(state: RetentionState): Promise<void> {
    const round = this.#round
    if (round === undefined) return
    const isOver = state.isHeld || state.fault !== undefined || performance.now() - round.since > SETTLE_MS
    const isSettled = state.settling === undefined && state.horizon === this.#settled
    if (!isOver && (this.#hasRows || !isSettled)) return
    await this.#env.rows.finish(this.term, this.table, round.number, round.removed)
    this.#round = undefined
  }

  /** One entry an hour. A keeper that was killed leaves the rest of it to the next one. */
  async record(
    { unrecorded, unrecordedSince: since = 0, unrecordedOldest, cut }: RetentionState,
    now: bigint,
  ): Promise<void> {
    this.#unrecorded = { rows: unrecorded, oldest: unrecordedOldest, cut }
    if (Number(now / 1000n) - since >= AUDIT_MS) await this.recordAll()
  }

  /** The table has no retention any more, or is gone. */
  async recordAll(): Promise<void> {
    const { rows, oldest, cut } = this.#unrecorded
    if (rows === 0) return
    const { name } = this.table
    this.#unrecorded = { rows: 0, oldest: undefined, cut: undefined }
    this.#env.audit.record({
      event: 'retention.cut',
      target: name,
      details: {
        table: name,
        rows,
        ...(cut !== undefined && { cut: toText(cut) }),
        ...(oldest !== undefined && { oldest: toText(oldest) }),
      },
    })
    await this.#env.rows.clearUnrecorded(this.term, this.table)
  }
}

function toText(micros: bigint): string {
  return new Date(Number(micros / 1000n)).toISOString()
}
