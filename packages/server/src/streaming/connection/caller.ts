/** The connection as controllers see it: its authentication and the timeouts it has configured. */

import type { Profile } from '../codec/profile.ts'
import type { AuthenticationResult, Call, Caller, SignIn, SignInResult, Timeouts } from '../topics/controller.ts'
import type { ConnectionAuth } from './authentication.ts'
import type { ConnectionIdentity } from './types.ts'

const DEFAULT_TIMEOUTS: Timeouts = { action: 35_000, subscription: 35_000 }

export class ConnectionCaller implements Caller {
  readonly identity: ConnectionIdentity
  readonly auth: ConnectionAuth
  #timeouts: Map<string, Timeouts> | undefined

  constructor(identity: ConnectionIdentity, auth: ConnectionAuth) {
    this.identity = identity
    this.auth = auth
  }

  get connectionId(): string {
    return this.identity.connectionId
  }

  get address(): string {
    return this.identity.address
  }

  get traceParent(): string | undefined {
    return this.identity.traceParent
  }

  get profile(): Profile {
    return this.identity.profile
  }

  identify(): AuthenticationResult {
    return this.auth.describe()
  }

  get nonce(): string {
    return this.auth.nonce
  }

  signIn(given: SignIn, call: Pick<Call, 'isAborted'>): Promise<SignInResult> {
    return this.auth.signIn(given, call)
  }

  timeouts(controller: string): Timeouts {
    return this.#timeouts?.get(controller) ?? DEFAULT_TIMEOUTS
  }

  setTimeouts(controller: string, timeouts: Timeouts): void {
    this.#timeouts ??= new Map()
    this.#timeouts.set(controller, timeouts)
  }
}
