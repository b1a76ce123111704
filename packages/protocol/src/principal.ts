/** The authenticated caller, from the claims of a verified access token. */
export interface Principal {
  /** The id of the user or, for a token without a user, of the client. */
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId: string
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
  readonly audiences: readonly string[]
  readonly tokenId: string
  /** The key that signed the token. */
  readonly keyId?: string
  /** The browser session and the grant under which the token was issued; it is revoked with them. */
  readonly sessionId: string | undefined
  readonly grantId: string | undefined
  readonly username: string | undefined
  readonly displayName: string | undefined
  /** Seconds since the epoch; `issuedAt` has milliseconds, to compare it with the time of a revocation. */
  readonly issuedAt: number
  readonly expiresAt: number
  readonly authTime: number | undefined
  /** `2`: the user signed in with two factors. */
  readonly acr?: string
  /** The thumbprint of the key that the token is bound to (`cnf.jkt`, RFC 9449 §6.1): each use comes with a proof of that key. */
  readonly boundKey?: string
  /** Who acts for the subject; only in tokens from a token exchange. */
  readonly actor?: Actor
  /** The tokens from which this one came by token exchange, the latest first: what ends one of them ends this one. */
  readonly ancestors?: readonly AncestorToken[]
}

/** RFC 8693 §4.1: the client that acts now, and inside it those that acted before. */
export interface Actor {
  readonly sub: string
  readonly act?: Actor
}

/** Subject, session and grant are those of the token that came from it. */
export type AncestorToken = Pick<Principal, 'tokenId' | 'clientId' | 'issuedAt'> & { readonly keyId: string }

/**
 * Authentication of all three services: a raw access token in, a Principal out.
 * Undefined if the token is invalid for any reason (forged, expired, revoked, of another issuer).
 * A recently verified token is answered synchronously.
 */
export type Authenticate = (accessToken: string) => Principal | undefined | Promise<Principal | undefined>
