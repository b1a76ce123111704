/** The authentication of one connection over time: sign-in, renewal, expiry, revocation and changed rights. */

import { randomBytes } from 'node:crypto'
import {
  type Moment,
  PLATFORM_AUDIENCE,
  type Principal,
  Refusal,
  STREAM_PATH,
  type StepUpNeed,
  stepUpContext,
} from 'gatehouse-protocol'
import type { GateEvent } from '../../events/bus.ts'
import { type CurrentRights, findEffect, survives } from '../../events/token-effect.ts'
import { isBearer, isDpop } from '../controllers/auth.ts'
import {
  AcceptedSignIn,
  type AuthenticationResult,
  type Call,
  type Need,
  refuse,
  type SignIn,
  type SignInResult,
} from '../topics/controller.ts'
import { type Authority, activate, activeAuthority, describeAuthority, satisfies, withRights } from './authority.ts'
import type { ConnectionEnv, ConnectionIdentity } from './types.ts'
import type { SessionConnection } from './user-sessions.ts'

/** What the connection must do after an event or after time has passed. */
export type AuthEffect =
  | { readonly kind: 'none' }
  /** The client must be notified and the subscriptions checked again. */
  | { readonly kind: 'changed' }
  /** Other roles or another name with the same scopes: the client is not notified, but the rows that it may read can differ. */
  | { readonly kind: 'claims-changed' }
  /** The user was renamed: the connection must read the name. */
  | { readonly kind: 'renamed' }
  | { readonly kind: 'close'; readonly code: 'sessionEnded' | 'policy'; readonly reason: string }

const NO_EFFECT: AuthEffect = { kind: 'none' }
const CHANGED: AuthEffect = { kind: 'changed' }
const CLAIMS_CHANGED: AuthEffect = { kind: 'claims-changed' }
const RENAMED: AuthEffect = { kind: 'renamed' }
const SESSION_ENDED: AuthEffect = { kind: 'close', code: 'sessionEnded', reason: 'the session has ended' }
const KICKED: AuthEffect = { kind: 'close', code: 'sessionEnded', reason: 'ended by an operator' }
const NOT_AUTHENTICATED: AuthEffect = { kind: 'close', code: 'policy', reason: 'not authenticated in time' }
const NOT_RENEWED: AuthEffect = { kind: 'close', code: 'policy', reason: 'not authenticated again in time' }

export interface SteppedUpTopic {
  readonly controller: string
  readonly name: string
  readonly stepUp: StepUpNeed | undefined
}

export class ConnectionAuth {
  readonly #identity: ConnectionIdentity
  readonly #member: SessionConnection
  readonly #env: ConnectionEnv
  #authority: Authority
  /** The user of this connection: set by the first sign-in and never changed. */
  #subject: string | undefined
  /** Since the first token that is bound to a key, no other is accepted. */
  #isBound = false
  /** For the next proof; undefined until a client asks for it or presents a bound token. */
  #nonce: string | undefined
  /** Events that arrived while a token was being checked; the check may not have seen them. */
  #eventsDuringCheck: GateEvent[] | undefined

  constructor(identity: ConnectionIdentity, member: SessionConnection, env: ConnectionEnv) {
    this.#identity = identity
    this.#member = member
    this.#env = env
    this.#authority = { state: 'anonymous', closeAt: env.monotonic() + env.settings.streamAuthenticationDeadline }
  }

  get authority(): Authority {
    return this.#authority
  }

  /** Also after the authority has ended. */
  get hasSignedIn(): boolean {
    return this.#subject !== undefined
  }

  /** Only proofs for this connection have it, and it changes with each one that is accepted. */
  get nonce(): string {
    this.#nonce ??= newNonce()
    return this.#nonce
  }

