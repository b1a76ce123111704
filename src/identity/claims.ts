/** Which claims about a person each scope opens (OpenID Connect Core §5.4), and what they say. */
import { seconds } from '../protocol/clock.ts'
import type { ClaimWish } from '../store/grants.ts'
import type { User } from '../store/users.ts'

const CLAIMS_OF_SCOPE: Readonly<Record<string, readonly string[]>> = {
  profile: [
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
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  roles: ['role'],
}

const SCOPE_OF_CLAIM: ReadonlyMap<string, string> = new Map(
  Object.entries(CLAIMS_OF_SCOPE).flatMap(([scope, names]) => names.map((name) => [name, scope] as const)),
)

/** The scope that opens a claim about a person; undefined for claims that are about something else, or unknown. */
export function scopeOfClaim(name: string): string | undefined {
  return SCOPE_OF_CLAIM.get(name)
}

/** What the scopes open and the `claims` parameter asks for; what is not known is left out rather than empty. */
export function claimsAbout(
  user: User,
  scopes: Iterable<string>,
  wishes: Readonly<Record<string, ClaimWish>> = {},
): Record<string, unknown> {
  const claims: Record<string, unknown> = {}
  for (const scope of scopes) {
    for (const name of CLAIMS_OF_SCOPE[scope] ?? []) tell(name)
  }
  for (const name of Object.keys(wishes)) if (SCOPE_OF_CLAIM.has(name)) tell(name)
  return claims

  function tell(name: string): void {
    const value = claimOf(user, name)
    if (value !== undefined && value !== null && value !== '') claims[name] = value
  }
}

function claimOf(user: User, name: string): unknown {
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

/** How the product addresses the person. */
export function displayNameOf(user: Pick<User, 'profile' | 'username'>): string {
  const { name, nickname } = user.profile
  if (typeof name === 'string' && name !== '') return name
  return typeof nickname === 'string' && nickname !== '' ? nickname : user.username
}
