/** Keeps one materialized view: builds it, and evaluates the groups that commits have touched. */
import { Refusal } from 'gatehouse-protocol'
import { alwaysLogged } from '../engines/change-log.ts'
import { TermLost } from '../engines/keeper-lease.ts'
import type { KeptOutcome, KeptPlan, KeptRun } from '../engines/kept-engine.ts'
import type { KeptRow } from '../engines/kept-states.ts'
import type { TablePosition } from '../engines/live-source.ts'
import { refuse } from '../errors.ts'
import type { Watcher } from '../live/evaluate/table-watches.ts'
import { asUnavailable } from '../unavailable.ts'
import type { ViewMaintenanceOptions } from './options.ts'
import { planKept } from './plan.ts'

/** The next evaluation waits for PAUSE × the duration of the last one. */
const PAUSE = 2
const RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000
const CONFLICT_MS = 50
/** How often the progress of a build is announced to the other nodes. */
const ANNOUNCE_MS = 5_000

export class ViewMaintenance implements Watcher {
  readonly tables: readonly [string]
  readonly #name: string
  readonly #options: ViewMaintenanceOptions
  readonly #stop = new AbortController()
  #isWatching = false
  #dirtySince: number | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #notBefore = Number.NEGATIVE_INFINITY
  #failures = 0
  /** How long the touched groups took, in milliseconds: neither the waits for a reader, nor a build. */
  #worked = 0
  #planned: { readonly version: string; readonly plan: KeptPlan } | undefined

  constructor(name: string, base: string, options: ViewMaintenanceOptions) {
    this.#name = name
    this.tables = [base]
    this.#options = options
    this.markDirty(performance.now())
  }

  markDirty(at: number): void {
    this.#dirtySince ??= at
    this.#counts.behindSince ??= at
    this.#schedule()
  }

  /** It may be asked to be built anew. */
  look(): void {
    this.markDirty(performance.now())
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('The node is no longer the keeper'))
    clearTimeout(this.#timer)
    this.#options.watches.remove(this)
    this.#options.counts.remove(this.#name)
    await this.#running
  }