  get principal(): Principal | undefined {
    return activeAuthority(this.#authority, this.#env.clock())?.principal
  }

  /** Why the sign-in of the caller is not enough for a topic; undefined if it is. */
  stepUpFault({ controller, name, stepUp }: SteppedUpTopic): Refusal | undefined {
    const { principal } = this
    if (stepUp === undefined || principal === undefined) return undefined
    const { address, connectionId: requestId } = this.#identity
    try {
      this.#env.stepUp.require(principal, stepUp, { address, requestId, resource: `${controller}/${name}` })
      return undefined
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return refuse('Authority', stepUpContext(error))
    }
  }

  satisfies(need: Need, now: number): boolean {
    return satisfies(this.#authority, need, now)
  }

  describe(): AuthenticationResult {
    return this.#describe()
  }

  #describe(restoreToken?: string): AuthenticationResult {
    const { clock, settings } = this.#env
    const { profile } = this.#identity
    const described = describeAuthority(this.#authority, profile, settings.streamVendor, clock(), restoreToken)
    return this.#isBound && described.Result === 'Success' ? { ...described, Nonce: this.nonce } : described
  }

  /** Checks a token and adopts its authority; a rejected token leaves the current authority unchanged. */
  async signIn(given: SignIn, call: Pick<Call, 'isAborted'>): Promise<SignInResult> {
    const { provider, accessToken } = given
    const events: GateEvent[] = []
    this.#eventsDuringCheck = events
    try {
      const principal = await this.#authenticate(given)
      if (call.isAborted) throw refuse('Operation.Abort')
      if (principal !== undefined && this.#accepts(principal, events))
        return this.#completeSignIn(principal, accessToken, events)
    } finally {
      // Only now: no event may be lost between the check and the new authority. A check that timed out may end while
      // the next one is already collecting events.
      if (this.#eventsDuringCheck === events) this.#eventsDuringCheck = undefined
    }
    this.#env.counters.signInsRejected++
    this.#env.onSignInRejected({ address: this.#identity.address, subject: this.#subject, provider })
    return { Result: this.#identity.profile.rejected }
  }

  /** Undefined unless the token is valid with this provider. */
  async #authenticate({ provider, accessToken, proof }: SignIn): Promise<Principal | undefined> {
    if (!isBearer(provider) && !isDpop(provider)) return undefined
    const principal = await this.#env.authenticate(accessToken)
    // RFC 9449 §7.1: a token that is bound to a key is valid with a proof only, and the reverse.
    if (principal === undefined || (principal.boundKey !== undefined) !== isDpop(provider)) return undefined
    if (principal.boundKey === undefined) return this.#isBound ? undefined : principal
    return (await this.#isProven(principal, accessToken, proof)) ? principal : undefined
  }

  async #isProven(principal: Principal, accessToken: string, proof: string | undefined): Promise<boolean> {
    const { address, connectionId: requestId } = this.#identity
    const use = { proof, accessToken, principal, address, requestId, nonce: this.nonce, ...UPGRADE }
    try {
      await this.#env.checkProof?.(use)
      return this.#env.checkProof !== undefined
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return false
      throw error
    }
  }

  #accepts(principal: Principal, events: readonly GateEvent[]): boolean {
    if (!mayStream(principal, this.#env.clock())) return false
    if (this.#subject !== undefined && this.#subject !== principal.subject) return false
    return survives(principal, events)
  }

  #completeSignIn(principal: Principal, accessToken: string, events: readonly GateEvent[]): AcceptedSignIn {
    this.signInAs(principal, accessToken)
    for (const event of events) {
      const effect = findEffect(event, principal)
      if (effect.kind === 'rights-changed') this.#changeRights(effect.rights)
    }
    return new AcceptedSignIn(this.#describe(this.#env.restoreToken(accessToken)))
  }

  /** Replaces the authority in one step. Throws `Limited` when the user has too many connections. */
  signInAs(principal: Principal, accessToken: string): void {
    const { sessions, restoreToken, clock, settings, counters } = this.#env
    sessions.admit(this.#member, principal)
    this.#subject = principal.subject
    if (principal.boundKey !== undefined) {
      this.#isBound = true
      this.#nonce = newNonce()
    }
    const shown = this.#identity.profile.alwaysShowsToken ? restoreToken(accessToken) : undefined
    this.#authority = activate(principal, shown, clock() + settings.streamExpiryWarning)
    counters.signInsAccepted++
  }

  onEvent(event: GateEvent): AuthEffect {
    if (event.kind === 'stream-kick' && event.connectionId === this.#identity.connectionId) return KICKED
    this.#eventsDuringCheck?.push(event)
    if (this.#authority.state === 'anonymous') return NO_EFFECT
    const effect = findEffect(event, this.#authority.principal)
    if (event.kind === 'user-changed' && event.renamed && event.subject === this.#subject) return RENAMED
    switch (effect.kind) {
      case 'none':
        return NO_EFFECT
      case 'ended':
        return SESSION_ENDED
      case 'revoked':
        return this.#revoke()
      case 'rights-changed':
        return this.#changeRights(effect.rights)
    }
  }

  /** Reads the name of the user again. */
  async readUsername(): Promise<AuthEffect> {
    const username = this.#subject === undefined ? undefined : await this.#env.findUsername(this.#subject)
    const authority = this.#authority
    if (username === undefined || authority.state === 'anonymous') return NO_EFFECT
    this.#authority = { ...authority, principal: { ...authority.principal, username } }
    return CLAIMS_CHANGED
  }

  /** Whether `tick` has something to do. */
  isDue(now: Moment): boolean {
    const authority = this.#authority
    if (authority.state !== 'active') return authority.closeAt <= now.monotonic
    const { expiresAt, warned } = authority
    return (warned ? expiresAt : expiresAt - this.#env.settings.streamExpiryWarning) <= now.time
  }

  tick(now: Moment): AuthEffect {
    if (!this.isDue(now)) return NO_EFFECT
    const authority = this.#authority
    switch (authority.state) {
      case 'anonymous':
        return NOT_AUTHENTICATED
      case 'expired':
      case 'revoked':
        return NOT_RENEWED
      case 'active': {
        const { principal, expiresAt } = authority
        const late = now.time - expiresAt
        const closeAt = now.monotonic + this.#env.settings.streamExpiryGrace - late
        this.#authority = late >= 0 ? { state: 'expired', principal, closeAt } : { ...authority, warned: true }
        return CHANGED
      }
    }
  }

  /** The connection is closed and no longer counts towards its user's sessions. */
  release(): void {
    if (this.#subject !== undefined) this.#env.sessions.release(this.#member, this.#subject)
  }

  #changeRights(rights: CurrentRights): AuthEffect {
    if (this.#authority.state !== 'active') return NO_EFFECT
    const before = this.#authority.principal
    this.#authority = withRights(this.#authority, rights)
    const { scopes, roles } = this.#authority.principal
    if (!isSameSet(before.scopes, scopes)) return CHANGED
    return isSameSet(new Set(before.roles), new Set(roles)) ? NO_EFFECT : CLAIMS_CHANGED
  }

  #revoke(): AuthEffect {
    const authority = this.#authority
    if (authority.state === 'anonymous' || authority.state === 'revoked') return NO_EFFECT
    const { monotonic, settings } = this.#env
    // A connection that already expired gets no second grace period.
    const closeAt = authority.state === 'expired' ? authority.closeAt : monotonic() + settings.streamExpiryGrace
    this.#authority = { state: 'revoked', principal: authority.principal, closeAt }
    return CHANGED
  }
}

/** The request that proofs on streams are for: that of the upgrade. No node accepts one again. */
export const UPGRADE = { method: 'GET', path: STREAM_PATH, isShared: true } as const

function newNonce(): string {
  return randomBytes(16).toString('base64url')
}

/** Whether the access token is issued for the platform and has not expired. */
export function mayStream(principal: Principal, now: number): boolean {
  return principal.audiences.includes(PLATFORM_AUDIENCE) && principal.expiresAt * 1000 > now
}

function isSameSet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every((scope) => others.has(scope))
}
