/** After commits, asks the database once which of all watched tables have changed, and marks the evaluators that read them. */
import type { LiveSource, Positions, TablePosition } from '../../engines/live-source.ts'

export interface Watcher {
  readonly tables: readonly string[]
  /** A table may have changed since the watcher last read it. `at` is by the monotonic clock. */
  markDirty(at: number): void
}

interface Watch {
  readonly watchers: Set<Watcher>
  /**
   * Every unmarked watcher has read the table at this position or a later one. Undefined after all were marked: the first to read
   * the table sets it again.
   */
  seen: TablePosition | undefined
}

const RETRY_MS = 1000
/** Waits PAUSE × the duration of the last poll before polling all tables again. */
const PAUSE = 2

export class TableWatches {
  readonly #source: LiveSource
  readonly #onError: (error: unknown) => void
  readonly #watches = new Map<string, Watch>()
  #stopListening: (() => void) | undefined
  #isAsking = false
  /** The tables that may have changed since the last poll. */
  #written = new Set<string>()
  /** Any table may have changed: another program or node has committed. */
  #isAnyWritten = false
  /** The time of the first of these commits, by the monotonic clock. */
  #writtenAt: number | undefined
  #notAllBefore = Number.NEGATIVE_INFINITY
  #retry: NodeJS.Timeout | undefined

  constructor(source: LiveSource, onError: (error: unknown) => void) {
    this.#source = source
    this.#onError = onError
  }

  /** The watcher has read its tables for the first time. */
  add(watcher: Watcher, positions: Positions): void {
    for (const table of watcher.tables) {
      const watch: Watch = this.#watches.get(table) ?? { watchers: new Set(), seen: undefined }
      watch.watchers.add(watcher)
      this.#watches.set(table, watch)
    }
    if (this.#watches.size === 0) return
    this.#stopListening ??= this.#source.onCommit((tables) => this.#onCommit(tables))
    this.hasRead(watcher, positions)
    // It may have missed commits between its read and now.
    this.#onCommit(new Set(watcher.tables))
  }

  remove(watcher: Watcher): void {
    for (const table of watcher.tables) {
      const watch = this.#watches.get(table)
      watch?.watchers.delete(watcher)
      if (watch?.watchers.size === 0) this.#watches.delete(table)
    }
    if (this.#watches.size === 0) this.close()
  }

  /** The watcher has read its tables at these positions. It is marked if other watchers have read newer ones. */
  hasRead(watcher: Watcher, positions: Positions): void {
    for (const [table, position] of positions) {
      const watch = this.#watches.get(table)
      if (watch === undefined) continue
      const order = watch.seen === undefined ? 0 : this.#source.compare(position, watch.seen)
      // Another epoch: the positions of the other watchers are void.
      if (order === undefined) mark(watch, performance.now())
      else if (order < 0) watcher.markDirty(performance.now())
      watch.seen ??= position
    }
  }

  /** Nothing has changed since these positions, which the watcher read some time ago. */
  hasNothingNew(positions: Positions): void {
    for (const [table, position] of positions) {
      const watch = this.#watches.get(table)
      if (watch !== undefined) watch.seen ??= position
    }
  }

  close(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  #onCommit(tables: ReadonlySet<string> | undefined): void {
    if (tables === undefined) this.#isAnyWritten = true
    else for (const table of tables) if (this.#watches.has(table)) this.#written.add(table)
    this.#writtenAt ??= performance.now()
    void this.#ask()
  }

  /** After a commit of this node only the tables that it wrote to are polled. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      for (let tables = this.#takeWritten(); tables !== undefined; tables = this.#takeWritten()) {
        const began = performance.now()
        const at = this.#writtenAt ?? began
        if (!this.#isAnyWritten) this.#writtenAt = undefined
        await this.#markChanged(tables, at)
        const now = performance.now()
        if (tables === this.#watches) this.#notAllBefore = now + PAUSE * (now - began)
      }
    } catch (error) {
      // The poll failed, so the commit is still unseen.
      this.#isAnyWritten = true
      this.#onError(error)
      this.#askLater(RETRY_MS)
    } finally {
      this.#isAsking = false
    }
  }

  /** The tables to poll; undefined if there is nothing to poll now. */
  #takeWritten(): { keys(): Iterable<string> } | undefined {
    const wait = this.#notAllBefore - performance.now()
    const isAllDue = this.#isAnyWritten && wait <= 0
    if (this.#isAnyWritten && !isAllDue) this.#askLater(wait)
    if (!isAllDue && this.#written.size === 0) return undefined
    const written = this.#written
    this.#written = new Set()
    if (!isAllDue) return written
    this.#isAnyWritten = false
    return this.#watches
  }

  async #markChanged(tables: { keys(): Iterable<string> }, at: number): Promise<void> {
    const seen = new Map<string, TablePosition>()
    for (const table of tables.keys()) {
      const watch = this.#watches.get(table)
      if (watch === undefined) continue
      if (watch.seen === undefined) mark(watch, at)
      else seen.set(table, watch.seen)
    }
    if (seen.size === 0) return
    for (const [table] of await this.#source.changedSince(seen)) {
      const watch = this.#watches.get(table)
      if (watch !== undefined) mark(watch, at)
    }
  }

  #askLater(milliseconds: number): void {
    if (this.#stopListening === undefined) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#ask(), milliseconds)
    this.#retry.unref()
  }
}

function mark(watch: Watch, at: number): void {
  watch.seen = undefined
  for (const watcher of [...watch.watchers]) watcher.markDirty(at)
}
