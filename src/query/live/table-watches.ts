/** Learns of commits and says who reads the tables that have changed: one question to the database for all of them. */
import type { LiveSource, Positions, TablePosition } from '../engines/live-source.ts'

export interface Watcher {
  readonly tables: readonly string[]
  /** A table may have changed since the watcher last read it. `at` is by the monotonic clock. */
  markDirty(at: number): void
}

interface Watch {
  readonly watchers: Set<Watcher>
  /**
   * No watcher that is not marked is older than this. Undefined when all were marked: the first that reads the table
   * afterwards sets it.
   */
  seen: TablePosition | undefined
}

const RETRY_MS = 1000

export class TableWatches {
  readonly #source: LiveSource
  readonly #onError: (error: unknown) => void
  readonly #watches = new Map<string, Watch>()
  #stopListening: (() => void) | undefined
  #isAsking = false
  /** A commit that came while the database was asked. */
  #isStale = false
  #retry: NodeJS.Timeout | undefined

  constructor(source: LiveSource, onError: (error: unknown) => void) {
    this.#source = source
    this.#onError = onError
  }

  add(watcher: Watcher): void {
    for (const table of watcher.tables) {
      const watch: Watch = this.#watches.get(table) ?? { watchers: new Set(), seen: undefined }
      watch.watchers.add(watcher)
      this.#watches.set(table, watch)
    }
    if (this.#watches.size > 0) this.#stopListening ??= this.#source.onCommit(() => void this.#ask())
  }

  remove(watcher: Watcher): void {
    for (const table of watcher.tables) {
      const watch = this.#watches.get(table)
      watch?.watchers.delete(watcher)
      if (watch?.watchers.size === 0) this.#watches.delete(table)
    }
    if (this.#watches.size === 0) this.close()
  }

  /** The watcher has read its tables at these positions. It is marked if others know newer ones. */
  hasRead(watcher: Watcher, positions: Positions): void {
    for (const [table, position] of positions) {
      const watch = this.#watches.get(table)
      if (watch === undefined) continue
      const order = watch.seen === undefined ? 0 : this.#source.compare(position, watch.seen)
      // Another epoch: what the others have read is void.
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

  async #ask(): Promise<void> {
    if (this.#isAsking) {
      this.#isStale = true
      return
    }
    this.#isAsking = true
    const at = performance.now()
    try {
      do {
        this.#isStale = false
        await this.#markChanged(at)
      } while (this.#isStale)
    } catch (error) {
      this.#onError(error)
      this.#retryLater()
    } finally {
      this.#isAsking = false
    }
  }

  async #markChanged(at: number): Promise<void> {
    const seen = new Map<string, TablePosition>()
    for (const [table, watch] of this.#watches) {
      if (watch.seen === undefined) mark(watch, at)
      else seen.set(table, watch.seen)
    }
    if (seen.size === 0) return
    for (const [table] of await this.#source.changedSince(seen)) {
      const watch = this.#watches.get(table)
      if (watch !== undefined) mark(watch, at)
    }
  }

  /** The commit must not be forgotten because the database could not be asked. */
  #retryLater(): void {
    if (this.#stopListening === undefined) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#ask(), RETRY_MS)
    this.#retry.unref()
  }
}

function mark(watch: Watch, at: number): void {
  watch.seen = undefined
  for (const watcher of [...watch.watchers]) watcher.markDirty(at)
}
