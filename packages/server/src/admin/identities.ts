/** Administration of the identities that users have at other OpenID providers. */
import { instant } from './request/body.ts'
import { changeUsers } from './request/change.ts'
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
      await changeUsers(env, call, async (accounts, stores) => {
        const user = await findUser(stores, part(call, 'user'))
        if ((await accounts.unlinkIdentity(user.id, part(call, 'identity'))) === undefined)
          throw notFound('identity', part(call, 'identity'))
      })
    },
  },
]
