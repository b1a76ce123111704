/** What a worker shares with the other workers of its machine. A server that runs alone has no link. */

import type { NewMessage, SharedFeeds } from '../feeds/feeds.ts'
import type { UsedProofs } from '../identity/identity.ts'
import type { RateCount } from '../store/cluster/rate-count-sync.ts'
import type { SharedFile } from '../store/database/shared-file.ts'

export type { NewMessage, UsedProofs }

export interface WorkerLink {
  /** From 1. A worker that is replaced leaves its number to its successor. */
  readonly number: number
  /** Other workers answer already: the port is opened last, so that no connection waits for this start or is lost with it. */
  readonly opensPortLast: boolean
  /** One worker applies the declarative file; the others find it applied. */
  readonly appliesFile: boolean
  /** The name, as a node, of the worker that ended unexpectedly and that this one replaces. */
  readonly predecessor: string | undefined
  readonly identityFile: SharedFile
  readonly queryFile: SharedFile
  readonly feeds: SharedFeeds
  /** Sends counts to the others; the listener gets theirs, with a name of the sender. Returns a function that removes the listener. */
  sendRates(counts: readonly RateCount[]): void
  onRates(listener: (from: string, counts: readonly RateCount[]) => void): void
  /** DPoP proofs that were used on any worker: the supervisor, which outlives the workers, remembers them. */
  readonly usedProofs: UsedProofs
  /** Resolves when no further connections are handed to this worker, which stops together with all others. */
  closePorts(): Promise<void>
  /** Takes the metrics of this worker, and returns a function that reads those of all. */
  shareMetrics(own: () => string): () => Promise<string>
}
