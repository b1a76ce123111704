/** What administration asks of the parts that a running server has, in its own words. */
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
  readonly statement: string
  readonly startedAt: number
}

export interface LiveQueries {
  list(): Iterable<LiveQuery>
  /** Only where it is the owner's, if one is named; false when no such query runs. */
  cancel(requestId: string, owner: string | undefined): boolean
}

/** The same of every node. */
export interface Live {
  streams(user: string | undefined): Promise<LiveItems>
  queries(): Promise<LiveItems>
  cancel(requestId: string, owner?: string): Promise<boolean>
}

export interface LiveItems {
  /** Each names its node. */
  readonly items: readonly JsonObject[]
  /** Nodes that did not answer in time. */
  readonly silent: readonly string[]
}

export interface SigningKeyring {
  list(): Promise<readonly StoredKey[]>
  /** Makes a key that signs from `activeFrom` on. */
  rotate(activeFrom: number): Promise<StoredKey>
  /** The key stops signing at once and leaves the published set when its last token has expired. */
  retire(kid: string): Promise<void>
  /** Nothing that the key signed counts any more, anywhere; where it signed, the key that takes over is made. */
  withdraw(kid: string): Promise<StoredKey | undefined>
}

export interface SettingInForce {
  readonly name: string
  readonly environment: string
  /** Masked where it is secret. */
  readonly value: string
  readonly source: string
}
