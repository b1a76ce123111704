/** The interface of streaming controllers, the extension point of the gateway. */
import {
  type Clock,
  type FeedClass,
  type JsonText,
  type Principal,
  Refusal,
  type RunningSubscription,
  STREAM_ERRORS,
  type StepUpNeed,
  type StreamErrorCode,
  type TransactionId,
  type UrgentSink,
} from 'gatehouse-protocol'
import type { Profile } from '../codec/profile.ts'

export interface Controller {
  readonly name: string
  readonly summary: string
  /** A name that ends in `/*` matches every topic with that prefix: `Price/*` matches `Price/ACME`. */
  readonly topics: Readonly<Record<string, Topic>>
  /** The class of its feed, which clients of version 2 see. */
  readonly feedClass?: FeedClass
  /** Called once, before the server answers; an error refuses the start. The function that it returns is called when the gateway stops. */
  start?(publisher: Publisher): (() => void) | undefined
}

/** The statuses that clients of version 2 know; the others see `Active` as `Up` and the rest as `Down`. */
export const FEED_STATUSES = ['Initialising', 'Active', 'Closed', 'Inactive', 'Impaired', 'Expired'] as const
export type FeedStatus = (typeof FEED_STATUSES)[number]

export interface Topic {
  readonly summary: string
  /** `nothing`, `identity` (any authenticated caller) or a scope such as `Platform/Market`. */
  readonly needs: Need
  /** What `Publish` needs, if it is not what the rest needs. */
  readonly publishNeeds?: Need
  /** What the sign-in of the caller must be like (RFC 9470): judged when a request or a subscription begins, and for each new token. */
  readonly stepUp?: StepUpNeed | undefined
  /** To this caller the controller is unknown, instead of one that needs more authority. */
  isHidden?(principal: Principal): boolean
  /** A `Publish` without TransactionID gets no reply, so that it costs a publisher half the messages. Errors are still sent. */
  readonly repliesOnlyToId?: true
  /** Requests of one connection need not wait for the reply to the one before; replies keep their order. */
  readonly mayOverlap?: true
  /** Handles `Publish`. Returns the `Data` of the reply; throws a Refusal created by `refuse` for an error reply. */
  publish?(call: Call): unknown
  /** The topic of the reply, if it differs from the topic of the request. */
  replyTopic?(call: Call): string
  /** Present if clients can subscribe to the topic. */
  readonly subscription?: SubscriptionRules
}

export type Need = 'nothing' | 'identity' | (string & {})

/**
 * What happens when a subscriber reads too slowly: it gets only the latest message of the topic or, where each message
 * counts, its connection is closed with 1013.
 */
export type SlowPolicy = 'latest' | 'close'

/** Either all subscribers are sent what is published on the topic, or the topic serves each subscriber separately. */
export type SubscriptionRules = SharedRules | TopicRunRules

export interface SharedRules {
  readonly slow: SlowPolicy
  /**
   * The initial state, sent right after the confirmation; undefined sends nothing. Messages published while a promise
   * of it is pending are sent after it, so the state may already include them.
   */
  snapshot?(call: Call): unknown
  readonly open?: undefined
}

/**
 * A subscription that its topic runs separately for each subscriber. Unless it is counted, a Sub of a topic that is open on the
 * connection is refused with `Data Topic`, and the first Unsub ends it.
 */
export interface TopicRunRules {
  readonly slow?: undefined
  readonly snapshot?: undefined
  /** A Sub without Data of a topic that is open is counted, as many Unsub end it. */
  readonly isCounted?: true
  /**
   * Resolves when the subscription can be confirmed; throws a Refusal created by `refuse` if it cannot be opened. Messages
   * are sent through the sink once it has resolved, while `sink.maySend`.
   */
  open(call: Call, sink: UrgentSink<JsonText | TopicMessage>): Promise<RunningSubscription>
}

/** A message with more than `Data`, or of another topic than the one that was subscribed to, as with a pattern. */
export interface TopicMessage {
  readonly topic: string
  /** Tells the subscriptions of a connection apart that are sent the same topic. */
  readonly pattern: string | undefined
  readonly data: JsonText | undefined
  readonly position: string | undefined
  readonly isRemoved: boolean
  readonly isRecovered: boolean | undefined
  /** Seconds. */
  readonly delay: number | undefined
  readonly licence: readonly object[] | undefined
}

