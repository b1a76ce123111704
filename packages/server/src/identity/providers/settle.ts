/** Makes a proven person a user who can sign in: creates or links the user where the definition says so, and applies its rules. */
import type { AttributeValue, RoleSource, User } from '../../store/accounts/user.ts'
import { UsernameTaken } from '../../store/accounts/users.ts'
import { parseAttributeValues } from '../../store/attributes/attribute-values.ts'
import type { AttributeDefinition } from '../../store/attributes/attributes.ts'
import { change, type Effects } from '../../store/authorizations/change.ts'
import type { Stores } from '../../store/stores.ts'
import type { BrowserContext } from '../browser/browser-context.ts'
import { readOrigin } from '../browser/sign-in/known-browser.ts'
import { applyRules } from './claims.ts'
import type { ProvidersEnv } from './env.ts'
import { providerFault } from './faults.ts'
import { findPerson, labelOf, type Person } from './person.ts'
import type { Proof } from './proof.ts'

export type SettledPerson = Exclude<Person, { kind: 'unknown' }>

export function sourceOf(provider: string): RoleSource {
  return `provider:${provider}`
}

/** The user as the rules have made them, in one change: an operator or SCIM may be changing the same user. */
export async function settle(
  context: BrowserContext,
  proof: Proof,
  person: SettledPerson,
  env: ProvidersEnv,
): Promise<User> {
  try {
    const userId = await change(env, async (stores, effects) => {
      const id = await userOf(proof, person, stores)
      if (person.kind === 'linked-now' || person.kind === 'invited')
        await env.mail?.notify(stores, {
          ...{ kind: 'identity-linked', userId: id, subject: proof.provider.name },
          ...readOrigin(context),
        })
      await follow(proof, id, stores, effects)
      return id
    })
    record(context, proof, person, userId, env)
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

async function userOf(proof: Proof, person: SettledPerson, stores: Stores): Promise<string> {
  switch (person.kind) {
    case 'known':
      await stores.identities.markUsed(person.identity.id)
      return person.user.id
    case 'linked-now':
      return linked(person.user.id)
    case 'invited':
      if ((await stores.setUpLinks.spend(person.token)) === undefined)
        throw providerFault('identity.not_linked', 'The set-up link was used meanwhile')
      return linked(person.user.id)
    case 'new': {
      const { username, profile } = person
      return linked(await stores.users.create({ username, profile, roleSource: sourceOf(proof.provider.id) }))
    }
  }

  async function linked(userId: string): Promise<string> {
    const { issuer, subject } = proof.idToken
    const added = await stores.identities.add({
      ...{ issuer, subject, userId },
      provider: proof.provider.id,
      label: labelOf(proof),
    })
    if (added === undefined) throw new TakenMeanwhile('The identity was linked meanwhile')
    return userId
  }
}

/** Applies the rules at every sign-in. They do not change users for emergencies. */
async function follow(
  { provider, claims }: Proof,
  userId: string,
  stores: Stores,
  { publish, revocations }: Effects,
): Promise<void> {
  const before = await stores.users.findById(userId)
  if (before === undefined || before.breakGlass) return
  const { roles, attributes } = applyRules(provider, claims)
  const existing = new Set((await stores.roles.list()).map(({ name }) => name))
  const hasOtherRoles = await stores.users.setRoles(
    userId,
    roles.filter((role) => existing.has(role)),
    sourceOf(provider.id),
  )
  const changedAttributes = await setAttributes(before, attributes, stores)
  const isVerified = await believeEmail(before, { provider, claims }, stores)
  if (changedAttributes.length > 0 || isVerified || hasOtherRoles)
    await publish({
      kind: 'user-changed',
      subject: userId,
      ...(changedAttributes.length > 0 && { attributes: changedAttributes }),
    })
  const after = hasOtherRoles ? await stores.users.findById(userId) : undefined
  if (after !== undefined) await revocations.limitUserRights(after)
}

/** A claim that is absent now removes what it gave. Returns the names of the attributes that have changed. */
async function setAttributes(
  { id, attributes: held }: User,
  given: ReadonlyMap<string, readonly unknown[]>,
  { users, attributes: definitions }: Stores,
): Promise<string[]> {
  if (given.size === 0) return []
  const known = new Map((await definitions.list()).map((definition) => [definition.name, definition]))
  const next = new Map(Object.entries(held))
  const changed: string[] = []
  for (const [name, values] of given) {
    const read = readValues(known.get(name), values)
    if (JSON.stringify(read) === JSON.stringify(next.get(name) ?? [])) continue
    changed.push(name)
    if (read.length === 0) next.delete(name)
    else next.set(name, read)
  }
  if (changed.length > 0) await users.update(id, { attributes: Object.fromEntries(next) })
  return changed
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
async function believeEmail(
  { id, profile }: User,
  { provider, claims }: Pick<Proof, 'provider' | 'claims'>,
  { users }: Stores,
): Promise<boolean> {
  const isSame = typeof profile.email === 'string' && profile.email === claims.email
  if (!provider.trustEmail || claims.email_verified !== true || !isSame || profile.email_verified === true) return false
  await users.update(id, { profile: { ...profile, email_verified: true } })
  return true
}

function record(
  { http }: BrowserContext,
  { provider }: Proof,
  person: SettledPerson,
  userId: string,
  { audit }: ProvidersEnv,
): void {
  const facts = { actor: userId, target: userId, address: http.address, requestId: http.id }
  if (person.kind === 'known') return
  if (person.kind === 'new')
    audit.record({ event: 'user.created', ...facts, details: { source: sourceOf(provider.id) } })
  const reason = person.kind === 'new' ? 'created' : person.kind === 'invited' ? 'invitation' : person.reason
  audit.record({ event: 'identity.linked', ...facts, details: { provider: provider.id, reason } })
}
