/** A SQLite file that several workers of one machine write: SQLite's lock orders the writes, and messages between the workers do the rest. */

export interface SharedFile {
  /** Call after a commit of this worker, so that the others do not wait for their next poll. */
  committed(): void
  /** The listener is called after commits of the others. Returns a function that removes it. */
  onCommit(listener: () => void): () => void
  /** Call when writes of these owners have waited long for the lock; an empty owner is the service itself. */
  waiting(owners: readonly string[]): void
  /** The listener is called when another worker waits for the lock. */
  onWaiting(listener: (owners: readonly string[]) => void): void
}
