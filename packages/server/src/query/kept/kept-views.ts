/**
 * Materialized views on this node: who keeps them, and when they have caught up. The work itself is loaded by the node that is the keeper;
 * any node can wait for it, since what it has done is stored with the rows.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CatalogueChange, TableDefinition } from '../catalogue/definition.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import { toLogChange } from '../engines/change-log.ts'
import type { KeeperTerm } from '../engines/keeper-lease.ts'
import type { KeptPlan } from '../engines/kept-engine.ts'
import type { KeptRow } from '../engines/kept-states.ts'
import type { TableChange, TablePosition } from '../engines/live-source.ts'
import { refuse } from '../errors.ts'
import type { Kept } from '../keeper/keeper.ts'
import { viewFailed } from '../plan/unready.ts'
import type { FindViews } from '../retention/views.ts'
import { KeptCounts } from './counts.ts'
import type { KeptViewsOptions } from './options.ts'

export interface KeptViewStatus {
  readonly name: string
  readonly query: string
  readonly base: string
  readonly state: KeptRow['state']
  readonly progress: number
  /** Seconds since the first commit that it has not seen; null on a node that is not the keeper. */
  readonly behind: number | null
  readonly rows: number
  readonly builds: number
  readonly error: string | null
}

/** How long CREATE waits for the rows. */
const BUILD_WAIT_MS = 5_000
/** How long a view that fails is waited for. */
const FAILED_WAIT_MS = 1_000
/** How often a wait looks. */
const LOOK_MS = 20

export class KeptViews {
  readonly #options: KeptViewsOptions
  readonly counts = new KeptCounts()
  #end: (() => void) | undefined
  #found: Promise<FindViews> | undefined
  readonly #unsubscribe: () => void

  constructor(options: KeptViewsOptions) {
    this.#options = options
    this.#unsubscribe = options.catalogue.onChange(() => this.#follow())
    this.#follow()
  }

