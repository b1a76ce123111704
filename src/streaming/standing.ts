/** The authority of one connection through time: signed in, renewed, warned, lapsed, revoked, narrowed, ended. */
import type { GateEvent } from '../events/bus.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { PLATFORM_AUDIENCE } from '../protocol/scopes.ts'
import { type Authority, describe, effectOf, hold, type Limits, narrowed, outlives } from './authority.ts'
import type { AuthenticationResult } from './controller.ts'
import type { StreamCounters } from './counters.ts'
import type { Profile } from './profile.ts'
import type { StreamSettings } from './settings.ts'

export interface StandingEnv {
  readonly clock: Clock
  readonly settings: StreamSettings
  readonly authenticate: Authenticate
  readonly counters: StreamCounters
  /** What the client may give to AuthToken later, if it may have such a token. */
  readonly restoreToken: (principal: Principal, accessToken: string) => string | undefined
}

/** The connection whose standing this is. */
export interface Bearer {
  readonly profile: Profile
  /** Throws when the user may not have this connection too. */
  admit(principal: Principal): void
  authorityChanged(): void
  sessionEnded(reason: string): void
  ranOutOfTime(reason: string): void
}

export class Standing {
  readonly #env: StandingEnv
  readonly #bearer: Bearer
  #authority: Authority
  /** The user of this connection: once known, it stays the only one. */
  #subject: string | undefined
  /** Events that arrived while a token was being checked, which the check may have missed. */
  #felt: GateEvent[] | undefined

  constructor(bearer: Bearer, env: StandingEnv) {
    this.#bearer = bearer
    this.#env = env
    this.#authority = { state: 'none', until: env.clock() + env.settings.streamAuthenticationDeadline }
  }

  get authority(): Authority {
    return this.#authority
  }

  get subject(): string | undefined {
    return this.#subject
  }

  describe(): AuthenticationResult {
    return describe(this.#authority, this.#bearer.profile, this.#env.settings.streamVendor, this.#env.clock())
  }

  /** Undefined when refused; the authority before stays in force then. */
  async signIn(provider: string, accessToken: string, signal: AbortSignal): Promise<AuthenticationResult | undefined> {
    const felt: GateEvent[] = []
    this.#felt = felt
    try {
      const principal = isBearer(provider) ? await this.#env.authenticate(accessToken) : undefined
      signal.throwIfAborted()
      if (principal !== undefined && this.#mayBecome(principal, felt)) return this.#takeOn(principal, accessToken, felt)
      this.#env.counters.signInsRejected++
      return undefined
    } finally {
      // Not sooner: no event may fall between the check and the authority that it gives. A check that took too long may
      // end while the next one already listens.
      if (this.#felt === felt) this.#felt = undefined
    }
  }

  #takeOn(principal: Principal, accessToken: string, felt: readonly GateEvent[]): AuthenticationResult {
    this.begin(principal, accessToken)
    for (const event of felt) {
      const effect = effectOf(event, principal)
      if (effect.kind === 'rights') this.#narrow(effect.limits)
    }
    const restoreToken = this.#env.restoreToken(principal, accessToken)
    return { ...this.describe(), ...(restoreToken === undefined ? {} : { AccessToken: restoreToken }) }
  }

  /** One step: nobody ever sees half of the old authority and half of the new. */
  begin(principal: Principal, accessToken: string): void {
    this.#bearer.admit(principal)
    this.#subject = principal.subject
    const { restoreToken, clock, settings, counters } = this.#env
    const kept = this.#bearer.profile.alwaysShowsToken ? restoreToken(principal, accessToken) : undefined
    const held = hold(principal, kept)
    // A life shorter than the warning needs none: the reply shows its end.
    this.#authority = { ...held, warned: held.expiresAt - clock() <= settings.streamExpiryWarning }
    counters.signInsAccepted++
  }

  feel(event: GateEvent): void {
    this.#felt?.push(event)
    if (this.#authority.state === 'none') return
    const effect = effectOf(event, this.#authority.principal)
    switch (effect.kind) {
      case 'none':
        break
      case 'ended':
        this.#bearer.sessionEnded('the session has ended')
        break
      case 'revoked':
        this.#revoke()
        break
      case 'rights':
        if (this.#narrow(effect.limits)) this.#bearer.authorityChanged()
        break
    }
  }

  /** When time next matters to the authority. */
  due(): number {
    const authority = this.#authority
    if (authority.state !== 'held') return authority.until
    return authority.warned ? authority.expiresAt : authority.expiresAt - this.#env.settings.streamExpiryWarning
  }

  tick(now: number): void {
    if (this.due() > now) return
    const authority = this.#authority
    switch (authority.state) {
      case 'none':
        this.#bearer.ranOutOfTime('not authenticated in time')
        break
      case 'lapsed':
      case 'revoked':
        this.#bearer.ranOutOfTime('not authenticated again in time')
        break
      case 'held': {
        const { principal, expiresAt } = authority
        const until = expiresAt + this.#env.settings.streamExpiryGrace
        this.#authority = expiresAt <= now ? { state: 'lapsed', principal, until } : { ...authority, warned: true }
        this.#bearer.authorityChanged()
        break
      }
    }
  }

  #mayBecome(principal: Principal, felt: readonly GateEvent[]): boolean {
    if (!mayStream(principal, this.#env.clock())) return false
    if (this.#subject !== undefined && this.#subject !== principal.subject) return false
    return outlives(principal, felt)
  }

  /** False when nothing has changed. */
  #narrow(limits: Limits): boolean {
    if (this.#authority.state !== 'held') return false
    const before = this.#authority.principal.scopes
    this.#authority = narrowed(this.#authority, limits)
    return !isSameSet(before, this.#authority.principal.scopes)
  }

  #revoke(): void {
    const authority = this.#authority
    if (authority.state === 'none' || authority.state === 'revoked') return
    // Who has already lapsed gets no second grace.
    const until =
      authority.state === 'lapsed' ? authority.until : this.#env.clock() + this.#env.settings.streamExpiryGrace
    this.#authority = { state: 'revoked', principal: authority.principal, until }
    this.#bearer.authorityChanged()
  }
}

/** The scheme word of a header and the Provider of AuthToken are the same word. */
export function isBearer(provider: string): boolean {
  return provider.toLowerCase() === 'bearer'
}

/** An access token that is meant for the platform and still valid. */
export function mayStream(principal: Principal, now: number): boolean {
  return principal.audiences.includes(PLATFORM_AUDIENCE) && principal.expiresAt * 1000 > now
}

function isSameSet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every((scope) => others.has(scope))
}
