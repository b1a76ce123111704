/** Lets a few through at once, a few more wait, and turns the rest away: heavy work cannot starve everything else. */

export interface Turnstile {
  enter<T>(work: () => Promise<T>): Promise<{ readonly result: T } | 'full'>
  readonly running: number
  readonly waiting: number
}

export function createTurnstile(atOnce: number, mostWaiting: number): Turnstile {
  let inside = 0
  const waiting: (() => void)[] = []
  return {
    async enter(work) {
      if (inside >= atOnce) {
        if (waiting.length >= mostWaiting) return 'full'
        // Whoever leaves hands the place over, so `inside` stays as it is.
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else inside++
      try {
        return { result: await work() }
      } finally {
        const next = waiting.shift()
        if (next === undefined) inside--
        else next()
      }
    },
    get running() {
      return inside
    },
    get waiting() {
      return waiting.length
    },
  }
}
