/** Makes commits of SQLite durable without holding up the event loop: one sync of the write-ahead log serves all who wait. */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { basename } from 'node:path'

/** The disk has refused to keep what was committed: whoever waits for it is told so, and nothing more may be written. */
export class WritesStopped extends Error {}

interface Waiting {
  readonly done: () => void
  readonly failed: (error: WritesStopped) => void
}

/**
 * For a connection with `synchronous = normal`. Why everything that `durable` has answered for survives the loss of power:
 *
 * - Frames are in the log before the sync begins, so it carries them, or they are in the database file already: SQLite begins the
 *   log anew only after a checkpoint of all of it, and that has synced the log before it copied and the database file after. A
 *   checkpoint during a sync of ours therefore takes nothing away; the sync then covers the newer frames too, no harm done.
 * - The folder knows the log: SQLite syncs the header of a log that begins, and the folder with its first sync of the file.
 * - A sync that fails is the last one. Linux may take pages that it could not write for clean: a later sync would succeed
 *   over the hole. Only a restart reads what the disk really holds. A failure that meets a sync of SQLite's own, here or in
 *   another process, is not lost: Linux tells of it once through every descriptor that is open, thus through ours as well.
 */
export class WalSync {
  readonly #descriptor: number
  readonly #name: string
  #waiting: Waiting[] = []
  #isSyncing = false
  #failure: WritesStopped | undefined

  /** Undefined where there is no write-ahead log (yet). */
  static of(databaseFile: string): WalSync | undefined {
    try {
      // Not for reading alone: Windows syncs only what may be written.
      return new WalSync(openSync(`${databaseFile}-wal`, 'r+'), basename(databaseFile))
    } catch {
      return undefined
    }
  }

  constructor(descriptor: number, name: string) {
    this.#descriptor = descriptor
    this.#name = name
  }

  /** Throws once a sync has failed; to be asked before anything is written. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Resolves when everything that was committed before the call is on disk. */
  durable(): Promise<void> {
    return new Promise((done, failed) => {
      if (this.#failure !== undefined) return failed(this.#failure)
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
      if (error !== null) this.#stop(error, waiting)
      else {
        if (this.#waiting.length > 0) this.#sync()
        for (const { done } of waiting) done()
      }
    })
  }

  #stop(cause: Error, waiting: readonly Waiting[]): void {
    const failure = new WritesStopped(
      `The disk did not keep the log of ${this.#name}; nothing is written to it until the server is restarted`,
      { cause },
    )
    this.#failure = failure
    for (const { failed } of [...waiting, ...this.#waiting.splice(0)]) failed(failure)
  }
}
