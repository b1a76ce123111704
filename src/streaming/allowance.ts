/** How fast a connection may send: so many messages, past them as many refusals, past those it is not read for a while. */
import type { StreamSettings } from './settings.ts'

export class Allowance {
  readonly #settings: StreamSettings
  readonly #messages: Bucket
  /** Refusals too cost time to read and to write. */
  #refusals: Bucket | undefined
  #unheardUntil: number | undefined

  constructor(settings: StreamSettings, now: number) {
    this.#settings = settings
    this.#messages = new Bucket(settings, now)
  }

  /** Whether one more message is carried out. */
  take(now: number): boolean {
    if (this.#messages.take(now)) return true
    this.#refusals ??= new Bucket(this.#settings, now)
    if (!this.#refusals.take(now)) this.#unheardUntil = now + FLOOD_PAUSE
    return false
  }

  get isHeard(): boolean {
    return this.#unheardUntil === undefined
  }

  /** When the connection is read again. */
  get due(): number {
    return this.#unheardUntil ?? Number.POSITIVE_INFINITY
  }

  tick(now: number): void {
    if (this.due <= now) this.#unheardUntil = undefined
  }
}

/** Fills at the allowed rate. */
class Bucket {
  readonly #settings: StreamSettings
  #left: number
  #at: number

  constructor(settings: StreamSettings, now: number) {
    this.#settings = settings
    this.#left = settings.streamMessageBurst
    this.#at = now
  }

  take(now: number): boolean {
    const { streamMessagesPerSecond: rate, streamMessageBurst: burst } = this.#settings
    if (now > this.#at) {
      this.#left = Math.min(burst, this.#left + ((now - this.#at) * rate) / 1000)
      this.#at = now
    }
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}

/** How long a connection that floods is not read. */
const FLOOD_PAUSE = 1_000
