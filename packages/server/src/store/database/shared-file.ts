/** A SQLite file that several workers of one machine write: SQLite's lock decides whose turn it is, and they tell each other the rest. */

export interface SharedFile {
  /** To be called after a commit of this worker, so that the others need not wait for their next poll. */
  committed(): void
  /** The listener is called after commits of the others. Returns the end of it. */
  onCommit(listener: () => void): () => void
  /** To be called when writes of these owners have waited for the lock for some time; an empty one stands for the service itself. */
  waiting(owners: readonly string[]): void
  /** The listener is called when another worker waits for the lock. */
  onWaiting(listener: (owners: readonly string[]) => void): void
}
