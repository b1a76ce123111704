/** Identities that users have at other providers: linked and unlinked, with the sessions and roles that came of them. */
import type { RoleSource, User } from '../store/accounts/user.ts'
import type { Identity, NewIdentity } from '../store/providers/identities.ts'
import { AccountFault } from './account-fault.ts'
import { endSessions } from './cut.ts'
import { actorFor, type Inside, isOwner } from './inside.ts'
import { changeUsers } from './users.ts'

export function changeIdentities(inside: Inside) {
  const { stores, author, record, notify, localSignIn } = inside
  const { source } = author
  const { removeRolesFrom } = changeUsers(inside)
  return {
    /**
     * Undefined if the identity belongs to somebody already. `reason` says how the user got it; nobody is notified of the
     * identity with which the user was created.
     */
    async linkIdentity(
      wanted: NewIdentity,
      reason: 'account' | 'sign-in' | 'invitation' | 'scim' | 'created',
    ): Promise<Identity | undefined> {
      const added = await stores.identities.add(wanted)
      if (added === undefined) return undefined
      const { provider, userId } = wanted
      if (reason !== 'created') await notify({ kind: 'identity-linked', userId, subject: await providerName(provider) })
      const facts = { actor: actorFor(userId, author), target: userId }
      record({ event: 'identity.linked', ...facts, details: { provider, identity: added.id, reason } })
      return added
    },

    /** A sign-in with it. */
    markIdentityUsed: (id: string): Promise<void> => stores.identities.markUsed(id),

    /**
     * With the sessions that began with it, except the one in which its owner does so, and the roles that the provider gave, unless the
     * user has another identity there. Undefined if there is none. Its owner keeps the last way in; an operator decides.
     */
    async unlinkIdentity(
      userId: string,
      id: string,
      { exceptSession }: { exceptSession?: string } = {},
    ): Promise<Identity | undefined> {
      const user = await stores.users.findById(userId)
      if (user === undefined) return undefined
      if (isOwner(author) && !(await hasOtherWay(user, id)))
        throw new AccountFault('last-way-in', 'It is the last way in')
      const removed = await stores.identities.remove(userId, id)
      if (removed === undefined) return undefined
      const { provider, issuer, subject } = removed
      await notify({ kind: 'identity-unlinked', userId, subject: await providerName(provider) })
      const sessions = await stores.providerSignIns.findSessions(provider, issuer, { subject })
      await endSessions(
        sessions.filter((session) => session !== exceptSession),
        'its identity was unlinked',
        inside,
      )
      const others = await stores.identities.listOfUser(userId)
      if (!others.some((each) => each.provider === provider)) await removeRolesFrom([userId], roleSource(provider))
      record({ event: 'identity.unlinked', target: userId, details: { provider, identity: id, source } })
      return removed
    },

    /** For a provider that is removed: its sessions end, and the roles that it gave. */
    async endProvider(provider: string): Promise<void> {
      await endSessions(await stores.providerSignIns.sessionsOfProvider(provider), 'its provider was removed', inside)
      const from = roleSource(provider)
      await removeRolesFrom(await stores.users.listBySource(from), from)
    },
  }

  async function hasOtherWay(user: User, identity: string): Promise<boolean> {
    const enabled = new Set((await stores.providers.list()).flatMap((each) => (each.disabled ? [] : [each.id])))
    const others = (await stores.identities.listOfUser(user.id)).filter(({ id }) => id !== identity)
    if (others.some(({ provider }) => enabled.has(provider))) return true
    if (localSignIn() === 'break_glass' && !user.breakGlass) return false
    if (user.passwordHash !== undefined) return true
    return (await stores.factors.listOfUser(user.id)).some(({ kind }) => kind === 'passkey')
  }

  async function providerName(provider: string): Promise<string> {
    return (await stores.providers.find(provider))?.name ?? provider
  }
}

function roleSource(provider: string): RoleSource {
  return `provider:${provider}`
}
