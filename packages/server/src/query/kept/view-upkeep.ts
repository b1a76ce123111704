/** Keeps one materialized view: builds it, and evaluates the groups that commits have touched. */
import { Refusal } from 'gatehouse-protocol'
import { alwaysLogged } from '../engines/change-log.ts'
import type { WriteStep } from '../engines/engine.ts'
import type { KeptDifference, KeptOutcome, KeptPlan, KeptValues } from '../engines/kept-reads.ts'
import type { KeptRow, SetColumns } from '../engines/kept-states.ts'
import { refuse } from '../errors.ts'
import type { Watcher } from '../live/evaluate/table-watches.ts'
import { asUnavailable } from '../unavailable.ts'
import type { ViewUpkeepOptions } from './options.ts'
import { planKept } from './plan.ts'

/** The next evaluation waits for PAUSE × the duration of the last one. */
const PAUSE = 2
const RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000
const CONFLICT_MS = 50
/** Rows of one commit of a build. */
const PIECE_ROWS = 20_000
/** Rows that are written in a commit shared with others, on the event loop. */
const SHARED_ROWS = 1_000
/** How often the progress of a build is announced to the other nodes. */
const ANNOUNCE_MS = 1_000

export class ViewUpkeep implements Watcher {
  readonly tables: readonly [string]
  readonly #name: string
  readonly #options: ViewUpkeepOptions
  readonly #stop = new AbortController()
  #isWatching = false
  #dirtySince: number | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #notBefore = Number.NEGATIVE_INFINITY
  #failures = 0
  /** How long the touched groups took, in milliseconds: neither the waits for a reader, nor a build. */
  #worked = 0
  #planned: { readonly version: number; readonly plan: KeptPlan } | undefined

  constructor(name: string, base: string, options: ViewUpkeepOptions) {
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
    await this.#options.turns.run(() => this.#attempt())
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
      if (!this.#stop.signal.aborted) await this.#fail(error, startedAt)
    }
  }

  async #bringUpToDate(): Promise<void> {
    const { kept } = this.#options
    const row = await kept.states.find(this.#name)
    const plan = this.#plan()
    if (row === undefined || plan === undefined) return
    if (!row.isBuilt || row.position === undefined) return this.#build(plan)
    this.#watch(row)
    if (row.asked > row.done || row.zones !== plan.zones) return this.#compare(plan, row)
    const outcome = await this.#touched(plan, row.position)
    if (outcome?.kind === 'stale') throw altered(plan)
    if (outcome?.kind === 'difference') {
      await this.#apply(plan, row, outcome)
      this.#worked += outcome.milliseconds
    }
    if (outcome?.kind !== 'difference') await this.#compare(plan, row)
  }

