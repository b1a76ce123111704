/** Bounds how often a subscriber gets a message of each topic: the newest wins, and the last is never lost. */
import type { FeedMessage } from './message.ts'

export interface RateGateHost {
  send(next: { readonly message: FeedMessage; readonly seq: number; readonly oldestHeld: number | undefined }): void
  /** Whether messages may be sent now; otherwise `flush` is called later. */
  readonly isReady: () => boolean
  /** More is held than memory allows: everything after `before` must be read again. */
  tooMany(before: number): void
}

/** The memory of held messages, for a pattern with many topics. */
const MAX_HELD_BYTES = 1024 * 1024
/** Of a topic, besides its message. */
const TOPIC_BYTES = 200

interface Held {
  readonly seq: number
  readonly message: FeedMessage
}

export class RateGate {
  readonly #intervalMs: number
  readonly #host: RateGateHost
  /** When the next message of a topic may be sent; topics that may send have none. */
  readonly #nextAt = new Map<string, number>()
  /** The newest message of each topic that must wait. */
  readonly #held = new Map<string, Held>()
  /** Topics of held messages that wait for the host alone. */
  readonly #due = new Set<string>()
  #heldBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number, host: RateGateHost) {
    this.#intervalMs = 1000 / perSecond
    this.#host = host
  }

  add(seq: number, message: FeedMessage): void {
    const now = performance.now()
    const { topic } = message
    this.#release(topic)
    const nextAt = this.#nextAt.get(topic)
    if (this.#host.isReady() && (nextAt === undefined || nextAt <= now)) {
      this.#send(topic, { seq, message }, now)
      return
    }
    if (nextAt === undefined) this.#due.add(topic)
    this.#held.set(topic, { seq, message })
    this.#heldBytes += messageBytes(message)
    if (this.#heldBytes > MAX_HELD_BYTES) this.#giveUp()
    else this.#schedule(now)
  }

  /** A message of the topic was sent without this gate. */
  passed(topic: string): void {
    if (this.#nextAt.size > MAX_HELD_BYTES / TOPIC_BYTES) return
    const now = performance.now()
    this.#nextAt.delete(topic)
    this.#nextAt.set(topic, now + this.#intervalMs)
    this.#schedule(now)
  }

  /** Sends what has waited long enough. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = performance.now()
    for (const topic of this.#due) {
      if (!this.#host.isReady()) break
      const held = this.#held.get(topic)
      this.#release(topic)
      if (held !== undefined) this.#send(topic, held, now)
    }
    for (const [topic, at] of this.#nextAt) {
      if (at > now || !this.#host.isReady()) break
      const held = this.#held.get(topic)
      this.#nextAt.delete(topic)
      if (held === undefined) continue
      this.#release(topic)
      this.#send(topic, held, now)
    }
    if (this.#host.isReady()) this.#schedule(now)
  }

  /** Forgets everything; returns the number of the oldest message that was held, if one was. */
  clear(): number | undefined {
    const oldest = this.#oldest()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#nextAt.clear()
    this.#held.clear()
    this.#due.clear()
    this.#heldBytes = 0
    return oldest
  }

  #send(topic: string, { seq, message }: Held, now: number): void {
    this.#nextAt.delete(topic)
    this.#nextAt.set(topic, now + this.#intervalMs)
    this.#host.send({ message, seq, oldestHeld: this.#oldest() })
    this.#schedule(now)
  }

  /** The messages are in the order of their numbers: a newer one of a topic goes to the end. */
  #oldest(): number | undefined {
    const [first] = this.#held.values()
    return first?.seq
  }

  #release(topic: string): void {
    const held = this.#held.get(topic)
    this.#due.delete(topic)
    if (held === undefined) return
    this.#held.delete(topic)
    this.#heldBytes -= messageBytes(held.message)
  }

  #giveUp(): void {
    const oldest = this.clear() ?? 1
    this.#host.tooMany(oldest - 1)
  }

  /** The topics are in the order in which their time comes. */
  #schedule(now: number): void {
    if (this.#timer !== undefined) return
    const [next] = this.#nextAt.values()
    if (next === undefined) return
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.flush()
      },
      Math.max(1, next - now),
    )
    this.#timer.unref()
  }
}

function messageBytes({ data }: FeedMessage): number {
  return TOPIC_BYTES + 2 * (data?.text.length ?? 0)
}
