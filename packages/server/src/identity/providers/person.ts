/** Who an identity is here: a linked user, one that is linked or created now, or nobody. Names and e-mail addresses find nobody. */
import { readUsername } from '../../accounts/usernames.ts'
import { languageTag } from '../../lib/language-tags.ts'
import { isTimeZone } from '../../lib/time-zones.ts'
import type { Profile, User } from '../../store/accounts/user.ts'
import type { Identity } from '../../store/providers/identities.ts'
import { claimText } from './claims.ts'
import type { Proof } from './connector.ts'
import type { ProvidersEnv } from './env.ts'
import { badAnswer, providerFault } from './faults.ts'

export type Person =
  | { readonly kind: 'known'; readonly user: User; readonly identity: Identity }
  /** The user exists, and the identity is theirs from now on. */
  | { readonly kind: 'linked-now'; readonly user: User; readonly reason: 'scim' }
  | { readonly kind: 'invited'; readonly user: User; readonly token: string }
  | { readonly kind: 'new'; readonly username: string; readonly profile: Profile }
  | { readonly kind: 'unknown' }

export async function findPerson(proof: Proof, invitation: string | undefined, env: ProvidersEnv): Promise<Person> {
  const { provider, issuer, subject, claims } = proof
  const identity = await env.identities.find(issuer, subject)
  const invited = invitation === undefined ? undefined : await findInvited(invitation, proof, env)
  if (identity !== undefined) {
    const user = await env.users.findById(identity.userId)
    if (user === undefined) throw providerFault('identity.not_linked', 'The user of the identity is gone')
    if (invited !== undefined && invited.id !== user.id)
      throw providerFault('identity.linked_elsewhere', 'An invitation is for another user than that of the identity')
    return { kind: 'known', user: enabled(user), identity }
  }
  if (invited !== undefined && invitation !== undefined) return { kind: 'invited', user: invited, token: invitation }
  const provisioned = await findProvisioned(proof, env)
  if (provisioned !== undefined) return { kind: 'linked-now', user: enabled(provisioned), reason: 'scim' }
  if (provider.provision !== 'create') return { kind: 'unknown' }
  return { kind: 'new', username: requireUsername(proof), profile: readProfile(claims, provider.trustEmail) }
}

function enabled(user: User): User {
  if (user.disabled) throw providerFault('identity.disabled', 'The user is disabled')
  return user
}

/** A set-up link is used up only when everything else is right. */
async function findInvited(token: string, { provider }: Proof, env: ProvidersEnv): Promise<User> {
  const link = await env.setUpLinks.find(token)
  const user = link?.userId === undefined ? undefined : await env.users.findById(link.userId)
  const isOpen = link?.state === 'open' && link.kind === 'invitation' && provider.provision !== 'never'
  if (!isOpen || user === undefined) throw providerFault('identity.not_linked', 'The set-up link cannot be used')
  return enabled(user)
}

/** The user whose `externalId` the SCIM client has set to the value of the claim; never an administrator or a break-glass user. */
async function findProvisioned({ provider, claims }: Proof, env: ProvidersEnv): Promise<User | undefined> {
  const value = provider.link === undefined ? undefined : claimText(claims, provider.link.claim)
  if (provider.link === undefined || value === undefined) return undefined
  const user = await env.scim.userByExternalId(provider.link.scim, value)
  // A client that may write externalId must not become an administrator by it.
  return user === undefined || user.breakGlass || user.rights.has('Identity/Admin') ? undefined : user
}

function requireUsername({ provider, claims }: Proof): string {
  const username = readUsername(claimText(claims, provider.usernameClaim))
  if (username === undefined) throw badAnswer(`The claim ${provider.usernameClaim} is no username`)
  return username
}

const LONGEST_TEXT = 200

/** What the provider says about a new user. */
function readProfile(claims: Proof['claims'], trustEmail: boolean): Profile {
  const text = (name: string, isFit: (value: string) => boolean = () => true) => {
    const value = claimText(claims, name)?.trim()
    return value !== undefined && value !== '' && value.length <= LONGEST_TEXT && isFit(value) ? { [name]: value } : {}
  }
  const email = text('email', (value) => /^[^\s@]+@[^\s@]+$/.test(value))
  return {
    ...text('name'),
    ...text('given_name'),
    ...text('family_name'),
    ...text('locale', (value) => languageTag(value) !== undefined),
    ...text('zoneinfo', isTimeZone),
    ...email,
    ...('email' in email && { email_verified: trustEmail && claims.email_verified === true }),
  }
}

/** What the person recognises the identity by. */
export function identityLabel({ claims, subject }: Proof): string {
  return claimText(claims, 'email') ?? claimText(claims, 'preferred_username') ?? claimText(claims, 'name') ?? subject
}
