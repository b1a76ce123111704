/** What the keeper counts of its views, for metrics. */

interface ViewCounts {
  groups: number
  seconds: number
  /** Of the first commit that the view has not seen, by the monotonic clock. */
  behindSince: number | undefined
}

export class KeptCounts {
  readonly #views = new Map<string, ViewCounts>()

  of(view: string): ViewCounts {
    const key = view.toLowerCase()
    const known = this.#views.get(key) ?? { groups: 0, seconds: 0, behindSince: undefined }
    this.#views.set(key, known)
    return known
  }

  /** In seconds. */
  behind(view: string): number {
    const { behindSince } = this.of(view)
    return behindSince === undefined ? 0 : Math.max(0, performance.now() - behindSince) / 1000
  }

  remove(view: string): void {
    this.#views.delete(view.toLowerCase())
  }

  /** One value for each view. */
  values(value: (view: string, counts: ViewCounts) => number): [{ view: string }, number][] {
    return Array.from(this.#views, ([view, counts]) => [{ view }, value(view, counts)])
  }
}
