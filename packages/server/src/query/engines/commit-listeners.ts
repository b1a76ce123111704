/** The listeners to commits: commits that come together cause one call, in a later turn of the event loop. */

/** A table that is written to; one that is not live has no change log. */
export interface WrittenTable {
  readonly name: string
  readonly isLive: boolean
}

/** Gets the names of the tables that were written to, as in the catalogue; undefined: possibly any. */
export type CommitListener = (tables: ReadonlySet<string> | undefined) => void

export class CommitListeners {
  readonly #listeners = new Set<CommitListener>()
  readonly #onChange: (count: number) => void
  #isPending = false
  #tables: Set<string> | undefined = new Set()

  /** `onChange` is called with the number of listeners when it changes. */
  constructor(onChange: (count: number) => void) {
    this.#onChange = onChange
  }

  add(listener: CommitListener): () => void {
    const entry: CommitListener = (tables) => listener(tables)
    this.#listeners.add(entry)
    this.#onChange(this.#listeners.size)
    return () => {
      if (this.#listeners.delete(entry)) this.#onChange(this.#listeners.size)
    }
  }

  clear(): void {
    this.#listeners.clear()
    this.#onChange(0)
  }

  /** Undefined: it is not known which tables were written to. */
  wake(tables?: readonly WrittenTable[]): void {
    if (this.#listeners.size === 0) return
    if (tables === undefined) this.#tables = undefined
    else for (const { name } of tables) this.#tables?.add(name)
    if (this.#isPending) return
    this.#isPending = true
    setImmediate(() => {
      const written = this.#tables
      this.#isPending = false
      this.#tables = new Set()
      for (const listener of [...this.#listeners]) listener(written)
    })
  }
}
