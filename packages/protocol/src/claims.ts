/** The names of claims that tokens and replies of this server have, or that a standard gives a meaning which they must not lose. */

const OF_TOKENS = [
  ...[
    'iss',
    'sub',
    'aud',
    'exp',
    'nbf',
    'iat',
    'jti',
    'typ',
    'nonce',
    'azp',
    'sid',
    'cnf',
    'act',
    'may_act',
    'events',
    'toe',
    'txn',
  ],
  ...['auth_time', 'acr', 'amr', 'at_hash', 'c_hash', 's_hash', 'client_id', 'scope', 'sub_jwk', 'sub_id', 'ancestors'],
  ...[
    'active',
    'token_type',
    'username',
    'authorization_details',
    '_claim_names',
    '_claim_sources',
    'claims',
    'request',
  ],
  ...['role', 'roles', 'groups', 'entitlements', 'attributes'],
] as const

/** OpenID Connect Core §5.1. */
const OF_USERS = [
  ...[
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
  ],
  ...['email', 'email_verified', 'gender', 'birthdate', 'zoneinfo', 'locale', 'phone_number', 'phone_number_verified'],
  ...['address', 'updated_at'],
] as const

const RESERVED: ReadonlySet<string> = new Set([...OF_TOKENS, ...OF_USERS])

const USER_CLAIMS: ReadonlySet<string> = new Set(['role', ...OF_USERS])

/** Whether it is a claim about users that every installation knows. */
export function isUserClaim(name: string): boolean {
  return USER_CLAIMS.has(name)
}

/** Whether an operator cannot declare a claim of this name; upper and lower case are the same. */
export function isReservedClaim(name: string): boolean {
  return RESERVED.has(name.toLowerCase())
}
