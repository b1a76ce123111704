/** The result of a tile: kept up to date by the server, or run again from time to time; neither while the page is hidden. */
import { effect, signal } from '@preact/signals'
import { type LicenceLabel, type Tile, statement as toStatement } from '../../../../client/src/index.ts'
import { connection, gate } from '../../gate.ts'
import { LiveRows } from '../../grid/live-rows.ts'
import { GridModel } from '../../grid/model.ts'

export type TileStatement = Pick<Tile, 'statement' | 'parameters' | 'view' | 'live'>

export interface TileState {
  /** The last result; it stays during a reload and after an error. */
  readonly model: GridModel | undefined
  readonly error: unknown
  readonly isRunning: boolean
  /** When the rows were read: milliseconds since the epoch. */
  readonly at: number | undefined
  readonly isTruncated: boolean
  /** What is delayed, or left out. */
  readonly licences: readonly LicenceLabel[]
}

/** Updates per second: eyes cannot follow more. All tiles are drawn at the same times, so that they show the same price. */
const RATE = 5

/** Whether the page is visible. A hidden page reads nothing. */
export const isVisible = signal(document.visibilityState !== 'hidden')
document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState !== 'hidden'
})

/** Since when nothing live is up to date: milliseconds since the epoch. Short interruptions are not worth a word. */
export const offlineSince = signal<number | undefined>(undefined)
const SHORT_MS = 2000
let offlineTimer: ReturnType<typeof setTimeout> | undefined
effect(() => {
  clearTimeout(offlineTimer)
  if (connection.value.state === 'online') offlineSince.value = undefined
  else if (offlineSince.peek() === undefined) {
    const since = Date.now()
    offlineTimer = setTimeout(() => {
      offlineSince.value = since
    }, SHORT_MS)
  }
})

export class TileResult {
  readonly state = signal<TileState>({
    model: undefined,
    error: undefined,
    isRunning: true,
    at: undefined,
    isTruncated: false,
    licences: [],
  })
  readonly #tile: TileStatement
  /** Seconds between two runs; undefined for one run only. */
  readonly #every: number | undefined
  #live: LiveRows | undefined
  #abort: AbortController | undefined
  readonly #stop: () => void

  constructor(tile: TileStatement, every: number | undefined) {
    this.#tile = tile
    this.#every = every
    this.#stop = effect(() => (isVisible.value ? this.#start() : this.#pause()))
  }

  /** Runs it now. */
  run(): void {
    this.#pause()
    this.#start(true)
  }

  close(): void {
    this.#stop()
    this.#pause()
  }

  #start(isWanted = false): void {
    const abort = new AbortController()
    this.#abort = abort
    const work = this.#tile.live === true ? this.#follow(abort.signal) : this.#runOften(abort.signal, isWanted)
    work.catch((error) => {
      if (!abort.signal.aborted) this.#set({ error, isRunning: false })
    })
  }

  #pause(): void {
    this.#abort?.abort()
    this.#abort = undefined
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const live = gate.live(this.#statement(), { maxRate: RATE, signal })
    for await (const change of live) {
      // The first result is shown at once.
      if (!change.snapshot) await pause(untilNextUpdate(), signal)
      if (signal.aborted) return
      if (this.#live?.hasColumns(live.columns) !== true) this.#live = new LiveRows(live.columns)
      this.#live.apply(live, change, true)
      const { model } = this.#live
      const { licences } = live
      const before = this.state.peek()
      // The model announces changes of its rows itself; the tile is drawn again when anything else has changed.
      if (before.model !== model || before.error !== undefined || before.isRunning || before.licences !== licences)
        this.#set({ model, error: undefined, isRunning: false, at: Date.now(), isTruncated: false, licences })
    }
  }

  async #runOften(signal: AbortSignal, isWanted: boolean): Promise<void> {
    // After a pause the rows may still be recent enough.
    const { at } = this.state.peek()
    if (at !== undefined && !isWanted) {
      if (this.#every === undefined) return
      await pause(at + this.#every * 1000 - Date.now(), signal)
    }
    while (!signal.aborted) {
      await this.#runOnce(signal)
      if (this.#every === undefined) return
      await pause(this.#every * 1000, signal)
    }
  }

  async #runOnce(signal: AbortSignal): Promise<void> {
    this.#set({ isRunning: true })
    try {
      // Tiles run without a question, and another user may have written them: they must not write with the viewer's rights.
      const search = { writes: 'refused' }
      const { columns, rows, truncated, licences } = await gate.query(this.#statement()).result({ search, signal })
      if (signal.aborted) return
      const model = new GridModel(columns)
      model.append(rows.map((row) => columns.map(({ name }) => row[name])))
      this.#set({ model, error: undefined, isRunning: false, at: Date.now(), isTruncated: truncated, licences })
    } catch (error) {
      if (!signal.aborted) this.#set({ error, isRunning: false })
    }
  }

  #statement() {
    return toStatement(this.#tile.statement, this.#tile.parameters as Readonly<Record<string, string>>)
  }

  #set(change: Partial<TileState>): void {
    this.state.value = { ...this.state.peek(), ...change }
  }
}

function untilNextUpdate(): number {
  const period = 1000 / RATE
  return period - (performance.now() % period)
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(milliseconds, 2 ** 31 - 1))
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