  get #counts() {
    return this.#options.counts.of(this.#name)
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#stop.signal.aborted || this.#running !== undefined || this.#dirtySince === undefined) return
    const wait = this.#notBefore - performance.now()
    if (wait > 0) this.#timer = setTimeout(() => this.#schedule(), wait).unref()
    else this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { catalogue, turns, builds } = this.#options
    const isBuilt = catalogue.snapshot.findDefinition(this.#name)?.keptState?.isBuilt ?? false
    await (isBuilt ? turns : builds).run(() => this.#attempt())
    this.#running = undefined
    this.#schedule()
  }

  async #attempt(): Promise<void> {
    if (this.#stop.signal.aborted) return
    const startedAt = performance.now()
    this.#dirtySince = undefined
    this.#worked = 0
    try {
      await this.#bringUpToDate()
      this.#failures = 0
      // Commits that came meanwhile are not seen yet.
      this.#counts.behindSince = this.#dirtySince
      this.#counts.seconds += (performance.now() - startedAt) / 1000
      this.#notBefore = performance.now() + PAUSE * this.#worked
    } catch (error) {
      // The new keeper goes on.
      if (!this.#stop.signal.aborted && !(error instanceof TermLost)) await this.#fail(error, startedAt)
    }
  }

  async #bringUpToDate(): Promise<void> {
    const { kept, catalogue } = this.#options
    const row = await kept.states.find(this.#name)
    const plan = row && this.#plan(row)
    if (row === undefined || plan === undefined) return
    if (!row.isBuilt || row.position === undefined) return this.#build(plan)
    this.#watch(row.position)
    const isWhole = row.asked > row.done || row.zones !== plan.zones
    const followed = isWhole ? undefined : await kept.follow(plan, row, this.#createRun())
    const isFollowed = followed?.kind === 'kept' || followed?.kind === 'stale'
    const outcome = isFollowed ? followed : await kept.compare(plan, row, this.#createRun())
    const { position, groups, milliseconds } = requireKept(plan, outcome)
    if (isFollowed) this.#worked += milliseconds
    this.#counts.groups += groups
    this.#options.watches.hasRead(this, new Map([[this.tables[0], position]]))
    if (row.state !== 'ready') await catalogue.announce()
  }

  #plan(row: KeptRow): KeptPlan | undefined {
    const { catalogue, kept } = this.#options
    const { version: loaded, byName } = catalogue.snapshot
    const version = `${loaded} ${row.cuts} ${row.horizon?.time}`
    if (this.#planned?.version === version) return this.#planned.plan
    const view = byName.get(this.#name.toLowerCase())
    if (view?.kept === undefined) return undefined
    const plan = planKept(view, byName, kept, row)
    this.#planned = { version, plan }
    return plan
  }

  #createRun(): KeptRun {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#options.milliseconds)])
    return { term: this.#options.term, running: { signal } }
  }

  #watch(position: TablePosition): void {
    if (this.#isWatching) return
    this.#isWatching = true
    this.#options.watches.add(this, new Map([[this.tables[0], position]]))
  }

  /** Once it is built, it is read, and its changes are logged. */
  async #build(plan: KeptPlan): Promise<void> {
    const { kept, catalogue } = this.#options
    const definition = catalogue.snapshot.findDefinition(plan.view)
    if (definition === undefined) return
    const always = alwaysLogged(catalogue.snapshot.definitions).get(plan.view.toLowerCase())
    let announcedAt = performance.now()
    const onProgress = (): void => {
      if (performance.now() - announcedAt < ANNOUNCE_MS) return
      announcedAt = performance.now()
      catalogue.announce().catch(this.#options.onError)
    }
    const outcome = await kept.build(plan, { ...this.#createRun(), definition, always, onProgress })
    const { position } = requireKept(plan, outcome)
    await catalogue.announce()
    this.#watch(position)
    this.markDirty(performance.now())
  }

  /** The statement fails: readers learn it. Anything else is tried again, and the rows stay. */
  async #fail(error: unknown, startedAt: number): Promise<void> {
    const now = performance.now()
    const wait = Math.min(PAUSE * (now - startedAt), RETRY_MS)
    const known = asUnavailable(error) ?? error
    if (isOfStatement(known)) {
      this.#notBefore = now + wait
      await this.#markFailed(known.message).catch((failure) => this.#retry(failure))
      return
    }
    if (!(await this.#isDropped())) this.#retry(known)
  }

  /** While it was evaluated; it is closed in a moment. */
  async #isDropped(): Promise<boolean> {
    const { kept } = this.#options
    return (await kept.states.find(this.#name).catch(() => 'unknown')) === undefined
  }

  async #markFailed(message: string): Promise<void> {
    const { kept, catalogue, term } = this.#options
    const row = await kept.states.find(this.#name)
    if (row === undefined || (row.state === 'failed' && row.error === message)) return
    await kept.states.set(term, this.#name, (value) => ["state = 'failed'", `error = ${value(message)}`])
    await catalogue.announce()
    if (row.position !== undefined) this.#watch(row.position)
    else this.#watchUnbuilt()
  }

  /** A view that could not be built is tried again after each commit. */
  #watchUnbuilt(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    this.#options.watches.add(this, new Map())
  }

  #retry(error: unknown): void {
    if (!(error instanceof Refusal)) this.#options.onError(error)
    this.#notBefore = performance.now() + this.#pauseAfter(error)
    this.#dirtySince ??= performance.now()
    this.#counts.behindSince ??= this.#dirtySince
  }

  /** Only what the view itself costs makes it wait longer each time. */
  #pauseAfter(error: unknown): number {
    const code = error instanceof Refusal ? error.code : ''
    // Another commit was first, such as one that altered the table: the next attempt begins from there.
    if (code === 'Data.Conflict') return CONFLICT_MS
    // However long the database was away, the views go on when it is back.
    if (code === 'Data.Unavailable') return RETRY_MS
    return Math.min(RETRY_MS * 2 ** this.#failures++, MAX_RETRY_MS)
  }
}

/** Otherwise it is tried again: this node loads the new definition in a moment, or the table is a view that is being built itself. */
function requireKept({ base }: KeptPlan, outcome: KeptOutcome): Extract<KeptOutcome, { kind: 'kept' }> {
  if (outcome.kind === 'kept') return outcome
  throw refuse('Data.Conflict', `The table ${base} has just changed`)
}

/** The query of the view fails, not the service. */
function isOfStatement(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code.startsWith('IQL.')
}
