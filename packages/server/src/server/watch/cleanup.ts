/** Closes everything in the reverse order of opening, after a failed start or at a stop. */
export class Cleanup {
  readonly #steps: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#steps.push(close)
  }

  /** Everything is closed, whatever fails; then the first failure is thrown. */
  async run(): Promise<void> {
    const failures: unknown[] = []
    for (let close = this.#steps.pop(); close !== undefined; close = this.#steps.pop()) {
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
