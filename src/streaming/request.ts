/** Reads the members of a message into a request, or into the error that answers it. */
import { type Action, DEFAULT_ACTION, DEFAULT_CONTROLLER, isAction, type TransactionId } from '../protocol/envelope.ts'
import type { StreamErrorCode } from '../protocol/stream-errors.ts'
import type { Decoded } from './codec.ts'

export interface Request {
  readonly kind: 'request'
  readonly controller: string
  readonly topic: string
  readonly action: Exclude<Action, 'Error'>
  readonly id: TransactionId | undefined
  readonly data: unknown
  readonly confirm: boolean
}

/** A message that cannot be carried out; it is answered in its turn, with whatever of it could be read. */
export interface Unfit {
  readonly kind: 'unfit'
  readonly controller: string | undefined
  readonly topic: string | undefined
  readonly id: TransactionId | undefined
  readonly code: StreamErrorCode
  readonly context: string
}

export const UNREADABLE: Unfit = {
  kind: 'unfit',
  controller: undefined,
  topic: undefined,
  id: undefined,
  code: 'Data.Deserialise',
  context: '',
}

/** A connection keeps the names of what it subscribes to: a thousand of a megabyte each would be a gigabyte. */
const LONGEST_TOPIC = 256

/** Undefined for an `Error` from the client: answering one could go on for ever. */
export function readRequest({ members, id }: Decoded): Request | Unfit | undefined {
  const { Controller: controller = DEFAULT_CONTROLLER, Topic: topic, Action: action = DEFAULT_ACTION } = members
  const { Confirm: confirm = false, Data: data } = members
  const unfit = (code: StreamErrorCode, context: string): Unfit => ({
    kind: 'unfit',
    controller: typeof controller === 'string' ? controller : undefined,
    topic: typeof topic === 'string' ? topic : undefined,
    id: isTransactionId(id) ? id : undefined,
    code,
    context,
  })
  if (id !== undefined && !isTransactionId(id)) return unfit('Data.Deserialise', 'TransactionID')
  if (typeof controller !== 'string') return unfit('Data.Deserialise', 'Controller')
  if (!isAction(action)) return unfit('Data.Deserialise', 'Action')
  if (action === 'Error') return undefined
  if (typeof confirm !== 'boolean') return unfit('Data.Deserialise', 'Confirm')
  if (topic !== undefined && typeof topic !== 'string') return unfit('Data.Deserialise', 'Topic')
  if (topic !== undefined && topic.length > LONGEST_TOPIC) return unfit('Data', 'Topic')
  if (action === 'Cancel') {
    if (id === undefined) return unfit('Data', 'TransactionID')
  } else if (topic === undefined) return unfit('Data', 'Topic')
  return { kind: 'request', controller, topic: topic ?? '', action, id, data, confirm }
}

function isTransactionId(id: unknown): id is TransactionId {
  return typeof id === 'bigint' || Number.isInteger(id)
}
