/**
 * The events of the bus. They are stored as JSON and read by other nodes, including nodes of the previous version, so
 * names must not change, and a listener ignores kinds that it does not know.
 */

/** Times are milliseconds since the epoch. An event is stored until no node needs it any longer. */
export type GateEvent =
  /** One access token is revoked. */
  | { readonly kind: 'token-revoked'; readonly tokenId: string; readonly expiresAt: number }
  /** A grant and every token issued under it are revoked. */
  | { readonly kind: 'grant-revoked'; readonly grantId: string; readonly expiresAt: number }
  /** A browser session ended: signed out, expired, ended by its user or an operator. */
  | { readonly kind: 'session-ended'; readonly sessionId: string; readonly expiresAt: number }
  /** Every token of a user issued up to `at` is revoked: user disabled or deleted, password changed. */
  | { readonly kind: 'subject-cut'; readonly subject: string; readonly at: number; readonly expiresAt: number }
  /** As `subject-cut`, for many users at once. */
  | {
      readonly kind: 'subjects-cut'
      readonly subjects: readonly string[]
      readonly at: number
      readonly expiresAt: number
    }
  /** Every token of a client issued up to `at` is revoked: client disabled or deleted. */
  | { readonly kind: 'client-cut'; readonly clientId: string; readonly at: number; readonly expiresAt: number }
  /** A user's rights and roles changed: tokens issued up to `at` lose the rights not listed here and get these roles. */
  | {
      readonly kind: 'rights-changed'
      readonly subject: string
      readonly scopes: readonly string[]
      readonly roles: readonly string[]
      readonly at: number
      readonly expiresAt: number
    }
  /**
   * Roles changed: the scopes of all roles as of then. Tokens of users issued up to `at` lose the rights that none of
   * their roles gives any more, and the roles that are not listed.
   */
  | {
      readonly kind: 'roles-changed'
      readonly roles: readonly { readonly name: string; readonly scopes: readonly string[] }[]
      readonly at: number
      readonly expiresAt: number
    }
  /** The scopes allowed to a client changed: tokens issued up to `at` lose the others; with none left they are revoked. */
  | {
      readonly kind: 'client-scopes-changed'
      readonly clientId: string
      readonly scopes: readonly string[]
      readonly at: number
      readonly expiresAt: number
    }
  /** An operator closes one streaming connection, or all of a user. */
  | { readonly kind: 'stream-kick'; readonly connectionId?: string; readonly subject?: string }
  /** An operator closes one connection of PostgreSQL's protocol, or all of a user. */
  | { readonly kind: 'wire-kick'; readonly connectionId?: string; readonly subject?: string }
  /** A signing key was created, retired or withdrawn; tokens signed with a withdrawn key are invalid. */
  | { readonly kind: 'keys-changed'; readonly withdrawn?: string }
  /** The profile, the username or attributes of a user changed. `attributes` names those with other values. */
  | {
      readonly kind: 'user-changed'
      readonly subject: string
      readonly renamed?: true
      readonly attributes?: readonly string[]
    }
  /** Without a `clientId`, of any number of clients. `attributes` names those of the client with other values. */
  | { readonly kind: 'clients-changed'; readonly clientId?: string; readonly attributes?: readonly string[] }
  /** An attribute was declared, changed or removed. */
  | { readonly kind: 'attributes-changed' }
  | { readonly kind: 'catalogue-changed' }
  /** A remote controller was declared, changed or removed. */
  | { readonly kind: 'controllers-changed' }
  /** A feed was declared, changed or removed. */
  | { readonly kind: 'feeds-changed' }
  /** A channel of alerts was declared, changed or removed. */
  | { readonly kind: 'channels-changed' }
  /** An alert was made, changed or removed, or is silenced; without a name, any number of them. */
  | { readonly kind: 'alerts-changed'; readonly alert?: string }
  /** Another provider was declared, changed or removed. */
  | { readonly kind: 'providers-changed' }
  /** Agents were allowed, changed or removed. */
  | { readonly kind: 'agents-changed' }
  /** A product, agreement or entitlement changed, or what somebody has accepted or begun. */
  | { readonly kind: 'licences-changed' }
  /** An API was declared, changed or removed. */
  | { readonly kind: 'apis-changed' }
  /** A call to all nodes (see events/cluster.ts): `question` is its id, `words` are its parameters. */
  | {
      readonly kind: 'nodes-asked'
      readonly question: string
      readonly topic: string
      readonly words: Readonly<Record<string, string>>
      readonly expiresAt: number
    }
