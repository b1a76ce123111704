/** Those who want to know of commits: calls that come together are one, in a later turn of the event loop. */

export class CommitListeners {
  readonly #listeners = new Set<() => void>()
  readonly #onChange: (count: number) => void
  #isPending = false

  /** `onChange` is called with the number of listeners when it changes. */
  constructor(onChange: (count: number) => void) {
    this.#onChange = onChange
  }

  add(listener: () => void): () => void {
    const entry = (): void => listener()
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

  wake(): void {
    if (this.#isPending || this.#listeners.size === 0) return
    this.#isPending = true
    setImmediate(() => {
      this.#isPending = false
      for (const listener of [...this.#listeners]) listener()
    })
  }
}
