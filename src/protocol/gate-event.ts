/** What one part changes and every part, on every node, must feel at once. */

/** Times are milliseconds since the epoch. An event is kept for catch-up until nobody can need it any more. */
export type GateEvent =
  /** One access token was taken back. */
  | { readonly kind: 'token-revoked'; readonly tokenId: string; readonly expiresAt: number }
  /** A grant and every token that descends from it (a family of refresh tokens, a reused code). */
  | { readonly kind: 'grant-revoked'; readonly grantId: string; readonly expiresAt: number }
  /** A browser session ended: signed out, expired, ended by its user or an operator. */
  | { readonly kind: 'session-ended'; readonly sessionId: string; readonly expiresAt: number }
  /** Every token of a user issued until `at`: disabled, deleted, password changed. */
  | { readonly kind: 'subject-cut'; readonly subject: string; readonly at: number; readonly expiresAt: number }
  /** Every token of a client issued until `at`: disabled, deleted. */
  | { readonly kind: 'client-cut'; readonly clientId: string; readonly at: number; readonly expiresAt: number }
  /** The rights and roles of a user became these: what was issued until `at` keeps only what is still in the rights, and speaks in the new roles. */
  | {
      readonly kind: 'rights-changed'
      readonly subject: string
      readonly scopes: readonly string[]
      readonly roles: readonly string[]
      readonly at: number
      readonly expiresAt: number
    }
  /** What a client may ask for became this: what was issued until `at` keeps only what is in it; with nothing in it, nothing. */
  | {
      readonly kind: 'client-scopes-changed'
      readonly clientId: string
      readonly scopes: readonly string[]
      readonly at: number
      readonly expiresAt: number
    }
  /** An operator closes one live streaming session, or all of a user's. */
  | { readonly kind: 'stream-kick'; readonly connectionId?: string; readonly subject?: string }
  /** A key was made or retired; nothing that a withdrawn one signed counts any more. */
  | { readonly kind: 'keys-changed'; readonly withdrawn?: string }
  /** The profile or the name of a user became another. */
  | { readonly kind: 'user-changed'; readonly subject: string }
  | { readonly kind: 'clients-changed'; readonly clientId?: string }
  | { readonly kind: 'catalogue-changed' }
  /** One node asks all the others something. */
  | {
      readonly kind: 'nodes-asked'
      readonly question: string
      readonly topic: string
      readonly words: Readonly<Record<string, string>>
      readonly expiresAt: number
    }
