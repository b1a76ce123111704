/**
 * Delayed tables on this node: whether copies can be read, and on the keeper the work that keeps them up to date. Loaded when the first
 * table is delayed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import type { CopyTimes } from '../catalogue/licences.ts'
import { hasLog } from '../engines/change-log.ts'
import { copyName } from '../engines/delayed-copies.ts'
import type { CopyState, DelayedRows } from '../engines/delayed-rows.ts'
import { type KeeperTerm, TermLost } from '../engines/keeper-lease.ts'
import type { Keeper } from '../keeper/keeper.ts'

export interface DelayedOptions {
  readonly keeper: Keeper
  readonly rows: DelayedRows
  readonly metrics: Metrics | undefined
  /** The delays that a table should have; undefined while that is not known. */
  readonly wanted: (table: TableDefinition) => readonly number[] | undefined
  /** Gives a table these delays. */
  readonly setDelays: (table: TableDefinition, delays: readonly number[]) => Promise<void>
  /** Called when other copies than before can be read. */
  readonly onChanged: () => void
  readonly onError: (error: unknown) => void
}

const ROUND_MS = 250
const TRIM_EVERY_MS = 30_000

export class Delayed {
  readonly #options: DelayedOptions
  /** Those that can have copies. */
  #tables: readonly TableDefinition[] = []
  /** By the names of copies. */
  #states: ReadonlyMap<string, CopyState> = new Map()
  /** The marks that this process has written, and when by the monotonic clock. */
  readonly #marks: Mark[] = []
  #stopKeeping: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> | undefined
  #hasTerm = false
  /** Counts changes of tables, since which states are other ones. */
  #changes = 0
  /** Changes when other copies can be read. */
  version = 1

  constructor(options: DelayedOptions) {
    this.#options = options
  }

  /** Takes over the tables of the catalogue. */
  follow(tables: readonly TableDefinition[]): void {
    const before = new Map(this.#tables.map((table) => [table.name, table]))
    this.#tables = tables.filter(canHaveCopies)
    // Copies of another form begin anew: until they have been looked at, nothing is known of them.
    const renewed = this.#tables.filter(
      (table) => isDelayed(table) && writeForm(table) !== writeForm(before.get(table.name)),
    )
    if (renewed.length > 0) this.#forget(new Set(renewed.map(({ name }) => name.toLowerCase())))
    const isNeeded = this.#tables.some((table) => isDelayed(table) || this.#isOther(table))
    if (!isNeeded) {
      this.#rest()
      return
    }
    this.#stopKeeping ??= this.#options.keeper.keep({ name: 'delayed', start: (term) => this.#start(term) })
    this.#timer ??= setInterval(() => this.#look(), ROUND_MS).unref()
    this.#look()
  }

  /** Whether the copy of the table is one of its former states. */
  isOpen(table: string, delay: number): boolean {
    return this.#states.get(copyName(table, delay))?.phase === 'open'
  }

  /** Whether the state of the copy is known. */
  isKnown(table: string, delay: number): boolean {
    return this.#states.has(copyName(table, delay))
  }

  /** As this node knows them now: rows that are read later are as of these times, or a moment later. */
  get times(): CopyTimes {
    const states = this.#states
    return (table, delay) => states.get(copyName(table, delay))?.asOf
  }

  async close(): Promise<void> {
    this.#rest()
    await this.#reading
  }

