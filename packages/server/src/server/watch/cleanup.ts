/** Closes everything in the reverse order of opening, after a failed start or at a stop. */
export interface Cleanup {
  add(close: () => unknown): void
  run(): Promise<void>
}

export function createCleanup(): Cleanup {
  const steps: (() => unknown)[] = []
  return {
    add(close) {
      steps.push(close)
    },
    async run() {
      const failures: unknown[] = []
      for (let close = steps.pop(); close !== undefined; close = steps.pop()) {
        try {
          await close()
        } catch (error) {
          // Everything opened earlier must still be closed.
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}
