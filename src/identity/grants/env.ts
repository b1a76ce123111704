/** What the grants work with, what each is asked, and what it answers. */
import type { Denylist } from '../../events/denylist.ts'
import type { Parameters } from '../../http/form.ts'
import type { Audit } from '../../protocol/audit-events.ts'
import type { Clock } from '../../protocol/clock.ts'
import type { Client, GrantType } from '../../store/client-metadata.ts'
import type { Grant } from '../../store/grants.ts'
import type { Stores } from '../../store/stores.ts'
import type { TakeBack } from '../../store/take-back.ts'
import type { User } from '../../store/users.ts'
import type { Caller } from '../client-auth.ts'
import type { CheckPassword } from '../password-check.ts'

export interface GrantEnv {
  readonly stores: Pick<Stores, 'users' | 'grants' | 'codes' | 'refreshTokens' | 'deviceCodes' | 'consents'>
  readonly takeBack: TakeBack
  readonly denylist: Denylist
  readonly checkPassword: CheckPassword
  readonly audit: Audit
  readonly clock: Clock
  readonly lifetimes: TokenLifetimes
}

export interface TokenLifetimes {
  readonly accessTokenMs: number
  /** The family's end, used or not. */
  readonly refreshMs: number
  readonly idleMs: number
  readonly graceMs: number
}

export interface GrantRequest {
  readonly form: Parameters
  readonly client: Client
  readonly caller: Caller
  /** Throws when the user has come too often; to be asked before what can be kept is spent. */
  readonly admit: (user: User) => void
}

/** What was proven and may now be issued. */
export interface Redeemed {
  readonly scopes: readonly string[]
  /** Absent when the client speaks for itself. */
  readonly speaker?: { readonly user: User; readonly grant: Grant }
  /** May still be on its way to the disk: the reply waits for it, the signing of the other tokens need not. */
  readonly refreshToken?: string | Promise<string> | undefined
  /** When the person agreed, if that was before this request: who was cut off since may have been before there was a grant to revoke. */
  readonly asOf?: number | undefined
  /** Present when an ID token is due. */
  readonly idToken?: { readonly nonce?: string | undefined }
}

export type Redeem = (request: GrantRequest, env: GrantEnv) => Promise<Redeemed>

/** The grants that the token endpoint knows; `implicit` is none of its own. */
export type TokenGrantType = Exclude<GrantType, 'implicit'>
