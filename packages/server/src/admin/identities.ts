/** Administration of the identities that users have at other OpenID providers. */
import { endSessions, takeRoles } from '../resources/providers.ts'
import { noticeOf } from './mail.ts'
import { instant } from './request/body.ts'
import { change, record } from './request/change.ts'
import { type AdminRoute, notFound, part } from './route.ts'
import { findUser } from './users.ts'

export const identityRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/users/{user}/identities',
    scope: 'Identity/Admin',
    summary: 'Lists the identities that a user has at other providers.',
    reply: '{"items": [{"id", "provider", "issuer", "subject", "label", "created_at", "used_at"}]}',
    async run(call, { stores }) {
      const user = await findUser(stores, part(call, 'user'))
      const identities = await stores.identities.listOfUser(user.id)
      const items = identities.map(({ id, provider, issuer, subject, label, createdAt, usedAt }) => ({
        ...{ id, provider, issuer, subject, label },
        created_at: instant(createdAt),
        used_at: instant(usedAt),
      }))
      return { body: { items } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/identities/{identity}',
    scope: 'Identity/Admin',
    summary: 'Unlinks an identity from a user. The sessions that began with it end.',
    async run(call, env) {
      const { identity, user } = await change(env, async (stores, effects) => {
        const found = await findUser(stores, part(call, 'user'))
        const removed = await stores.identities.remove(found.id, part(call, 'identity'))
        if (removed === undefined) throw notFound('identity', part(call, 'identity'))
        const { provider, issuer, subject } = removed
        await noticeOf(env, stores, { kind: 'identity-unlinked', userId: found.id, subject: provider })
        await endSessions(await stores.providerSignIns.findSessions(provider, issuer, { subject }), {
          stores,
          ...effects,
        })
        const others = await stores.identities.listOfUser(found.id)
        if (!others.some((each) => each.provider === provider))
          await takeRoles(found.id, provider, { stores, ...effects })
        return { identity: removed, user: found }
      })
      record(env, call, {
        event: 'identity.unlinked',
        target: user.id,
        details: { provider: identity.provider, identity: identity.id, source: 'admin' },
      })
    },
  },
]
