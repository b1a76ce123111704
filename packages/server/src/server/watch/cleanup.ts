/** Closes what was opened in reverse order, after a failed start as well as at a stop. */
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
          // What was opened before must be closed all the same.
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}
