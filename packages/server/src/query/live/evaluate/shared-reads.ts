/** Runs equal reads that are requested at the same time once. */
export class SharedReads<Result> {
  readonly #running = new Map<string, Promise<Result>>()
  /** Each begins when the running one has ended. */
  readonly #next = new Map<string, Promise<Result>>()

  /** For data that does not change: shares a read that is already running. */
  read(key: string, run: () => Promise<Result>): Promise<Result> {
    return this.#running.get(key) ?? this.#start(key, run)
  }

  /** Shares only a read that begins after this call. */
  readAnew(key: string, run: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(key)
    if (running === undefined) return this.#start(key, run)
    const begin = (): Promise<Result> => {
      this.#next.delete(key)
      return this.#start(key, run)
    }
    const next = this.#next.get(key) ?? running.then(begin, begin)
    this.#next.set(key, next)
    return next
  }

  #start(key: string, run: () => Promise<Result>): Promise<Result> {
    const running = run()
    const end = (): void => {
      if (this.#running.get(key) === running) this.#running.delete(key)
    }
    this.#running.set(key, running)
    running.then(end, end)
    return running
  }
}
