/** What a person has open and allowed: second factors, browser sessions, applications that act for them. */
import { listApplications } from '../store/applications.ts'
import type { Stores } from '../store/stores.ts'
import { instant, type JsonObject } from './body.ts'
import { record } from './change.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, notFound, part } from './route.ts'
import { findUser, takeBack } from './users.ts'

export const userAccessRoutes: readonly AdminRoute[] = [
  listOfUser({
    path: '/admin/users/{user}/factors',
    summary: 'Lists the second factors of a user, without their secrets.',
    list: ({ factors }, user) => factors.listOfUser(user),
    present: ({ id, kind, label, createdAt, usedAt }) => ({
      id,
      kind,
      label,
      created_at: instant(createdAt),
      used_at: instant(usedAt),
    }),
  }),
  {
    method: 'DELETE',
    path: '/admin/users/{user}/factors/{factor}',
    scope: 'Identity/Admin',
    summary: 'Removes a second factor, for somebody who has lost it.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const removal = await env.stores.factors.remove(id, part(call, 'factor'))
      if (removal.outcome !== 'removed') throw notFound('second factor', part(call, 'factor'))
      const { factor } = removal
      record(env, call, {
        event: 'factor.removed',
        target: id,
        details: { kind: factor.kind, factor: factor.id, label: factor.label, reason: 'operator' },
      })
      return { status: 204 }
    },
  },
  listOfUser({
    path: '/admin/users/{user}/sessions',
    summary: 'Lists the browser sessions of a user, the one used last first.',
    list: ({ sessions }, user) => sessions.listOfUser(user),
    present: (session) => ({
      id: session.id,
      methods: session.amr,
      address: session.address,
      user_agent: session.userAgent,
      created_at: instant(session.createdAt),
      seen_at: instant(session.seenAt),
      expires_at: instant(session.expiresAt),
    }),
  }),
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
      await endSession(env, call, session)
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
      for (const session of sessions) await endSession(env, call, session)
      await takeBack(env).user(id)
      record(env, call, { event: 'grant.revoked', target: id, details: { reason: 'operator' } })
      return { body: { ended: sessions.length } }
    },
  },
  listOfUser({
    path: '/admin/users/{user}/consents',
    summary: 'Lists every client that may act for a user: by their consent, or by a grant that needed none.',
    list: listApplications,
    present: ({ clientId, scopes, isConsented, createdAt, updatedAt }) => ({
      client_id: clientId,
      scopes,
      consented: isConsented,
      created_at: instant(createdAt),
      updated_at: instant(updatedAt),
    }),
  }),
  {
    method: 'DELETE',
    path: '/admin/users/{user}/consents/{client}',
    scope: 'Identity/Admin',
    summary: 'Ends what a client may do for a user: withdraws the consent, if there is one, and revokes every grant.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const client = part(call, 'client')
      const application = (await listApplications(env.stores, id)).find(({ clientId }) => clientId === client)
      if (application === undefined) throw notFound('access of client', client)
      await env.stores.consents.withdraw(id, client)
      await takeBack(env).consent(id, client)
      record(env, call, { event: 'consent.withdrawn', target: id, details: { client, scope: application.scopes } })
      return { status: 204 }
    },
  },
]

function listOfUser<Thing>(wanted: {
  readonly path: AdminRoute['path']
  readonly summary: string
  list(stores: Stores, user: string): Promise<readonly Thing[]>
  present(thing: Thing): JsonObject
}): AdminRoute {
  return {
    method: 'GET',
    path: wanted.path,
    scope: 'Identity/Admin',
    summary: wanted.summary,
    reply: '{"items": […]}',
    async run(call, { stores }) {
      const { id } = await findUser(stores, part(call, 'user'))
      return { body: { items: (await wanted.list(stores, id)).map(wanted.present) } }
    },
  }
}

async function endSession(
  env: AdminEnv,
  call: AdminCall,
  { id, userId }: { readonly id: string; readonly userId: string },
): Promise<void> {
  await env.stores.sessions.end(id)
  await takeBack(env).session(id)
  record(env, call, { event: 'session.ended', target: userId, details: { session: id, reason: 'operator' } })
}