/** What a controller can use while the gateway runs. */
export interface Publisher {
  readonly clock: Clock
  /** Sends to every subscriber of the topic that currently has the authority it needs. */
  publish(topic: string, data: unknown): void
  subscribers(topic: string): number
  /** Shows the status of the controller's feed to the subscribers of `Platform/Feeds`. It is `Active` at first. */
  setStatus(status: FeedStatus): void
}

/** A request as its handler sees it. */
export interface Call {
  readonly controller: string
  readonly topic: string
  readonly data: unknown
  /** The JSON text of the whole message, for data whose numbers need all their digits; undefined in MessagePack and without Data. */
  readonly source?: string | undefined
  /** Of the request, if it has one. */
  readonly transactionId?: TransactionId | undefined
  /** Undefined if the caller has no active authority. */
  readonly principal: Principal | undefined
  readonly caller: Caller
  /** Aborted by Cancel, by a timeout and when the subscription or the connection ends. */
  readonly signal: AbortSignal
  /** Whether the signal is aborted. Cheaper than `signal`, which is created on first use. */
  readonly isAborted: boolean
}

/** What AuthToken presents. */
export interface SignIn {
  readonly provider: string
  readonly accessToken: string
  /** With the provider DPoP. */
  readonly proof: string | undefined
}

/** The connection that sent a request, as the built-in controllers see it. */
export interface Caller {
  readonly connectionId: string
  /** The client's address. */
  readonly address: string
  /** The `traceparent` of the upgrade request, if it had a valid one (W3C Trace Context). */
  readonly traceParent: string | undefined
  /** The current authority as an authentication result. */
  identify(): AuthenticationResult
  /** The nonce that the proof of the next sign-in needs. */
  readonly nonce: string
  /** Checks a token and takes on its authority. The handler must return the result, which is the reply. */
  signIn(given: SignIn, call: Pick<Call, 'isAborted'>): Promise<SignInResult>
  readonly profile: Profile
  timeouts(controller: string): Timeouts
  setTimeouts(controller: string, timeouts: Timeouts): void
}

/** Milliseconds. */
export interface Timeouts {
  readonly action: number
  readonly subscription: number
}

/** The `Data` of the reply, so the names are those of the wire. Undefined members are not sent. */
export interface AuthenticationResult {
  readonly Result: 'Success' | 'Reject' | 'Rejected'
  readonly AccessToken?: string | undefined
  readonly DisplayName?: string | undefined
  readonly UserID?: string
  readonly ExpiryDate?: string
  readonly ExpiresIn?: string | undefined
  readonly Scope?: readonly string[]
  /** For the proof of the next AuthToken, on a connection that has presented a bound token. */
  readonly Nonce?: string
}

/** An accepted sign-in: after the reply, the connection notifies its subscriptions of the new authority. */
export class AcceptedSignIn {
  readonly reply: AuthenticationResult

  constructor(reply: AuthenticationResult) {
    this.reply = reply
  }
}

/** A rejected sign-in is only a reply. */
export type SignInResult = AcceptedSignIn | AuthenticationResult

/** Creates an error reply. The client sees both the code and the context. */
export function refuse(code: StreamErrorCode, context = '', cause?: unknown): Refusal {
  const text = STREAM_ERRORS[code].context === '' ? '' : context
  return new Refusal(code, 400, text, cause === undefined ? {} : { cause })
}

/** Creates an error reply with a problem document, which the message carries in addition to `Data`. */
export function refuseWithProblem(code: StreamErrorCode, context: string, problem: object): Refusal {
  return new Refusal(code, 400, context, { members: { Problem: problem } })
}

/** The members of a request's `Data`; refuses anything but an object. */
export function members(data: unknown): Readonly<Record<string, unknown>> {
  if (data === undefined) throw refuse('Data', 'Data')
  if (!isMembers(data)) throw refuse('Data.Deserialise', 'Data')
  return data
}

function isMembers(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}

/** A string member. A missing one is refused with `Data`, another type with `Data.Deserialise`. */
export function textMember(from: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(from, name) ? from[name] : undefined
  if (value === undefined) throw refuse('Data', name)
  if (typeof value !== 'string') throw refuse('Data.Deserialise', name)
  return value
}
