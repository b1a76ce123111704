/** Makes commits of SQLite durable without blocking the event loop: one sync of the write-ahead log serves every waiting commit. */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { basename } from 'node:path'

/** A sync failed: commits that wait for it are lost, and nothing more may be written. */
export class WritesStopped extends Error {}

/**
 * For a connection with `synchronous = normal`. Why everything that `durable` has confirmed survives a power failure:
 *
 * - Frames are in the log before the sync starts, so the sync covers them, unless they are in the database file already: SQLite
 *   restarts the log only after a checkpoint of all of it, which syncs the log before copying and the database file after. A
 *   checkpoint during our sync therefore loses nothing; the sync then covers newer frames as well.
 * - The log's directory entry is durable: SQLite syncs the header of a log that it starts, and the folder with its first sync of the file.
 * - A failed sync is the last one. Linux may mark pages that it could not write as clean, and a later sync would succeed over the
 *   hole. Only a restart reads what the disk really holds. A failure during a sync of SQLite's own, here or in another process, is
 *   not missed: Linux reports it once through every open descriptor, including ours.
 */
export class WalSync {
  readonly #descriptor: number
  readonly #name: string
  #waiting: PromiseWithResolvers<void>[] = []
  #isSyncing = false
  #failure: WritesStopped | undefined

  /** Undefined when there is no write-ahead log (yet). */
  static of(databaseFile: string): WalSync | undefined {
    try {
      // Opened for writing too: Windows syncs no read-only descriptor.
      return new WalSync(openSync(`${databaseFile}-wal`, 'r+'), basename(databaseFile))
    } catch {
      return undefined
    }
  }

  constructor(descriptor: number, name: string) {
    this.#descriptor = descriptor
    this.#name = name
  }

  /** Throws once a sync has failed. Call it before anything is written. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Resolves when everything that was committed before the call is on disk. */
  async durable(): Promise<void> {
    this.check()
    const waiting = Promise.withResolvers<void>()
    this.#waiting.push(waiting)
    if (!this.#isSyncing) this.#sync()
    return waiting.promise
  }

  /** Call it when no commit is waiting. */
  close(): void {
    closeSync(this.#descriptor)
  }

  /** A sync that has started may miss the newest commits: they wait for the next one. */
  #sync(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#isSyncing = true
    fdatasync(this.#descriptor, (error) => {
      this.#isSyncing = false
      if (error !== null) this.#stop(error, waiting)
      else {
        if (this.#waiting.length > 0) this.#sync()
        for (const { resolve } of waiting) resolve()
      }
    })
  }

  #stop(cause: Error, waiting: readonly PromiseWithResolvers<void>[]): void {
    const failure = new WritesStopped(
      `Could not sync the log of ${this.#name}; nothing is written to it until the server is restarted`,
      { cause },
    )
    this.#failure = failure
    for (const { reject } of [...waiting, ...this.#waiting.splice(0)]) reject(failure)
  }
}
