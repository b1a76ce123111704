/**
 * Limits what a connection may send. Messages above the rate are refused, and after that many refusals reading pauses. Frames
 * that are not messages (pings, pongs, fragments) and the bytes of long messages cannot be refused: they have a separate
 * rate, and when it is exceeded, reading pauses until it allows more.
 */
import type { StreamSettings } from '../settings.ts'

/** How long a flooding connection is not read. */
const FLOOD_PAUSE = 1_000
/** Units for frames that are not messages, for each message of the rate and of the burst. */
const RATE_UNITS = 16
const BURST_UNITS = 4
/** A pong is written for each ping, so a control frame costs as much as a message. */
export const CONTROL_FRAME_UNITS = 16
export const FRAGMENT_UNITS = 1
/** The bytes of a message that cost one unit, after decompression: by default 4 MB per second, 10 MB in a burst. */
const BYTES_PER_UNIT = 256

export class MessageRate {
  readonly #settings: StreamSettings
  readonly #messages: TokenBucket
  /** Refusals are limited as well, because reading and answering a message costs time. */
  #refusals: TokenBucket | undefined
  #units: TokenBucket | undefined
  #pausedUntil: number | undefined

  constructor(settings: StreamSettings, now: number) {
    this.#settings = settings
    this.#messages = new TokenBucket(settings, now)
  }

  /** Whether one more message of this size may be executed. */
  take(now: number, bytes: number): boolean {
    if (bytes >= BYTES_PER_UNIT) this.charge(Math.floor(bytes / BYTES_PER_UNIT), now)
    if (this.#messages.take(now)) return true
    this.#refusals ??= new TokenBucket(this.#settings, now)
    if (!this.#refusals.take(now)) this.#pause(now + FLOOD_PAUSE)
    return false
  }

  /** Counts what cannot be refused. */
  charge(units: number, now: number): void {
    this.#units ??= new TokenBucket(this.#settings, now, RATE_UNITS, BURST_UNITS)
    const wait = this.#units.charge(units, now)
    if (wait > 0) this.#pause(now + wait)
  }

  #pause(until: number): void {
    this.#pausedUntil = Math.max(until, this.#pausedUntil ?? 0)
  }

  get isPaused(): boolean {
    return this.#pausedUntil !== undefined
  }

  /** When reading resumes. */
  get resumesAt(): number {
    return this.#pausedUntil ?? Number.POSITIVE_INFINITY
  }

  resume(): void {
    this.#pausedUntil = undefined
  }
}

/** Holds tokens for the burst, refilled at the rate; both are multiples of those of the settings. */
class TokenBucket {
  readonly #settings: StreamSettings
  readonly #rateUnits: number
  readonly #burstUnits: number
  #tokens: number
  #updatedAt: number

  constructor(settings: StreamSettings, now: number, rateUnits = 1, burstUnits = 1) {
    this.#settings = settings
    this.#rateUnits = rateUnits
    this.#burstUnits = burstUnits
    this.#tokens = settings.streamMessageBurst * burstUnits
    this.#updatedAt = now
  }

  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Takes tokens even if there are too few; returns the milliseconds until the missing ones are refilled. */
  charge(tokens: number, now: number): number {
    this.#refill(now)
    this.#tokens -= tokens
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens * 1000) / this.#rate)
  }

  #refill(now: number): void {
    if (now <= this.#updatedAt) return
    const refilled = this.#tokens + ((now - this.#updatedAt) * this.#rate) / 1000
    this.#tokens = Math.min(this.#settings.streamMessageBurst * this.#burstUnits, refilled)
    this.#updatedAt = now
  }

  get #rate(): number {
    return this.#settings.streamMessagesPerSecond * this.#rateUnits
  }
}