  /** Undefined if it fails: perhaps only at a row as it was, which says nothing of the query as it is. */
  async #touched(plan: KeptPlan, position: string): Promise<KeptOutcome | undefined> {
    try {
      return await this.#options.kept.touched(plan, position, this.#signal())
    } catch (error) {
      if (isOfStatement(error)) return undefined
      throw error
    }
  }

  #plan(): KeptPlan | undefined {
    const { catalogue, engine } = this.#options
    const { version, byName } = catalogue.snapshot
    if (this.#planned?.version === version) return this.#planned.plan
    const view = byName.get(this.#name.toLowerCase())
    if (view?.kept === undefined) return undefined
    const plan = planKept(view, byName, engine)
    this.#planned = { version, plan }
    return plan
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#options.milliseconds)])
  }

  #watch({ position }: Pick<KeptRow, 'position'>): void {
    if (this.#isWatching || position === undefined) return
    this.#isWatching = true
    this.#options.watches.add(this, new Map([[this.tables[0], position]]))
  }

  /** All of it is evaluated, and what differs is written in one commit: the rows that are there serve meanwhile. */
  async #compare(plan: KeptPlan, row: KeptRow): Promise<void> {
    const outcome: KeptOutcome = await this.#options.kept.compare(plan, this.#signal())
    if (outcome.kind === 'stale') throw altered(plan)
    if (outcome.kind !== 'difference') return this.#build(plan)
    const { inserted, updated, deleted } = outcome
    const wrong = inserted.length + updated.length + deleted.length
    await this.#apply(plan, row, outcome, (value) => [
      `done = ${value(BigInt(row.asked))}`,
      `wrong = ${value(BigInt(wrong))}`,
      `zones = ${value(plan.zones ?? null)}`,
      'builds = builds + 1',
    ])
  }

  /** The rows with the new position, if the view is still at the old one. */
  async #apply(
    plan: KeptPlan,
    row: KeptRow,
    { position, groups, inserted, updated, deleted }: KeptDifference,
    further: SetColumns = () => [],
  ): Promise<void> {
    const { kept, watches, catalogue } = this.#options
    const isSame =
      position === row.position && row.state === 'ready' && row.asked === row.done && row.zones === plan.zones
    this.#counts.groups += groups
    if (!isSame) {
      const step = kept.states.step(
        this.#name,
        (value) => [
          `position = ${value(position)}`,
          "state = 'ready'",
          'error = NULL',
          `rows = rows + ${value(BigInt(inserted.length - deleted.length))}`,
          ...further(value),
        ],
        (value) => `position = ${value(row.position ?? '')}`,
      )
      await this.#write(plan, [step, ...kept.writeSteps(plan, [...inserted, ...updated], deleted)])
    }
    watches.hasRead(this, new Map([[this.tables[0], position]]))
    if (row.state !== 'ready') await catalogue.announce()
  }

  async #write(plan: KeptPlan, steps: readonly WriteStep[]): Promise<void> {
    const { engine, term } = this.#options
    const rows = steps.reduce((count, { parameterSets }) => count + parameterSets.length, 0)
    await engine.write({
      owner: undefined,
      tables: [{ name: plan.view, isLive: true }],
      steps,
      returning: [],
      tracksRows: false,
      isShort: rows <= SHARED_ROWS,
      rowLimit: 0,
      mustBeWhole: false,
      running: this.#stop,
      idempotencyKey: undefined,
      term,
    })
  }

  /** From one snapshot, in pieces, without a change log; begun again after a kill. Nobody reads the rows meanwhile. */
  async #build(plan: KeptPlan): Promise<void> {
    const { kept, catalogue } = this.#options
    const { states } = kept
    await this.#empty(plan)
    await catalogue.announce()
    const pieces = kept.build(plan, this.#signal())
    let piece: KeptValues[] = []
    let rows = 0
    let announcedAt = performance.now()
    const flush = async (): Promise<void> => {
      rows += piece.length
      const step = states.step(
        this.#name,
        (value) => [`rows = ${value(BigInt(rows))}`, 'progress = progress + (999 - progress) / 4'],
        () => 'position IS NULL',
      )
      await this.#write(plan, [step, ...kept.writeSteps(plan, piece, [])])
      piece = []
      if (performance.now() - announcedAt < ANNOUNCE_MS) return
      announcedAt = performance.now()
      await catalogue.announce()
    }
    try {
      for (;;) {
        const next = await pieces.next()
        if (next.done) {
          if (piece.length > 0) await flush()
          return await this.#finish(plan, next.value)
        }
        piece.push(...next.value)
        if (piece.length >= PIECE_ROWS) await flush()
      }
    } finally {
      // A reader whose rows nobody takes would wait for ever.
      await pieces.return('')
    }
  }

  async #empty(plan: KeptPlan): Promise<void> {
    const { kept, engine } = this.#options
    const step = kept.states.step(
      this.#name,
      () => [
        "state = 'building'",
        'progress = 0',
        'rows = 0',
        'position = NULL',
        `built = ${engine.dialect.truth(false)}`,
        'error = NULL',
      ],
      () => '1 = 1',
    )
    await this.#write(plan, [step, ...kept.emptySteps(plan.view)])
  }

  /** From now on it is read, and its changes are logged. */
  async #finish(plan: KeptPlan, position: string): Promise<void> {
    const { kept, catalogue, engine } = this.#options
    const definition = catalogue.snapshot.findDefinition(plan.view)
    if (definition === undefined) return
    const always = alwaysLogged(catalogue.snapshot.definitions).get(plan.view.toLowerCase())
    const step = kept.states.step(
      this.#name,
      (value) => [
        `position = ${value(position)}`,
        "state = 'ready'",
        'progress = 1000',
        `built = ${engine.dialect.truth(true)}`,
        'error = NULL',
        'builds = builds + 1',
        'done = asked',
        `zones = ${value(plan.zones ?? null)}`,
        'wrong = 0',
      ],
      () => 'position IS NULL',
    )
    await this.#write(plan, [step, ...kept.logSteps(definition, always)])
    await catalogue.announce()
    this.#watch({ position })
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
    this.#retry(known)
  }

  async #markFailed(message: string): Promise<void> {
    const { kept, catalogue } = this.#options
    const row = await kept.states.find(this.#name)
    if (row === undefined || (row.state === 'failed' && row.error === message)) return
    const step = kept.states.step(
      this.#name,
      (value) => ["state = 'failed'", `error = ${value(message)}`],
      () => '1 = 1',
    )
    const plan = this.#plan()
    if (plan === undefined) return
    await this.#write(plan, [step])
    await catalogue.announce()
    if (row.position !== undefined) this.#watch(row)
    else this.#watchUnbuilt()
  }

  /** A view that could not be built is tried again after each commit. */
  #watchUnbuilt(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    this.#options.watches.add(this, new Map())
  }

  #retry(error: unknown): void {
    const isExpected = error instanceof Refusal
    if (!isExpected) this.#options.onError(error)
    const wait = Math.min(RETRY_MS * 2 ** this.#failures++, MAX_RETRY_MS)
    // Another commit was first, such as one that altered the table: the next attempt begins from there.
    this.#notBefore = performance.now() + (isExpected && error.code === 'Data.Conflict' ? CONFLICT_MS : wait)
    this.#dirtySince ??= performance.now()
    this.#counts.behindSince ??= this.#dirtySince
  }
}

/** This node loads the new definition in a moment. */
function altered({ base }: KeptPlan): Refusal {
  return refuse('Data.Conflict', `The table ${base} has just changed`)
}

/** The query of the view fails, not the service. */
function isOfStatement(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code.startsWith('IQL.')
}
