/** The contract between live queries and their transports: requests, messages and subscriptions. */

import type { ParameterInput, ResultColumn } from 'gatehouse-iql'
import type { Principal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import type { LiveMethod } from '../plan/live-method.ts'
import type { LiveEncoding } from '../results/live-rows.ts'

/** Changes per second. */
export const MIN_RATE = 1
export const MAX_RATE = 50
export const DEFAULT_RATE = 20

export interface LiveRequest {
  readonly principal: Principal
  readonly statement: string
  readonly parameters: ReadonlyMap<string, ParameterInput>
  /** From `MIN_RATE` to `MAX_RATE`. */
  readonly maxRate: number
  /** The position to resume at. `isPosition` says whether a text can be one. */
  readonly resume: string | undefined
  /** How many rows a Snapshot has at most, which are the first ones; all where absent. A Change always has all. */
  readonly mostRows?: number | undefined
  readonly encoding: LiveEncoding
  /** Statements are counted by connection and by user. */
  readonly connectionId: string
  /** Unique among the live statements of the caller. */
  readonly requestId: string
  readonly address: string
  /** What it is for, in lists. */
  readonly kind?: 'live' | 'alert'
  /** Aborted when the caller leaves before `subscribe` has resolved, to stop its reads. */
  readonly signal?: AbortSignal | undefined
  /** Called when the result is being read, after it has waited for a reader; not at all if it is known. */
  readonly onReading?: (() => void) | undefined
}

export type ResetReason = 'Rights' | 'Definition' | 'Lost' | 'Expired' | 'Overflow'

/**
 * One message for a subscriber. Subscribers that are sent the same message get the same object, so that a transport can cache what it
 * has encoded by the identity of the object.
 */
export interface LiveMessage {
  readonly kind: 'Snapshot' | 'Change' | 'Progress' | 'Reset'
  /** The JSON text of `Data`. */
  readonly text: string
  /** How many rows its `Put` has, and how many keys its `Remove`, for those who need not parse it. */
  readonly put: number
  readonly removed: number
  /** Undefined for a Reset and for every piece but the last. */
  readonly position: string | undefined
  /** The memory of the text and of its encoding, which all subscribers share. */
  readonly bytes: number
}

/** A live statement as operators see it. */
export interface LiveListing {
  readonly requestId: string
  readonly connectionId: string
  readonly subject: string
  readonly clientId: string
  readonly statement: string
  readonly method: LiveMethod
  /** 0 while the first result is read, or waits for its turn. */
  readonly rows: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** What a statement would be as a live one. */
export interface LiveDescription {
  readonly columns: readonly ResultColumn[]
  /** Of the key of each row; null if rows have none. */
  readonly keyNames: readonly string[] | null
  /** Whether a table demands something of the sign-in of the caller. */
  readonly needsSignIn: boolean
  /** A digest of which rows of the tables the caller may see. It stays the same over restarts, and on another engine. */
  readonly visibility: string
}

export interface LiveQueries {
  /** Rejects with a Refusal if the statement cannot be live. */
  describe(
    request: Pick<LiveRequest, 'principal' | 'statement' | 'parameters' | 'encoding' | 'kind'>,
  ): Promise<LiveDescription>
  /**
   * Rejects with a Refusal if the statement cannot be live or a limit is reached. Resolves when the first message is ready;
   * messages are sent only in a later turn of the event loop, so that the transport can confirm first. If the
   * sink throws, the statement ends.
   */
  subscribe(request: LiveRequest, sink: SubscriberSink<LiveMessage>): Promise<RunningSubscription>
  list(): Iterable<LiveListing>
  /** Ends the live statement of the owner (see `callOwner`), or of any owner; false if there is none. */
  end(requestId: string, owner: string | undefined): boolean
  close(): void
}
