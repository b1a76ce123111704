/** What a controller is: topics, what each needs of its caller, and what it does. The extension point of the gateway. */
import type { Clock } from '../protocol/clock.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import { STREAM_ERRORS, type StreamErrorCode } from '../protocol/stream-errors.ts'
import type { Profile } from './profile.ts'

export interface Controller {
  readonly name: string
  readonly summary: string
  /** A name that ends in `/*` stands for every topic with that beginning, for example `Price/*` for `Price/ACME`. */
  readonly topics: Readonly<Record<string, Topic>>
  /** Called once when the gateway starts; what it returns is called when the gateway stops. */
  start?(stage: Stage): (() => void) | undefined
}

export interface Topic {
  readonly summary: string
  /** `nothing`, `identity` (any authenticated caller) or a scope such as `Platform/Market`. */
  readonly needs: Need
  /** What `Publish` does. Its value is the `Data` of the reply; a Refusal made by `refuse` is an error reply. */
  publish?(call: Call): unknown
  /** The topic that the reply carries, where it is not the topic of the request. */
  replyTopic?(call: Call): string
  /** Present when the topic can be subscribed to. */
  readonly subscription?: SubscriptionRules
}

export type Need = 'nothing' | 'identity' | (string & {})

export interface SubscriptionRules {
  /**
   * What happens to messages for a subscriber that reads too slowly: only the newest of the topic is kept for it,
   * or, where each message counts, its connection is closed with 1013.
   */
  readonly slow: 'latest' | 'close'
  /**
   * The state to begin with, sent right after the confirmation; undefined sends nothing. What is published while a
   * promise of it is open follows it, so the state may already hold what those messages say.
   */
  snapshot?(call: Call): unknown
}

/** What a controller may use while the gateway runs. */
export interface Stage {
  readonly clock: Clock
  /** Sends to every subscriber of the topic whose rights are in force. */
  publish(topic: string, data: unknown): void
  subscribers(topic: string): number
}

/** One request, as a handler sees it. */
export interface Call {
  readonly controller: string
  readonly topic: string
  readonly data: unknown
  /** Undefined when the caller has no authority in force. */
  readonly principal: Principal | undefined
  readonly caller: Caller
  /** Aborted by Cancel, by a timeout and by the end of the connection. */
  readonly signal: AbortSignal
}

/** The calling connection, as far as the built-in controllers change it. */
export interface Caller {
  readonly connectionId: string
  /** What the connection may do now, as the `Identify` family of replies shows it. */
  identify(): AuthenticationResult
  /** Tries to take on the authority of a token; the result is the reply. */
  signIn(provider: string, accessToken: string, signal: AbortSignal): Promise<AuthenticationResult>
  readonly profile: Profile
  timeouts(controller: string): Timeouts
  setTimeouts(controller: string, timeouts: Timeouts): void
}

/** Milliseconds. */
export interface Timeouts {
  readonly action: number
  readonly subscription: number
}

/** Wire names: this object is the `Data` of the reply. */
export interface AuthenticationResult {
  readonly Result: 'Success' | 'Reject' | 'Rejected'
  readonly AccessToken?: string
  readonly DisplayName?: string
  readonly UserID?: string
  readonly ExpiryDate?: string
  readonly ExpiresIn?: string
  readonly Scope?: readonly string[]
}

/** An error reply: the code, and a context that the caller may see. */
export function refuse(code: StreamErrorCode, context = '', cause?: unknown): Refusal {
  const shown = STREAM_ERRORS[code].context === '' ? '' : context
  return new Refusal(code, 400, shown, cause === undefined ? {} : { cause })
}

/** The members of a request's `Data`; anything but an object is refused. */
export function members(data: unknown): Readonly<Record<string, unknown>> {
  if (data === undefined) throw refuse('Data', 'Data')
  if (!isMembers(data)) throw refuse('Data.Deserialise', 'Data')
  return data
}

function isMembers(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}

/** A text member: missing is `Data`, another type is `Data.Deserialise`. */
export function textMember(from: Readonly<Record<string, unknown>>, name: string): string {
  const value = from[name]
  if (value === undefined) throw refuse('Data', name)
  if (typeof value !== 'string') throw refuse('Data.Deserialise', name)
  return value
}
