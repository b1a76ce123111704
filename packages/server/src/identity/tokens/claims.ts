/** The claims about a user: which scope grants each (OpenID Connect Core §5.4), their values, and `acr`. */
import { seconds } from 'gatehouse-protocol'
import type { User } from '../../store/accounts/user.ts'
import type { RequestedClaim } from '../../store/authorizations/grants.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'

const CLAIMS_OF_SCOPE: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'profile',
    [
      'name',
      'family_name',
      'given_name',
      'middle_name',
      'nickname',
      'preferred_username',
      'profile',
      'picture',
      'website',
      'gender',
      'birthdate',
      'zoneinfo',
      'locale',
      'updated_at',
    ],
  ],
  ['email', ['email', 'email_verified']],
  ['address', ['address']],
  ['phone', ['phone_number', 'phone_number_verified']],
  ['roles', ['role']],
])

const SCOPE_OF_CLAIM: ReadonlyMap<string, string> = new Map(
  [...CLAIMS_OF_SCOPE].flatMap(([scope, names]) => names.map((name) => [name, scope] as const)),
)

/** The scope that grants a claim about a user; undefined for any other claim. */
export function scopeOfClaim(name: string, attributes: AttributeClaims): string | undefined {
  return SCOPE_OF_CLAIM.get(name) ?? attributes.neededScope(name)
}

/** The claims that the scopes grant and the `claims` parameter requests; claims without a value are left out. */
export function claimsAbout(
  user: User,
  attributes: AttributeClaims,
  scopes: Iterable<string>,
  requested: Readonly<Record<string, RequestedClaim>> = {},
): Record<string, unknown> {
  const ofScopes = [...scopes].flatMap((scope) => [...(CLAIMS_OF_SCOPE.get(scope) ?? []), ...attributes.ofScope(scope)])
  return claimsNamed([...ofScopes, ...Object.keys(requested)], user, attributes)
}

/** These claims, as far as they are about a user and have a value. */
export function claimsNamed(names: Iterable<string>, user: User, attributes: AttributeClaims): Record<string, unknown> {
  const claims: Record<string, unknown> = {}
  for (const name of names) {
    const value = SCOPE_OF_CLAIM.has(name) ? claimValue(name, user) : attributes.claimValue(name, user.attributes)
    if (value !== undefined && value !== null && value !== '') claims[name] = value
  }
  return claims
}

/** For a token without a user: the claims of the client's attributes. */
export function clientClaimsNamed(
  names: Iterable<string>,
  client: Client,
  attributes: AttributeClaims,
): Record<string, unknown> {
  const claims = Array.from(names, (name) => [name, attributes.claimValue(name, client.attributes)] as const)
  return Object.fromEntries(claims.filter(([, value]) => value !== undefined))
}

function claimValue(name: string, user: User): unknown {
  switch (name) {
    case 'preferred_username':
      return user.profile[name] ?? user.username
    case 'updated_at':
      return seconds(user.updatedAt)
    case 'role':
      return user.roles
    default:
      return user.profile[name]
  }
}

/** The name that our pages and the admin API show. */
export function chooseDisplayName(user: Pick<User, 'profile' | 'username'>): string {
  const { name, nickname } = user.profile
  if (typeof name === 'string' && name !== '') return name
  return typeof nickname === 'string' && nickname !== '' ? nickname : user.username
}

/** In `amr`: another provider vouches for the person. */
export const FEDERATED = 'fed'

export const SINGLE_FACTOR = '1'
/** Two factors, or a passkey with user verification. */
export const MULTI_FACTOR = '2'

/** `acr` is derived from `amr`, so the two never contradict each other. RFC 8176 §2: `mfa` means that two factors were used. */
export function deriveAcr(amr: readonly string[]): string {
  return amr.includes('mfa') ? MULTI_FACTOR : SINGLE_FACTOR
}
