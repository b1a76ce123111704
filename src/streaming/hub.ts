/** Who listens to what: topics, their subscribers, and the fan-out that encodes a message once for each codec. */
import type { Message, SubProtocol } from '../protocol/envelope.ts'
import type { Codec } from './codec.ts'
import { frameMessage } from './frame.ts'

export interface Subscriber {
  /** Takes a message of a topic that it listens to; `now` is the time of the publication. */
  take(broadcast: Broadcast, now: number): void
}

export class Hub {
  readonly #topics = new Map<string, Set<Subscriber>>()

  join(key: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(key)
    if (subscribers === undefined) this.#topics.set(key, new Set([subscriber]))
    else subscribers.add(subscriber)
  }

  leave(key: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(key)
    if (subscribers?.delete(subscriber) && subscribers.size === 0) this.#topics.delete(key)
  }

  count(key: string): number {
    return this.#topics.get(key)?.size ?? 0
  }

  publish(controller: string, topic: string, data: unknown, now: number): void {
    const key = topicKey(controller, topic)
    const subscribers = this.#topics.get(key)
    if (subscribers === undefined) return
    const broadcast = new Broadcast(key, { Controller: controller, Topic: topic, Action: 'Publish', Data: data })
    for (const subscriber of subscribers) subscriber.take(broadcast, now)
  }
}

/** A message for many: encoded and framed when the first subscriber of a codec needs it, then shared. */
export class Broadcast {
  readonly key: string
  readonly message: Message
  readonly #payloads: Partial<Record<SubProtocol, string | Buffer>> = {}
  readonly #frames: Partial<Record<SubProtocol, Buffer>> = {}

  constructor(key: string, message: Message) {
    this.key = key
    this.message = message
  }

  payload(codec: Codec): string | Buffer {
    const payload = this.#payloads[codec.subProtocol] ?? codec.encode(this.message)
    this.#payloads[codec.subProtocol] = payload
    return payload
  }

  frame(codec: Codec): Buffer {
    const frame = this.#frames[codec.subProtocol] ?? frameMessage(this.payload(codec))
    this.#frames[codec.subProtocol] = frame
    return frame
  }
}

/** Neither name can hold a line feed inside the key of another, since controllers are named by the product. */
export function topicKey(controller: string, topic: string): string {
  return `${controller}\n${topic}`
}