  #rest(): void {
    this.#stopKeeping?.()
    this.#stopKeeping = undefined
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #forget(tables: ReadonlySet<string>): void {
    this.#changes++
    const kept = [...this.#states].filter(([, { base }]) => !tables.has(base))
    if (kept.length === this.#states.size) return
    this.#states = new Map(kept)
    this.version++
    this.#options.onChanged()
  }

  /** The keeper looks in its rounds. */
  #look(): void {
    if (this.#hasTerm) return
    this.#reading ??= this.#read()
      .then(() => {})
      .catch(this.#options.onError)
      .finally(() => {
        this.#reading = undefined
      })
  }

  async #read(): Promise<readonly CopyState[]> {
    const changes = this.#changes
    const states = await this.#options.rows.list()
    // They may be from before a change of their tables.
    if (changes !== this.#changes) return this.#read()
    const before = this.#states
    this.#states = new Map(states.map((state) => [state.name, state]))
    const isOther = states.some((state) => (before.get(state.name)?.phase === 'open') !== (state.phase === 'open'))
    if (isOther || [...before.keys()].some((name) => !this.#states.has(name))) {
      this.version++
      this.#options.onChanged()
    }
    return states
  }

  /** Of the marks of this process, the first that is too young for a delay, whatever the clock says: it may have been set forward. */
  #firstYoung(delay: number): bigint | undefined {
    return this.#marks.find((mark) => isYoung(mark, delay))?.at
  }

  #isOther(table: TableDefinition): boolean {
    const wanted = this.#options.wanted(table)
    return wanted !== undefined && wanted.join() !== (table.delays ?? []).join()
  }

  #start(term: KeeperTerm): () => Promise<void> {
    const stop = new AbortController()
    this.#hasTerm = true
    const ended = this.#run(term, stop.signal)
    return async () => {
      this.#hasTerm = false
      stop.abort()
      await ended
    }
  }

  async #run(term: KeeperTerm, signal: AbortSignal): Promise<void> {
    let trimmedAt = 0
    while (!signal.aborted) {
      const began = performance.now()
      const isTrimming = began - trimmedAt >= TRIM_EVERY_MS
      try {
        await this.#round(term, isTrimming)
        if (isTrimming) trimmedAt = began
      } catch (error) {
        if (error instanceof TermLost) return
        this.#options.onError(error)
      }
      const rest = Math.max(10, ROUND_MS - (performance.now() - began))
      await sleep(rest, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  async #round(term: KeeperTerm, isTrimming: boolean): Promise<void> {
    const { rows, wanted, setDelays, metrics } = this.#options
    for (const table of this.#tables) {
      const delays = wanted(table)
      if (delays !== undefined && this.#isOther(table)) await setDelays(table, delays)
    }
    const tables = this.#tables.filter(isDelayed)
    if (tables.length === 0) return
    await rows.renew(term, tables, await this.#read())
    const marked = await rows.mark(term, tables, await this.#read())
    if (marked !== undefined) this.#marks.push({ at: marked, written: performance.now() })
    const states = await this.#read()
    const delays = [...new Set(tables.flatMap((table) => table.delays ?? []))]
    for (const delay of delays) {
      const late = await rows.move(term, delay, tables, states, this.#firstYoung(delay))
      if (late !== undefined) metrics?.observe('gatehouse_licence_lateness_seconds', { kind: 'table' }, late / 1000)
    }
    const filling = states.find(({ phase }) => phase === 'filling')
    const filled = tables.find(({ name }) => name.toLowerCase() === filling?.base)
    if (filling !== undefined && filled !== undefined) await rows.fill(term, filled, filling)
    const longest = Math.max(...delays)
    if (isTrimming) await rows.trimMarks(term, longest)
    while (this.#marks.length > 0 && !isYoung(this.#marks[0], longest)) this.#marks.shift()
    await this.#read()
  }
}

interface Mark {
  /** In microseconds since the epoch. */
  readonly at: bigint
  readonly written: number
}

/** Clocks are adjusted by less than that. */
const ADJUSTED = 0.999

function isYoung(mark: Mark | undefined, delay: number): boolean {
  return mark !== undefined && performance.now() - mark.written < delay * ADJUSTED
}

function writeForm(table: TableDefinition | undefined): string {
  return JSON.stringify([table?.columns.map(({ name, type, nullable }) => [name, type, nullable]), table?.primaryKey])
}

/** A materialized view when its rows are complete: then it has a log. */
function canHaveCopies(table: TableDefinition): boolean {
  return table.view === undefined && hasLog(table) && table.primaryKey.length > 0
}

function isDelayed({ delays = [] }: TableDefinition): boolean {
  return delays.length > 0
}
