/** The words of the streaming connection: sub-protocols, versions, actions and the shape of a message. */

export const STREAM_PATH = '/Platform'
export const SUB_PROTOCOLS = ['PlatformJson', 'PlatformMsgPack'] as const
export type SubProtocol = (typeof SUB_PROTOCOLS)[number]

const ACTIONS = ['Publish', 'Sub', 'Unsub', 'Cancel', 'Error'] as const
export type Action = (typeof ACTIONS)[number]

export const DEFAULT_CONTROLLER = 'Platform'
export const DEFAULT_ACTION: Action = 'Publish'

/** Integers beyond 2^53 are bigints, so that the digits a client sent are the digits it gets back. */
export type TransactionId = number | bigint

/** A message as it leaves; members that are undefined are left out. */
export interface Message {
  readonly Controller?: string | undefined
  readonly Topic?: string | undefined
  readonly Action: Action
  readonly TransactionID?: TransactionId | undefined
  readonly Data?: unknown
  readonly Confirm?: boolean | undefined
}

/** The majors that a client may ask for as `version=<major>.<minor>`; the last is taken when it asks for none. */
export const STREAM_VERSIONS = ['1.x', '2.x'] as const

export function isAction(word: unknown): word is Action {
  return typeof word === 'string' && (ACTIONS as readonly string[]).includes(word)
}
