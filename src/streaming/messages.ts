/** The messages that a connection sends: what they say, as the members of the wire. */
import type { Message } from '../protocol/envelope.ts'
import type { Request, Unfit } from './request.ts'
import type { Subscription } from './subscriptions.ts'

export function reply({ controller, id }: Request, topic: string, data: unknown): Message {
  return { Controller: controller, Topic: topic, Action: 'Publish', TransactionID: id, Data: data }
}

/** To a subscription: it answers no request in particular. */
export function push(controller: string, topic: string, data: unknown): Message {
  return { Controller: controller, Topic: topic, Action: 'Publish', Data: data }
}

export function confirmation({ controller, topic, action, id }: Request, confirmed: boolean): Message {
  return { Controller: controller, Topic: topic, Action: action, TransactionID: id, Confirm: confirmed }
}

/** With whatever could be read of what it is about. */
export function errorAbout(
  { controller, topic, id }: Pick<Request | Unfit, 'controller' | 'topic' | 'id'>,
  code: string,
  context: string,
): Message {
  const data = context === '' ? code : `${code} ${context}`
  return { Controller: controller, Topic: topic, Action: 'Error', TransactionID: id, Data: data }
}

/** The server itself ends a subscription. */
export function ending({ controller, name }: Subscription): Message {
  return { Controller: controller, Topic: name, Action: 'Unsub', Confirm: true }
}
