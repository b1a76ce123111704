/** What bears the same name is done one after another, whatever bears different ones beside one another. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#last.set(name, turn)
    const leave = (): void => {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
    turn.then(leave, leave)
    return turn
  }

  /** Names that somebody works under. */
  get size(): number {
    return this.#last.size
  }
}
