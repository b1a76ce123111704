/** What a person has open and allowed: second factors, browser sessions, consents. */
import type { JsonObject } from './body.ts'
import { record } from './change.ts'
import { type AdminRoute, notFound, part } from './route.ts'
import { findUser, takeBack } from './users.ts'

export const userAccessRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/users/{user}/factors',
    scope: 'Identity/Admin',
    summary: 'Lists the second factors of a user, without their secrets.',
    reply: '{"items": […]}',
    async run(call, { stores }) {
      const { id } = await findUser(stores, part(call, 'user'))
      const factors = await stores.factors.listOfUser(id)
      return {
        body: {
          items: factors.map(
            ({ id: factor, kind, label, createdAt, usedAt }): JsonObject => ({
              id: factor,
              kind,
              label,
              created_at: iso(createdAt),
              used_at: usedAt === undefined ? null : iso(usedAt),
            }),
          ),
        },
      }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/factors/{factor}',
    scope: 'Identity/Admin',
    summary: 'Removes a second factor, for somebody who has lost it.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const factor = await env.stores.factors.remove(id, part(call, 'factor'))
      if (factor === undefined) throw notFound('second factor', part(call, 'factor'))
      record(env, call, {
        event: 'factor.removed',
        target: id,
        details: { kind: factor.kind, factor: factor.id, label: factor.label, reason: 'operator' },
      })
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/admin/users/{user}/sessions',
    scope: 'Identity/Admin',
    summary: 'Lists the browser sessions of a user, the one used last first.',
    reply: '{"items": […]}',
    async run(call, { stores }) {
      const { id } = await findUser(stores, part(call, 'user'))
      const sessions = await stores.sessions.listOfUser(id)
      return {
        body: {
          items: sessions.map(
            (session): JsonObject => ({
              id: session.id,
              methods: session.amr,
              address: session.address,
              user_agent: session.userAgent,
              created_at: iso(session.createdAt),
              seen_at: iso(session.seenAt),
              expires_at: iso(session.expiresAt),
            }),
          ),
        },
      }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/sessions/{session}',
    scope: 'Identity/Admin',
    summary: 'Ends one browser session and its tokens.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const session = await env.stores.sessions.findById(part(call, 'session'))
      if (session?.userId !== id) throw notFound('session', part(call, 'session'))
      await env.stores.sessions.end(session.id)
      await takeBack(env).session(session.id)
      record(env, call, { event: 'session.ended', target: id, details: { session: session.id, reason: 'operator' } })
      return { status: 204 }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/sessions',
    scope: 'Identity/Admin',
    summary: 'Signs a user out everywhere: every session, grant and token.',
    reply: '{"ended": number}',
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const sessions = await env.stores.sessions.listOfUser(id)
      for (const session of sessions) {
        await env.stores.sessions.end(session.id)
        await takeBack(env).session(session.id)
        record(env, call, { event: 'session.ended', target: id, details: { session: session.id, reason: 'operator' } })
      }
      await takeBack(env).user(id)
      record(env, call, { event: 'grant.revoked', target: id, details: { reason: 'operator' } })
      return { body: { ended: sessions.length } }
    },
  },
  {
    method: 'GET',
    path: '/admin/users/{user}/consents',
    scope: 'Identity/Admin',
    summary: 'Lists what a user has allowed to which client.',
    reply: '{"items": […]}',
    async run(call, { stores }) {
      const { id } = await findUser(stores, part(call, 'user'))
      const consents = await stores.consents.listOfUser(id)
      return {
        body: {
          items: consents.map(
            ({ clientId, scopes, createdAt, updatedAt }): JsonObject => ({
              client_id: clientId,
              scopes,
              created_at: iso(createdAt),
              updated_at: iso(updatedAt),
            }),
          ),
        },
      }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/consents/{client}',
    scope: 'Identity/Admin',
    summary: 'Withdraws a consent and revokes what was granted under it.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const client = part(call, 'client')
      if (!(await env.stores.consents.withdraw(id, client))) throw notFound('consent for', client)
      await takeBack(env).consent(id, client)
      record(env, call, { event: 'consent.withdrawn', target: id })
      return { status: 204 }
    },
  },
]

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
