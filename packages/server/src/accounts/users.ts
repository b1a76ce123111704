/** Users: created, changed and deleted, with their roles by source. */
import { isDeepStrictEqual } from 'node:util'
import { rolesBySource, type User } from '../store/accounts/user.ts'
import { type NewUser, type UserChange, UsernameTaken } from '../store/accounts/users.ts'
import { changedAttributes } from '../store/attributes/attribute-values.ts'
import { AccountFault } from './account-fault.ts'
import { cutUser } from './cut.ts'
import { actorFor, givenRoleSource, type Inside, scimClient } from './inside.ts'
import { isUsername } from './usernames.ts'

export interface WantedUser extends UserChange {
  /** All that the author gives; those of other sources stay. */
  readonly roles?: readonly string[]
  /** What the SCIM client that makes the change calls the user; null removes it. */
  readonly externalId?: string | null
}

export interface AddedUser extends Omit<NewUser, 'roleSource'> {
  readonly externalId?: string | undefined
}

export interface ChangedUser {
  readonly before: User
  readonly after: User
}

export function changeUsers(inside: Inside) {
  const { stores, author, record } = inside
  const { source } = author
  const roleSource = givenRoleSource(author)
  return {
    /** Returns the id. Throws UsernameTaken. The author gives the roles. */
    async createUser({ externalId, ...user }: AddedUser): Promise<string> {
      requireUsername(user.username)
      await requireRoles(user.roles ?? [])
      const id = await stores.users.create({ ...user, roleSource })
      if (externalId !== undefined) await stores.scim.setExternalId(scimClient(author), 'User', id, externalId)
      record({ event: 'user.created', actor: actorFor(id, author), target: id, details: { source } })
      return id
    },

    /**
     * Undefined if there is no such user. Where nothing differs, nothing is written, published or recorded. `changed` names for the audit
     * log what does.
     */
    async changeUser(id: string, wanted: WantedUser, changed: readonly string[]): Promise<ChangedUser | undefined> {
      const before = await stores.users.findById(id)
      if (before === undefined) return undefined
      if (await isMet(before, wanted)) return { before, after: before }
      requireAuthority(before, wanted)
      const { roles, externalId, ...change } = wanted
      if (change.username !== undefined) await requireFreeName(change.username, before)
      await stores.users.update(id, change)
      if (externalId !== undefined)
        await stores.scim.setExternalId(scimClient(author), 'User', id, externalId ?? undefined)
      if (roles !== undefined) {
        const held = rolesBySource(before, roleSource)
        await requireRoles(roles.filter((role) => !held.includes(role)))
        await stores.users.setRoles(id, roles, roleSource)
      }
      return follow(before, changed)
    },

    async deleteUser(user: User): Promise<void> {
      requireAuthority(user, {})
      await stores.users.remove(user.id)
      await cutUser(user.id, 'user deleted', inside)
      if (user.breakGlass) inside.concernsEmergencies()
      record({ event: 'user.deleted', target: user.id, details: { source } })
    },

    /** The user has confirmed the address: by a link that was mailed to it. */
    async verifyAddress(userId: string, address: string, reason: string): Promise<void> {
      const before = await stores.users.findById(userId)
      if (before === undefined) return
      const { email, email_verified: isVerified } = before.profile
      if (email === address && isVerified === true) return
      await stores.users.update(userId, { profile: { ...before.profile, email: address, email_verified: true } })
      await follow(before, [])
      record({ event: 'address.verified', actor: actorFor(userId, author), details: { reason } })
    },

    /** From now on no role comes from this source. */
    async removeRolesFrom(userIds: readonly string[], from: typeof roleSource): Promise<void> {
      for (const id of userIds) {
        const before = await stores.users.findById(id)
        if (before === undefined || rolesBySource(before, from).length === 0) continue
        await stores.users.setRoles(id, [], from)
        await follow(before, ['roles'])
      }
    },
  }

  /** What follows from a change that is stored: without `changed` it is recorded otherwise. */
  async function follow(before: User, changed: readonly string[]): Promise<ChangedUser> {
    const after = await stores.users.findById(before.id)
    if (after === undefined) throw new Error('unreachable: the user was found in this transaction')
    await followAddress(before, after)
    await limitTokens(before, after)
    if (before.breakGlass) inside.concernsEmergencies()
    recordChange(before, after, changed)
    return { before, after }
  }

  /** Links to the old address are void; a mail to it says so. */
  async function followAddress({ id: userId, profile }: User, after: User): Promise<void> {
    const { email: to } = profile
    if (to === after.profile.email) return
    await stores.addressLinks.revokeForUser(userId)
    if (typeof to === 'string' && profile.email_verified === true)
      await inside.notify({ kind: 'address-changed', userId, to })
  }

  /** Revokes or limits the tokens of the user, on all nodes. */
  async function limitTokens(before: User, after: User): Promise<void> {
    const { publish, revocations } = inside
    if (after.disabled && !before.disabled) await cutUser(after.id, 'user disabled', inside)
    const renamed = before.username === after.username ? {} : ({ renamed: true } as const)
    const attributes = changedAttributes(before.attributes, after.attributes)
    await publish({ kind: 'user-changed', subject: after.id, ...renamed, ...(attributes.length > 0 && { attributes }) })
    // Roles matter besides rights, since row filters can refer to them.
    if (!isSameSet(before.rights, after.rights) || !isSameSet(before.roles, after.roles))
      await revocations.limitUserRights(after)
  }

  /** Disabling and enabling have events of their own. */
  function recordChange(before: User, after: User, changed: readonly string[]): void {
    const facts = { actor: actorFor(after.id, author), target: after.id }
    const isSwitched = before.disabled !== after.disabled
    if (isSwitched) record({ ...facts, event: after.disabled ? 'user.disabled' : 'user.enabled', details: { source } })
    const others = isSwitched ? changed.filter((name) => !SWITCHES.includes(name)) : changed
    if (others.length > 0) record({ ...facts, event: 'user.changed', details: { changed: others, source } })
  }

  async function isMet(before: User, { roles, externalId, ...change }: WantedUser): Promise<boolean> {
    if (roles !== undefined && !isSameSet(roles, rolesBySource(before, roleSource))) return false
    const members = new Map<string, unknown>(Object.entries(before))
    if (!Object.entries(change).every(([name, value]) => isDeepStrictEqual(members.get(name), value))) return false
    if (externalId === undefined) return true
    const held = await stores.scim.externalIds(scimClient(author), [before.id])
    return (held.get(before.id) ?? null) === externalId
  }

  /** Users for emergencies are for the time when nothing else works: only an operator and they themselves change them. */
  function requireAuthority({ id, breakGlass, rights, username, profile }: User, wanted: WantedUser): void {
    if (roleSource === 'operator') return
    if (breakGlass) throw new AccountFault('emergency-user', `${id} would be changed`)
    const isOtherName = wanted.username !== undefined && wanted.username !== username
    const isOtherAddress = wanted.profile !== undefined && wanted.profile.email !== profile.email
    // A caller that writes these could sign in as an administrator.
    if (rights.has('Identity/Admin') && (isOtherName || isOtherAddress))
      throw new AccountFault('administrator', `${username} is an administrator`)
  }

  async function requireFreeName(username: string, before: User): Promise<void> {
    if (username === before.username) return
    requireUsername(username)
    const holder = await stores.users.findByUsername(username)
    if (holder !== undefined && holder.id !== before.id) throw new UsernameTaken(`The username ${username} is taken`)
  }

  async function requireRoles(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const known = new Set((await stores.roles.list()).map(({ name }) => name))
    const unknown = names.find((name) => !known.has(name))
    if (unknown !== undefined) throw new AccountFault('unknown-role', `There is no role "${unknown}"`)
  }
}

/** What the audit log says of a user who is disabled or enabled with an event of its own. */
const SWITCHES: readonly string[] = ['disabled', 'active']

function requireUsername(username: string): void {
  if (!isUsername(username.normalize('NFKC').trim()))
    throw new AccountFault('username-invalid', `"${username}" cannot be a username`)
}

function isSameSet(a: Iterable<string>, b: Iterable<string>): boolean {
  return new Set(a).symmetricDifference(new Set(b)).size === 0
}