  /** Without a view there is no work, and no keeper for it. */
  #follow(): void {
    const { catalogue, keeper } = this.#options
    const hasViews = catalogue.snapshot.definitions.some(({ kept }) => kept !== undefined)
    if (hasViews) this.#end ??= keeper.keep(this.#work)
    else {
      this.#end?.()
      this.#end = undefined
    }
  }

  readonly #work: Kept = {
    name: 'views',
    start: (term: KeeperTerm) => {
      const options = this.#options
      const started = import('./maintenance.ts').then(
        ({ Maintenance }) => new Maintenance({ ...options, kept: options.engine.kept, term, counts: this.counts }),
      )
      started.catch(options.onError)
      return async () => (await started).close()
    },
  }

  /** Call it before a view is made. */
  requireUpgraded(): Promise<void> {
    return this.#options.keeper.requireUpgraded()
  }

  /** For the retention of a table; loaded by the first that has views. */
  readonly findViews: FindViews = async (table) => {
    const { catalogue, engine } = this.#options
    if (viewsOf(table.name, catalogue.snapshot).length === 0) return { bucketed: [], others: [] }
    this.#found ??= import('./retained-views.ts').then(({ createFindViews }) =>
      createFindViews({
        kept: engine.kept,
        snapshot: () => catalogue.snapshot,
        hasSeen: (name, position, before) => this.#hasSeen(name, position, before),
      }),
    )
    return (await this.#found)(table)
  }

  /** The plans of the views of a table whose change log is replaced. */
  async plansFor(change: CatalogueChange): Promise<readonly KeptPlan[]> {
    const { catalogue, engine } = this.#options
    const { drop } = toLogChange(change)
    const views = drop === undefined || change.kind !== 'alter' ? [] : viewsOf(drop, catalogue.snapshot)
    if (views.length === 0) return []
    const { planKept } = await import('./plan.ts')
    const rows = new Map((await engine.kept.states.list()).map((row) => [row.key, row]))
    return views.flatMap((view) => {
      const row = rows.get(view.name.toLowerCase())
      return row === undefined ? [] : [planKept(view, catalogue.snapshot.byName, engine.kept, row)]
    })
  }

  /** Waits until a new view has its rows, but not for long. A query that fails at once leaves no view. */
  async created({ name }: { readonly name: string }, signal: AbortSignal): Promise<void> {
    const { catalogue } = this.#options
    const { states } = this.#options.engine.kept
    const until = performance.now() + BUILD_WAIT_MS
    while (performance.now() < until) {
      const row = await states.find(name)
      if (row === undefined) return
      if (row.isBuilt) return catalogue.refresh()
      if (row.state === 'failed') {
        await catalogue.change([{ change: { kind: 'drop', name, isView: false }, fill: null }])
        throw viewFailed(name, row.error ?? '')
      }
      await pause(signal)
    }
  }

  /** The rows of a view that its query no longer gives, because retention has deleted what they were made of. */
  async countStaying(name: string): Promise<number> {
    const { catalogue, engine } = this.#options
    const view = catalogue.snapshot.findDefinition(name)
    const row = view && (await engine.kept.states.find(name))
    if (view === undefined || row?.cuts === undefined) return 0
    const { planKept } = await import('./plan.ts')
    const plan = planKept(view, catalogue.snapshot.byName, engine.kept, { cuts: row.cuts, horizon: undefined })
    return engine.kept.countStaying(plan)
  }

  /** Has the keeper evaluate all of a view: with another retention it has other groups. */
  async askAnew(name: string): Promise<void> {
    await this.#options.engine.kept.states.ask(name)
    await this.#options.catalogue.announce()
  }

  /** Waits until all that was committed before is in the view, and in those that it reads. Returns how many rows were wrong. */
  async refresh(name: string, isFull: boolean, signal: AbortSignal): Promise<number> {
    const { catalogue, engine } = this.#options
    const { kept } = engine
    if (isFull) {
      const asked = await kept.states.ask(name)
      await catalogue.announce()
      const row = await this.#wait(name, signal, ({ done }) => done >= asked)
      return row.wrong
    }
    for (const view of levels(name, catalogue.snapshot)) {
      const base = view.kept?.uses[0] ?? ''
      let asked = await kept.head(base)
      await this.#wait(view.name, signal, async (row) => {
        if (!row.isBuilt || row.position === undefined || asked === undefined) return row.isBuilt
        // A position of a log that was replaced, or that a primary gave which is gone, says nothing: what was committed before it is before
        // the new one.
        const change = await this.#changedSince(base, asked)
        if (change === 'lost' || change === 'undone') asked = await kept.head(base)
        return asked === undefined || this.#hasSeen(base, row.position, asked)
      })
    }
    await catalogue.refresh()
    return 0
  }

  /** Whether a view at this position has seen all that was committed to its table before the other one. */
  async #hasSeen(table: string, position: TablePosition, before: TablePosition): Promise<boolean> {
    const change = await this.#changedSince(table, position)
    if (change === undefined) return true
    return change === 'changed' && (this.#options.engine.live.compare(position, before) ?? -1) >= 0
  }

  async #changedSince(table: string, position: TablePosition): Promise<TableChange | undefined> {
    return (await this.#options.engine.live.changedSince(new Map([[table, position]]))).get(table)
  }

  async #wait(
    name: string,
    signal: AbortSignal,
    isDone: (row: KeptRow) => boolean | Promise<boolean>,
  ): Promise<KeptRow> {
    const began = performance.now()
    for (;;) {
      const row = await this.#options.engine.kept.states.find(name)
      if (row === undefined) throw refuse('Data.UnknownTable', `There is no materialized view ${name}`)
      if (await isDone(row)) return row
      // A commit that has just corrected it is perhaps not evaluated yet.
      if (row.state === 'failed' && performance.now() - began > FAILED_WAIT_MS) throw viewFailed(name, row.error ?? '')
      await pause(signal)
    }
  }

  async list(): Promise<KeptViewStatus[]> {
    const { engine, catalogue } = this.#options
    const rows = await engine.kept.states.list()
    return rows.flatMap((row) => {
      const view = catalogue.snapshot.findDefinition(row.key)
      return view === undefined ? [] : (this.#status(view, row) ?? [])
    })
  }

  async find(name: string): Promise<KeptViewStatus | undefined> {
    const { engine, catalogue } = this.#options
    const view = catalogue.snapshot.findDefinition(name)
    const row = view?.kept === undefined ? undefined : await engine.kept.states.find(name)
    return view && row && this.#status(view, row)
  }

  #status({ name, kept }: TableDefinition, row: KeptRow): KeptViewStatus | undefined {
    if (kept === undefined) return undefined
    return {
      name,
      query: kept.text,
      base: kept.uses[0],
      state: row.state,
      progress: row.progress,
      behind: this.#options.keeper.isHolding ? this.counts.behind(name) : null,
      rows: row.rows,
      builds: row.builds,
      error: row.error ?? null,
    }
  }

  close(): void {
    this.#unsubscribe()
    this.#end?.()
  }
}

function viewsOf(table: string, { definitions }: CatalogueSnapshot): TableDefinition[] {
  return definitions.filter(({ kept }) => kept?.uses[0].toLowerCase() === table.toLowerCase())
}

async function pause(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await delay(LOOK_MS)
}

/** The view, after those that it reads. */
function levels(name: string, snapshot: CatalogueSnapshot): TableDefinition[] {
  const view = snapshot.findDefinition(name)
  return view?.kept === undefined ? [] : [...levels(view.kept.uses[0], snapshot), view]
}
