/** The messages between the supervisor and its workers. */
import type { LoadedConfig } from '../config/load.ts'
import type { Remembered, UsedOnce } from '../lib/replay-memory.ts'
import type { RateCount } from '../store/cluster/rate-count-sync.ts'

/** The SQLite files that all workers write. */
export type SharedFileName = 'identity' | 'query' | 'feeds'

/** JSON has no undefined, so that a removed topic has no data. */
export interface PassedMessage {
  readonly topic: string
  readonly data?: string | undefined
}

export interface StartOrder extends Pick<LoadedConfig, 'texts' | 'sources'> {
  readonly number: number
  /** This worker prints the banner and the link for the first administrator. */
  readonly isFirst: boolean
  readonly opensPortLast: boolean
  readonly appliesFile: boolean
  readonly predecessor?: string | undefined
  /** From when on the supervisor remembers used DPoP proofs. */
  readonly proofsSince: number
}

export type ToWorker =
  | { readonly kind: 'start'; readonly order: StartOrder }
  | { readonly kind: 'stop'; readonly isReplaced: boolean }
  /** No further connections are handed out. */
  | { readonly kind: 'ports closed' }
  /** Another worker has committed. */
  | { readonly kind: 'committed'; readonly file: SharedFileName }
  /** Another worker waits for the lock, with writes of these owners. */
  | { readonly kind: 'waiting'; readonly file: SharedFileName; readonly owners: readonly string[] }
  /** Messages of a feed that is not stored, which another worker has published. */
  | { readonly kind: 'feed messages'; readonly generation: string; readonly messages: readonly PassedMessage[] }
  /** What another worker has counted. */
  | { readonly kind: 'rates'; readonly from: string; readonly counts: readonly RateCount[] }
  /** What became of the proofs of a request, in order; and how many are remembered. */
  | { readonly kind: 'proofs'; readonly id: number; readonly remembered: readonly Remembered[]; readonly size: number }
  /** The supervisor requests the metrics of this worker. */
  | { readonly kind: 'metrics wanted'; readonly id: number }
  /** The metrics of all workers, which it requested. */
  | { readonly kind: 'all metrics'; readonly id: number; readonly text: string }

export type FromWorker =
  /** The channel is read: the order to start can be sent. */
  | { readonly kind: 'online' }
  | { readonly kind: 'started' }
  /** A sign of life: the event loop runs. */
  | { readonly kind: 'alive' }
  /** It stops, and waits until the ports are closed. */
  | { readonly kind: 'closing' }
  /** The start is refused, in words for the operator; the process ends. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'committed'; readonly file: SharedFileName }
  | { readonly kind: 'waiting'; readonly file: SharedFileName; readonly owners: readonly string[] }
  | { readonly kind: 'feed messages'; readonly generation: string; readonly messages: readonly PassedMessage[] }
  | { readonly kind: 'rates'; readonly counts: readonly RateCount[] }
  /** DPoP proofs that are used now, several at once. */
  | { readonly kind: 'proofs used'; readonly id: number; readonly proofs: readonly UsedOnce[] }
  | { readonly kind: 'all metrics wanted'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  /** The last ones, before it ends. */
  | { readonly kind: 'last metrics'; readonly text: string }
