/** Administration of a user's second factors, browser sessions and authorized applications. */

import { listApplications } from '../store/authorizations/applications.ts'
import type { Session } from '../store/authorizations/sessions.ts'
import type { Stores } from '../store/stores.ts'
import { instant, type JsonObject } from './request/body.ts'
import { change, changeUsers, type Effects, record } from './request/change.ts'
import { cursorQuery, PAGE_REPLY, pageReply, readPage, readTimeCursor, writeTimeCursor } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, notFound, part } from './route.ts'
import { findUser } from './users.ts'

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
    summary: 'Removes a second factor, for a user who has lost it.',
    async run(call, env) {
      const factor = part(call, 'factor')
      const outcome = await changeUsers(env, call, async (accounts, stores) =>
        accounts.removeFactor((await findUser(stores, part(call, 'user'))).id, factor),
      )
      if (outcome !== 'removed') throw notFound('second factor', factor)
    },
  },
  {
    method: 'GET',
    path: '/admin/users/{user}/sessions',
    scope: 'Identity/Admin',
    summary: 'Lists the browser sessions of a user page by page, newest first.',
    query: cursorQuery('Sessions'),
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const { id: userId } = await findUser(stores, part(call, 'user'))
      const found = await stores.sessions.page({ userId, limit: page.limit, after: readTimeCursor(page.after) })
      const path = `/admin/users/${encodeURIComponent(part(call, 'user'))}/sessions`
      const sessions = found.map(({ session }) => session)
      return pageReply(path, call, page, sessions, { cursorKey: writeTimeCursor, present: presentSession })
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/sessions/{session}',
    scope: 'Identity/Admin',
    summary: 'Ends a browser session and revokes its tokens.',
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const session = await env.stores.sessions.findById(part(call, 'session'))
      if (session?.userId !== id) throw notFound('session', part(call, 'session'))
      await change(env, (stores, effects) => endSession(session, stores, effects))
      recordEnd(env, call, session)
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/sessions',
    scope: 'Identity/Admin',
    summary: 'Signs a user out everywhere: ends all sessions and revokes all grants and tokens.',
    reply: '{"ended": sessions, "grants": grants, "streams": open streaming connections, which are closed}',
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const streams = await env.activity.countStreams(id)
      const { sessions, grants } = await change(env, async (stores, { revocations }) => {
        const ended = await stores.sessions.endAllForUser(id)
        let revoked = 0
        for (const session of ended) revoked += await revocations.revokeSession(session.id)
        return { sessions: ended, grants: revoked + (await revocations.revokeUser(id)) }
      })
      for (const session of sessions) recordEnd(env, call, session)
      record(env, call, { event: 'grant.revoked', target: id, details: { reason: 'operator' } })
      return { body: { ended: sessions.length, grants, streams } }
    },
  },
  listOfUser({
    path: '/admin/users/{user}/consents',
    summary: 'Lists the clients that may act for a user, by consent or by a grant that needed none.',
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
    summary: 'Ends the access of a client for a user: withdraws the consent, if any, and revokes all grants.',
    async run(call, env) {
      const { id } = await findUser(env.stores, part(call, 'user'))
      const client = part(call, 'client')
      const application = (await listApplications(env.stores, id)).find(({ clientId }) => clientId === client)
      if (application === undefined) throw notFound('access of client', client)
      await change(env, async (stores, { revocations }) => {
        await stores.consents.withdraw(id, client)
        await revocations.revokeConsent(id, client)
      })
      record(env, call, { event: 'consent.withdrawn', target: id, details: { client, scope: application.scopes } })
    },
  },
]

export function presentSession(session: Session): JsonObject {
  return {
    id: session.id,
    methods: session.amr,
    address: session.address,
    user_agent: session.userAgent,
    created_at: instant(session.createdAt),
    seen_at: instant(session.seenAt),
    expires_at: instant(session.expiresAt),
  }
}

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

async function endSession({ id }: Session, { sessions }: Stores, { revocations }: Effects): Promise<void> {
  await sessions.end(id)
  await revocations.revokeSession(id)
}

function recordEnd(env: AdminEnv, call: AdminCall, { id, userId }: Pick<Session, 'id' | 'userId'>): void {
  record(env, call, { event: 'session.ended', target: userId, details: { session: id, reason: 'operator' } })
}
