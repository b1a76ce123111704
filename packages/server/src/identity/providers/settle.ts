/** Makes a proven person a user who can sign in: creates or links the user where the definition says so, and applies its rules. */
import { isDeepStrictEqual } from 'node:util'
import type { AccountsInside } from '../../accounts/accounts.ts'
import {
  type AttributeValue,
  type AttributeValues,
  type Profile,
  rolesBySource,
  type User,
} from '../../store/accounts/user.ts'
import { UsernameTaken } from '../../store/accounts/users.ts'
import { parseAttributeValues } from '../../store/attributes/attribute-values.ts'
import type { AttributeDefinition } from '../../store/attributes/attributes.ts'
import type { Stores } from '../../store/stores.ts'
import { personAsAuthor } from '../browser/account-author.ts'
import type { BrowserContext } from '../browser/browser-context.ts'
import { applyRules } from './claims.ts'
import type { Proof } from './connector.ts'
import type { ProvidersEnv } from './env.ts'
import { providerFault } from './faults.ts'
import { findPerson, identityLabel, type Person } from './person.ts'

export type SettledPerson = Exclude<Person, { kind: 'unknown' }>

/** The user as the rules have made them, in one change: an operator or SCIM may be changing the same user. */
export async function settle(
  context: BrowserContext,
  proof: Proof,
  person: SettledPerson,
  env: ProvidersEnv,
): Promise<User> {
  const actor = person.kind === 'new' ? undefined : person.user.id
  const author = personAsAuthor(context, { source: `provider:${proof.provider.id}`, actor })
  try {
    const userId = await env.accounts.change(author, async (accounts, stores) => {
      if (person.kind === 'new') return create(proof, person, accounts, stores)
      await recognise(proof, person, accounts)
      await follow(proof, person.user.id, accounts, stores)
      return person.user.id
    })
    const user = await env.users.findById(userId)
    if (user === undefined || user.disabled) throw providerFault('identity.disabled', 'The user was disabled meanwhile')
    return user
  } catch (error) {
    // Two first sign-ins of the same person at once: the other one has made the user.
    if (!(error instanceof UsernameTaken || error instanceof TakenMeanwhile)) throw error
    const again = await findPerson(proof, undefined, env)
    if (again.kind === 'known' && (person.kind === 'new' || again.user.id === person.user.id))
      return settle(context, proof, again, env)
    if (again.kind === 'known') throw providerFault('identity.linked_elsewhere', 'The identity was linked meanwhile')
    throw providerFault('identity.name_taken', error.message)
  }
}

class TakenMeanwhile extends Error {}

async function create(
  proof: Proof,
  { username, profile }: Extract<SettledPerson, { kind: 'new' }>,
  accounts: AccountsInside,
  stores: Stores,
): Promise<string> {
  const { roles, attributes } = await outcomeFor(proof, {}, stores)
  const userId = await accounts.createUser({ username, profile, roles, attributes })
  await link(proof, userId, 'created', accounts)
  return userId
}

async function recognise(
  proof: Proof,
  person: Exclude<SettledPerson, { kind: 'new' }>,
  accounts: AccountsInside,
): Promise<void> {
  switch (person.kind) {
    case 'known':
      return accounts.markIdentityUsed(person.identity.id)
    case 'linked-now':
      return link(proof, person.user.id, person.reason, accounts)
    case 'invited':
      if ((await accounts.spendLink(person.token)) === undefined)
        throw providerFault('identity.not_linked', 'The set-up link was used meanwhile')
      return link(proof, person.user.id, 'invitation', accounts)
  }
}

async function link(
  proof: Proof,
  userId: string,
  reason: 'created' | 'scim' | 'invitation',
  accounts: AccountsInside,
): Promise<void> {
  const { provider, issuer, subject } = proof
  const identity = { issuer, subject, userId, provider: provider.id, label: identityLabel(proof) }
  if ((await accounts.linkIdentity(identity, reason)) === undefined)
    throw new TakenMeanwhile('The identity was linked meanwhile')
}

/** The rules, at every sign-in. Users for emergencies are nobody else's to change. */
async function follow(proof: Proof, userId: string, accounts: AccountsInside, stores: Stores): Promise<void> {
  const user = await stores.users.findById(userId)
  if (user === undefined || user.breakGlass) return
  const { roles, attributes } = await outcomeFor(proof, user.attributes, stores)
  const profile = believeEmail(user.profile, proof)
  const isOther = (one: unknown, other: unknown) => !isDeepStrictEqual(one, other)
  const changed = [
    ...(isOther(roles, rolesBySource(user, `provider:${proof.provider.id}`)) ? ['roles'] : []),
    ...(isOther(attributes, user.attributes) ? ['attributes'] : []),
    ...(isOther(profile, user.profile) ? ['email_verified'] : []),
  ]
  await accounts.changeUser(userId, { roles, attributes, profile }, changed)
}

/** What the rules give, of the roles that exist and of values that the attributes can have. A claim that is absent now removes what it gave. */
async function outcomeFor({ provider, claims }: Proof, held: AttributeValues, stores: Stores) {
  const { roles, attributes } = applyRules(provider, claims)
  const existing = new Set((await stores.roles.list()).map(({ name }) => name))
  const given = roles.filter((role) => existing.has(role)).sort()
  if (attributes.size === 0) return { roles: given, attributes: held }
  const definitions = new Map((await stores.attributes.list()).map((definition) => [definition.name, definition]))
  const next = new Map(Object.entries(held))
  for (const [name, values] of attributes) {
    const read = readValues(definitions.get(name), values)
    if (read.length === 0) next.delete(name)
    else next.set(name, read)
  }
  return { roles: given, attributes: Object.fromEntries(next) }
}

/** Values that the attribute cannot have are none, like those of an attribute that was removed. */
export function readValues(
  definition: AttributeDefinition | undefined,
  values: readonly unknown[],
): readonly AttributeValue[] {
  const parsed = definition === undefined ? undefined : parseAttributeValues(definition, values)
  return parsed !== undefined && 'values' in parsed ? parsed.values : []
}

/** A trusted provider verifies the address that the user has, and no other. */
function believeEmail(profile: Profile, { provider, claims }: Pick<Proof, 'provider' | 'claims'>): Profile {
  const isSame = typeof profile.email === 'string' && profile.email === claims.email
  return provider.trustEmail && claims.email_verified === true && isSame
    ? { ...profile, email_verified: true }
    : profile
}
