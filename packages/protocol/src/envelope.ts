/** The envelope of streaming messages: sub-protocols, versions, actions and members. */

export const STREAM_PATH = '/Platform'
export const SUB_PROTOCOLS = ['PlatformJson', 'PlatformMsgPack'] as const
export type SubProtocol = (typeof SUB_PROTOCOLS)[number]

const ACTIONS = ['Publish', 'Sub', 'Unsub', 'Cancel', 'Error'] as const
export type Action = (typeof ACTIONS)[number]

export const DEFAULT_CONTROLLER = 'Platform'
export const DEFAULT_ACTION: Action = 'Publish'

/** Integers beyond 2^53 are bigints, so that a client gets back exactly the digits it sent. */
export type TransactionId = number | bigint

/** An outgoing message; undefined members are omitted. */
export interface Message {
  readonly Controller?: string | undefined
  readonly Topic?: string | undefined
  readonly Action: Action | undefined
  readonly TransactionID?: TransactionId | undefined
  /** A JsonText is the value of its text. */
  readonly Data?: unknown
  /** Of a message of a feed: the pattern of the subscription that it belongs to, if it has one. */
  readonly Pattern?: string | undefined
  /** Of a message of a feed with history: where a later subscription can resume. */
  readonly Position?: string | undefined
  /** On the first message after a resumption: whether nothing is missing. */
  readonly Recovered?: boolean | undefined
  /** The topic was removed from its feed, or has expired. */
  readonly Removed?: boolean | undefined
  /** Of a message of a feed: how many seconds after it was published it is sent. Without Data: from now on, 0 in real time. */
  readonly Delay?: number | undefined
  /** Without Data, of a pattern: what is delayed, or left out, from now on. */
  readonly Licence?: readonly object[] | undefined
  /** The problem document of a refused statement, in addition to the error in `Data`. */
  readonly Problem?: object | undefined
  readonly Confirm?: boolean | undefined
}

/** The versions that a client may request as `version=<major>.<minor>`. The default is the last. */
export const STREAM_VERSIONS = ['1.x', '2.x'] as const

export function isAction(name: unknown): name is Action {
  return typeof name === 'string' && (ACTIONS as readonly string[]).includes(name)
}
