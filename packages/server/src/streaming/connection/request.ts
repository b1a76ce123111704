/** Validates a decoded message: the result is a request, or the error to reply with. */
import {
  type Action,
  DEFAULT_ACTION,
  DEFAULT_CONTROLLER,
  isAction,
  LONGEST_TOPIC,
  type StreamErrorCode,
  type TransactionId,
} from 'gatehouse-protocol'
import type { Decoded } from '../codec/codec.ts'

export interface StreamRequest {
  readonly kind: 'request'
  readonly controller: string
  readonly topic: string
  readonly action: Exclude<Action, 'Error'>
  readonly id: TransactionId | undefined
  readonly data: unknown
  /** See Decoded. */
  readonly source: string | undefined
  readonly confirm: boolean
}

/** A message that cannot be executed. It is answered when its turn comes, with the members that could be read. */
export interface InvalidRequest {
  readonly kind: 'invalid'
  readonly controller: string | undefined
  readonly topic: string | undefined
  readonly id: TransactionId | undefined
  readonly code: StreamErrorCode
  readonly context: string
}

export const UNREADABLE: InvalidRequest = {
  kind: 'invalid',
  controller: undefined,
  topic: undefined,
  id: undefined,
  code: 'Data.Deserialise',
  context: '',
}

/** Undefined for an `Error` from the client: answering it could start an endless exchange. */
export function readRequest(decoded: Decoded): StreamRequest | InvalidRequest | undefined {
  const { members, id, source } = decoded
  const { Controller: controller = DEFAULT_CONTROLLER, Topic: topic, Action: action = DEFAULT_ACTION } = members
  const { Confirm: confirm = false, Data: data } = members
  if (id !== undefined && !isTransactionId(id)) return invalid(decoded, 'Data.Deserialise', 'TransactionID')
  if (typeof controller !== 'string') return invalid(decoded, 'Data.Deserialise', 'Controller')
  if (!isAction(action)) return invalid(decoded, 'Data.Deserialise', 'Action')
  if (action === 'Error') return undefined
  if (typeof confirm !== 'boolean') return invalid(decoded, 'Data.Deserialise', 'Confirm')
  if (topic !== undefined && typeof topic !== 'string') return invalid(decoded, 'Data.Deserialise', 'Topic')
  if (topic !== undefined && topic.length > LONGEST_TOPIC) return invalid(decoded, 'Data', 'Topic')
  if (action === 'Cancel') {
    if (id === undefined) return invalid(decoded, 'Data', 'TransactionID')
  } else if (topic === undefined) return invalid(decoded, 'Data', 'Topic')
  return { kind: 'request', controller, topic: topic ?? '', action, id, data, source, confirm }
}

function invalid({ members, id }: Decoded, code: StreamErrorCode, context: string): InvalidRequest {
  const { Controller: controller = DEFAULT_CONTROLLER, Topic: topic } = members
  return {
    kind: 'invalid',
    controller: typeof controller === 'string' ? controller : undefined,
    topic: typeof topic === 'string' ? topic : undefined,
    id: isTransactionId(id) ? id : undefined,
    code,
    context,
  }
}

function isTransactionId(id: unknown): id is TransactionId {
  return typeof id === 'bigint' || Number.isInteger(id)
}
