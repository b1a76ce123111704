/** Publish and subscribe within one node. A message is encoded once for each codec, not for each subscriber. */

import type { JsonText, Message } from 'gatehouse-protocol'
import { ownBytes } from '../../lib/own-bytes.ts'
import { textBytes } from '../../lib/text-memory.ts'
import type { Codec } from '../codec/codec.ts'
import type { Profile } from '../codec/profile.ts'
import { frameDeflated } from '../websocket/deflate.ts'
import { frameMessage } from '../websocket/frame.ts'
import type { TopicMessage } from './controller.ts'

/** A connection, as the hub sees it: its `Subscriptions`. */
export interface TopicListener {
  readonly profile: Profile
  /** Takes a message published at `now` on a topic that it subscribes to. */
  deliver(broadcast: Broadcast, now: number): void
}

/** The memory of broadcasts that subscribers share whose turn comes later. */
const SHARED_BYTES = 16 * 1024 * 1024
/** The payload, its frame and the compressed frame of both codecs. */
const COPIES = 4
/** The objects of a broadcast and of its frames. */
const OVERHEAD_BYTES = 1024

interface SharedData {
  readonly broadcasts: WeakRef<Map<string, Broadcast>>
  readonly bytes: number
}

export class Hub {
  readonly #topics = new Map<string, Set<TopicListener>>()
  /**
   * The messages of subscriptions that their topic runs, by topic, for as long as a subscriber is to get their data. Held any longer, each
   * would outlive the young generation.
   */
  readonly #shared = new WeakMap<JsonText, Map<string, Broadcast>>()
  /** The oldest first. */
  readonly #sharedData = new Set<SharedData>()
  #sharedBytes = 0
  readonly #broadcasts = new WeakMap<TopicMessage, Broadcast>()
  /** The last one: subscribers of a topic are sent a message one after the other. */
  #last: { readonly sent: TopicMessage; readonly broadcast: Broadcast } | undefined

  subscribe(key: string, listener: TopicListener): void {
    const listeners = this.#topics.get(key)
    if (listeners === undefined) this.#topics.set(key, new Set([listener]))
    else listeners.add(listener)
  }

  unsubscribe(key: string, listener: TopicListener): void {
    const listeners = this.#topics.get(key)
    if (listeners?.delete(listener) && listeners.size === 0) this.#topics.delete(key)
  }

  count(key: string): number {
    return this.#topics.get(key)?.size ?? 0
  }

  publish(controller: string, topic: string, data: unknown, now: number): void {
    const key = topicKey(controller, topic)
    const listeners = this.#topics.get(key)
    if (listeners === undefined) return
    const broadcast = new Broadcast(key, { Controller: controller, Topic: topic, Action: 'Publish', Data: data })
    deliverToAll(listeners, (listener) => listener.deliver(broadcast, now))
  }

  /** Publishes data that differs between profiles. */
  publishByProfile(controller: string, topic: string, dataFor: (profile: Profile) => unknown, now: number): void {
    const key = topicKey(controller, topic)
    const broadcasts = new Map<Profile, Broadcast>()
    deliverToAll(this.#topics.get(key) ?? [], (listener) => {
      const { profile } = listener
      const known = broadcasts.get(profile)
      const broadcast =
        known ?? new Broadcast(key, { Controller: controller, Topic: topic, Action: 'Publish', Data: dataFor(profile) })
      broadcasts.set(profile, broadcast)
      listener.deliver(broadcast, now)
    })
  }

  /** One broadcast for all subscribers that are sent the same message of a controller. */
  sharedBroadcast(controller: string, sent: TopicMessage): Broadcast {
    if (this.#last?.sent === sent) return this.#last.broadcast
    let broadcast = this.#broadcasts.get(sent)
    if (broadcast === undefined) {
      const { topic, pattern, data, position, isRemoved, isRecovered, delay, licence } = sent
      broadcast = new Broadcast(topicKey(controller, topic), {
        ...{ Controller: controller, Topic: topic, Action: 'Publish' },
        ...{ Pattern: pattern, Position: position, Recovered: isRecovered, Removed: isRemoved ? true : undefined },
        ...{ Delay: delay, Licence: licence, Data: data },
      })
      this.#broadcasts.set(sent, broadcast)
    }
    this.#last = { sent, broadcast }
    return broadcast
  }

  /** One broadcast for all subscribers of the topic that are sent the same object, each at its own time. */
  share(controller: string, topic: string, data: JsonText): Broadcast {
    const key = topicKey(controller, topic)
    const broadcasts = this.#shared.get(data) ?? new Map<string, Broadcast>()
    const known = broadcasts.get(key)
    if (known !== undefined) return known
    const broadcast = new Broadcast(key, { Controller: controller, Topic: topic, Action: 'Publish', Data: data })
    this.#shared.set(data, broadcasts)
    this.#makeRoom({ broadcasts: new WeakRef(broadcasts), bytes: textBytes(data.text) * COPIES + OVERHEAD_BYTES })
    broadcasts.set(key, broadcast)
    return broadcast
  }

  /** A slow subscriber may hold its data for long; then its broadcast is made again. */
  #makeRoom(added: SharedData): void {
    this.#sharedData.add(added)
    this.#sharedBytes += added.bytes
    for (const oldest of this.#sharedData) {
      if (this.#sharedBytes <= SHARED_BYTES || oldest === added) break
      this.#sharedData.delete(oldest)
      this.#sharedBytes -= oldest.bytes
      oldest.broadcasts.deref()?.clear()
    }
  }
}

/** If one fails, the others still get the message; then the publisher gets the error. */
function deliverToAll(listeners: Iterable<TopicListener>, deliver: (listener: TopicListener) => void): void {
  const failures: unknown[] = []
  for (const listener of listeners) {
    try {
      deliver(listener)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** A message for many subscribers: encoded, compressed and framed for the first one of each kind, then shared. */
export class Broadcast {
  readonly key: string
  readonly message: Message
  readonly #payloads = new Map<string, string | Buffer>()
  readonly #frames = new Map<string, Buffer | Promise<Buffer>>()

  constructor(key: string, message: Message) {
    this.key = key
    this.message = message
  }

  payload(codec: Codec): string | Buffer {
    const payload = this.#payloads.get(codec.name) ?? codec.encode(this.message)
    this.#payloads.set(codec.name, payload)
    return payload
  }

  /** Compressed if window bits were agreed and the message is not shorter than the threshold. */
  frame(codec: Codec, windowBits: number | undefined, threshold: number): Buffer | Promise<Buffer> {
    const key = windowBits === undefined ? codec.name : `${codec.name} ${windowBits}`
    const known = this.#frames.get(key)
    if (known !== undefined) return known
    const payload = this.payload(codec)
    const made = windowBits === undefined ? frameMessage(payload) : frameDeflated(payload, windowBits, threshold)
    // Kept until the last subscriber has it, and by send queues that count its length.
    const frame = made instanceof Promise ? made : ownBytes(made)
    this.#frames.set(key, frame)
    return frame
  }
}

/** Unique because the name of a controller never contains a line feed. */
export function topicKey(controller: string, topic: string): string {
  return `${controller}\n${topic}`
}
