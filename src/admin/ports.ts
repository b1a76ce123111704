/** What administration needs from the services of a running server. */
import type { StoredKey } from '../store/signing-keys.ts'
import type { JsonObject } from './body.ts'

export interface LiveStream {
  readonly connectionId: string
  readonly subject: string | undefined
  readonly username: string | undefined
  readonly clientId: string | undefined
  readonly address: string
  /** Milliseconds. */
  readonly openedAt: number
  readonly expiresAt: number | undefined
  readonly subscriptions: number
}

export interface LiveStreams {
  list(): Iterable<LiveStream>
}

export interface LiveQuery {
  readonly requestId: string
  readonly subject: string
  readonly clientId: string
  /** A live statement runs until it is ended. */
  readonly kind: 'query' | 'live'
  readonly statement: string
  readonly startedAt: number
}

export interface LiveQueries {
  list(): Iterable<LiveQuery>
  /** With `owner`, only if the query is theirs. False when no such query is running. */
  cancel(requestId: string, owner: string | undefined): boolean
}

/** The same over all nodes. */
export interface Live {
  /** Newest first. */
  streams(wanted: StreamsWanted): Promise<LiveItems>
  /** The open connections of a user; 0 where no node has the service. */
  countStreams(user: string): Promise<number>
  queries(): Promise<LiveItems>
  cancel(requestId: string, owner?: string): Promise<boolean>
}

export interface StreamsWanted {
  readonly user?: string | undefined
  readonly connection?: string | undefined
  /** Absent for all. */
  readonly page?: { readonly limit: number; readonly after: { createdAt: number; id: string } | undefined }
}

/** The JSON of the replies. */
export interface LiveItems {
  /** Each with the name of its node. */
  readonly items: readonly JsonObject[]
  /** Nodes that did not reply in time. */
  readonly silent: readonly string[]
}

export interface SigningKeyring {
  list(): Promise<readonly StoredKey[]>
  /** Creates a key that signs from `activeFrom` on. */
  rotate(activeFrom: number): Promise<StoredKey>
  /** The key stops signing now and stays published until its last token has expired. */
  retire(kid: string): Promise<void>
  /** Rejects every token that the key signed, on every node. Returns the key that replaces it, where it was the signing key. */
  withdraw(kid: string): Promise<StoredKey | undefined>
}

export interface SettingInForce {
  readonly name: string
  readonly environment: string
  /** Masked where it is secret. */
  readonly value: string
  readonly source: string
}
