/** Who is calling: what a checked access token says, in our own words. */
export interface Principal {
  /** The user's or, for a token without a user, the client's identifier. */
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId: string
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
  readonly audiences: readonly string[]
  readonly tokenId: string
  /** The key that signed the token. */
  readonly keyId?: string
  /** The browser session or grant family that the token descends from; ending it ends the token. */
  readonly sessionId: string | undefined
  readonly grantId: string | undefined
  readonly username: string | undefined
  readonly displayName: string | undefined
  /** Seconds since the epoch; the first to the millisecond, so that it can be held against the time of a cut. */
  readonly issuedAt: number
  readonly expiresAt: number
  readonly authTime: number | undefined
}

/**
 * The one door check of all three services: a raw access token in, a Principal out.
 * Undefined means refused, whatever the reason (forged, expired, revoked, of another issuer).
 * A token that was checked lately is known at once, without a promise.
 */
export type Authenticate = (accessToken: string) => Principal | undefined | Promise<Principal | undefined>
