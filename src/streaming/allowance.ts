/** How many messages a connection may send now: a bucket that fills at the allowed rate. */
import type { StreamSettings } from './settings.ts'

export class Allowance {
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
