/** Makes commits of SQLite durable without holding up the event loop: one sync of the write-ahead log serves all who wait. */
import { closeSync, fdatasync, openSync } from 'node:fs'

interface Waiting {
  readonly done: () => void
  readonly failed: (error: Error) => void
}

export class WalSync {
  readonly #descriptor: number
  #waiting: Waiting[] = []
  #isSyncing = false

  /** Undefined where there is no write-ahead log (yet). */
  static of(databaseFile: string): WalSync | undefined {
    try {
      // Not for reading alone: Windows syncs only what may be written.
      return new WalSync(openSync(`${databaseFile}-wal`, 'r+'))
    } catch {
      return undefined
    }
  }

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Resolves when everything that was committed before the call is on disk. */
  durable(): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ done, failed })
      if (!this.#isSyncing) this.#sync()
    })
  }

  /** Once nobody waits any more. */
  close(): void {
    closeSync(this.#descriptor)
  }

  /** A sync that has begun may have missed the newest commits: they wait for the next. */
  #sync(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#isSyncing = true
    fdatasync(this.#descriptor, (error) => {
      this.#isSyncing = false
      if (this.#waiting.length > 0) this.#sync()
      for (const { done, failed } of waiting) {
        if (error === null) done()
        else failed(error)
      }
    })
  }
}
