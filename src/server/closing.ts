/** What was opened is closed in the opposite order, at a stop as after a start that failed. */
export interface Closing {
  add(close: () => unknown): void
  run(): Promise<void>
}

export function createClosing(): Closing {
  const steps: (() => unknown)[] = []
  return {
    add(close) {
      steps.push(close)
    },
    async run() {
      for (let close = steps.pop(); close !== undefined; close = steps.pop()) await close()
    },
  }
}
