/** The messages that a connection sends. */
import { isStreamErrorCode, type Message, Refusal } from 'gatehouse-protocol'
import type { Profile } from '../codec/profile.ts'
import { countError } from '../metrics.ts'
import { refuse } from '../topics/controller.ts'
import type { InvalidRequest, StreamRequest } from './request.ts'
import type { ConnectionEnv, Transport } from './types.ts'

export function reply({ controller, id }: StreamRequest, topic: string, data: unknown): Message {
  return { Controller: controller, Topic: topic, Action: 'Publish', TransactionID: id, Data: data }
}

/** A message for a subscription; it answers no request. */
export function push(controller: string, topic: string, data: unknown): Message {
  return { Controller: controller, Topic: topic, Action: 'Publish', Data: data }
}

export function confirmation(
  request: StreamRequest,
  confirmed: boolean,
  { confirmsUnsub }: Profile,
  data?: object,
): Message {
  const { controller, topic, action, id } = request
  const confirm = action === 'Unsub' && !confirmsUnsub ? undefined : confirmed
  return { Controller: controller, Topic: topic, Action: action, TransactionID: id, Confirm: confirm, Data: data }
}

/** Notifies the client that the server has ended a subscription. */
export function subscriptionEnd(controller: string, topic: string): Message {
  return { Controller: controller, Topic: topic, Action: 'Unsub', Confirm: true }
}

/** What an error reply refers to, as far as it could be read. */
type ErrorSubject = Pick<StreamRequest | InvalidRequest, 'controller' | 'topic' | 'id'>

export function sendError(
  transport: Transport,
  { counters }: ConnectionEnv,
  { controller, topic, id }: ErrorSubject,
  { code, message: context, details }: Refusal,
): void {
  countError(counters, code, context)
  const data = context === '' ? code : `${code} ${context}`
  const problem = details.members?.Problem
  transport.send({
    Controller: controller,
    Topic: topic,
    Action: 'Error',
    TransactionID: id,
    Data: data,
    Problem: typeof problem === 'object' && problem !== null ? problem : undefined,
  })
}

/** The error that the client sees. Anything but a Refusal with a known code is a fault: logged, and sent as `Fault`. */
export function publicError(error: unknown, { onFault }: ConnectionEnv, connectionId: string): Refusal {
  if (error instanceof Refusal && isStreamErrorCode(error.code)) return error
  onFault(error, connectionId)
  return refuse('Fault', '', error)
}
