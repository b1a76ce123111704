/** A semaphore with a bounded queue: some work runs at once, some waits, and the rest is rejected. */

export interface Semaphore {
  run<T>(work: () => Promise<T>): Promise<{ readonly result: T } | 'full'>
  readonly running: number
  readonly waiting: number
}

export function createSemaphore(permits: number, mostWaiting: number): Semaphore {
  let running = 0
  const waiting: (() => void)[] = []
  return {
    async run(work) {
      if (running >= permits) {
        if (waiting.length >= mostWaiting) return 'full'
        // The permit is passed on by the work that ends, so `running` does not change.
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else running++
      try {
        return { result: await work() }
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
    get running() {
      return running
    },
    get waiting() {
      return waiting.length
    },
  }
}
