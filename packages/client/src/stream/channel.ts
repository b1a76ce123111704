/** What a stream carries besides requests: subscriptions that stay over all connections. */
import type { GatehouseError } from '../errors.ts'
import type { Message } from './protocol.ts'

/** A subscription as the stream sees it. */
export interface Channel {
  readonly controller: string
  readonly topic: string
  /** For the errors of a statement. */
  readonly statement?: string | undefined
  /** The data of the next Sub. */
  data(): unknown
  /** With the data of the confirmation, where it has any. */
  onConfirmed(data?: unknown): void
  /** With the message that has the data, if it came on a stream. */
  onData(data: unknown, message?: Message): void
  /** Returns true if another Sub should follow. */
  onRefused?(error: GatehouseError): boolean
  onEnd(error: GatehouseError): void
}

/** Where channels are opened: the stream. */
export interface Channels {
  /** It stays until `detach` or `onEnd`. */
  attach(channel: Channel): void
  detach(channel: Channel): void
}

export function channelKey({ controller, topic }: Pick<Channel, 'controller' | 'topic'>): string {
  return `${controller}\n${topic}`
}
