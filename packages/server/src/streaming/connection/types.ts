/** Types that the parts of a connection share: its transport, its identity and what the gateway provides. */

import type { Authenticate, Clock, CloseName, Message, MonotonicClock } from 'gatehouse-protocol'
import type { CheckProof } from '../../http/request/proof.ts'
import type { StepUp } from '../../step-up/step-up.ts'
import type { Profile } from '../codec/profile.ts'
import type { Controllers } from '../controllers/registry.ts'
import type { StreamLicences } from '../licences.ts'
import type { StreamCounters } from '../metrics.ts'
import type { StreamSettings } from '../settings.ts'
import type { SlowPolicy } from '../topics/controller.ts'
import type { Broadcast, Hub } from '../topics/hub.ts'
import type { UserSessions } from './user-sessions.ts'

/** The socket side of a connection. */
export interface Transport {
  send(message: Message): void
  /** `queue` sends in any case: the sender has asked `topicsMustWait` first. */
  sendBroadcast(broadcast: Broadcast, slow: SlowPolicy | 'queue'): void
  /**
   * Whether subscriptions that their topic runs must wait. They fill only a part of the send queue, so that they alone
   * never make the connection a slow one. After it was true, `Subscriptions.onDrained` is called once
   * enough has been sent.
   */
  readonly topicsMustWait: boolean
  /** Pauses or resumes reading from the client. */
  setReading(reading: boolean): void
  close(name: CloseName, reason: string): void
}

/** Fixed for the life of a connection. */
export interface ConnectionIdentity {
  readonly connectionId: string
  /** The client's address; taken from forwarding headers only if the proxy is trusted. */
  readonly address: string
  readonly profile: Profile
  /** See Caller. */
  readonly traceParent?: string | undefined
}

/** What all connections of a gateway share. */
export interface ConnectionEnv {
  readonly clock: Clock
  /** For timeouts and rates; `clock` is for times in tokens and messages. */
  readonly monotonic: MonotonicClock
  readonly settings: StreamSettings
  readonly counters: StreamCounters
  readonly controllers: Controllers
  readonly hub: Hub
  readonly sessions: UserSessions
  readonly authenticate: Authenticate
  /** Undefined where no token is bound to a key. */
  readonly checkProof?: CheckProof | undefined
  readonly stepUp: StepUp
  /** Undefined where there are none. */
  readonly licences?: StreamLicences | undefined
  /** The current name of a user; undefined if there is no such user. */
  readonly findUsername: (subject: string) => Promise<string | undefined>
  /** A token that the client can pass to AuthToken later; undefined if the settings withhold it. */
  readonly restoreToken: (accessToken: string) => string | undefined
  readonly onFault: (error: unknown, connectionId: string) => void
  /** Throws when too many sign-ins from this address were rejected. */
  readonly onSignInRejected: (attempt: RejectedSignIn) => void
}

export interface RejectedSignIn {
  readonly address: string
  /** The user that the connection already acts for, if any. */
  readonly subject: string | undefined
  readonly provider: string
}
