/** Who is signed in: browser sessions and grants of all users, and how many there are of each thing. */

import type { GrantOfUser } from '../store/authorizations/grants.ts'
import { countRows } from '../store/database/counts.ts'
import type { AgentUse } from './ports.ts'
import { instant, type JsonObject } from './request/body.ts'
import { change, record } from './request/change.ts'
import { cursorQuery, PAGE_REPLY, pageReply, readPage, readTimeCursor, writeTimeCursor } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, notFound, part } from './route.ts'
import { presentSession } from './user-access.ts'
import { findUser } from './users.ts'

const USER = 'Only those of this user, by name or id.'

export const signedInRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/sessions',
    scope: 'Identity/Admin',
    summary: 'Lists the browser sessions of all users page by page, newest first.',
    query: { user: USER, ...cursorQuery('Sessions') },
    reply: PAGE_REPLY,
    async run(call, env) {
      const page = readPage(call)
      const found = await env.stores.sessions.page({ ...(await readWanted(call, env)), limit: page.limit })
      return pageReply('/admin/sessions', call, page, found, {
        cursorKey: ({ session }) => writeTimeCursor(session),
        present: ({ session, username }) => ({
          user: session.userId,
          username: username ?? null,
          ...presentSession(session),
        }),
      })
    },
  },
  {
    method: 'GET',
    path: '/admin/grants',
    scope: 'Identity/Admin',
    summary:
      'Lists the current grants of applications and their scopes, page by page, newest first; of agents also what they have called today.',
    query: { user: USER, agent: 'true: only those of agents.', ...cursorQuery('Grants') },
    reply: PAGE_REPLY,
    async run(call, env) {
      const page = readPage(call)
      const found = await env.stores.grants.page({ ...(await readWanted(call, env)), limit: page.limit })
      const cursorKey = ({ grant }: GrantOfUser) => writeTimeCursor(grant)
      const ids = found.filter(({ grant }) => grant.details.agent === true).map(({ grant }) => grant.id)
      const uses = ids.length === 0 ? undefined : await env.agentActivity?.(ids)
      const present = (item: GrantOfUser) => ({ ...presentGrant(item), ...presentUse(uses?.get(item.grant.id)) })
      return pageReply('/admin/grants', call, page, found, { cursorKey, present })
    },
  },
  {
    method: 'DELETE',
    path: '/admin/grants/{grant}',
    scope: 'Identity/Admin',
    summary: 'Revokes a grant and all its tokens.',
    async run(call, env) {
      const id = part(call, 'grant')
      const grant = await env.stores.grants.find(id)
      if (grant === undefined || grant.revokedAt !== undefined) throw notFound('grant', id)
      await change(env, (_stores, { revocations }) => revocations.revokeGrant(id))
      record(env, call, { event: 'grant.revoked', target: grant.userId, details: { grant: id, reason: 'operator' } })
    },
  },
  {
    method: 'GET',
    path: '/admin/counts',
    scope: 'Identity/Admin',
    summary: 'Counts users, clients, roles, open browser sessions and valid grants, up to 10,000 of each.',
    reply: '{"items": [{"name", "count", "more": true where there are more than were counted}]}',
    async run(_call, { database: { db }, stores }) {
      const counts = await Promise.all([
        countRows(db, 'users'),
        countRows(db, 'clients'),
        countRows(db, 'roles'),
        stores.sessions.count(),
        stores.grants.count(),
      ])
      const names = ['users', 'clients', 'roles', 'sessions', 'grants']
      return { body: { items: counts.map((count, index) => ({ name: names[index], ...count })) } }
    },
  },
]

async function readWanted(call: AdminCall, { stores }: AdminEnv) {
  const { user, agent } = call.query
  return {
    agent: agent === 'true',
    userId: user === undefined ? undefined : (await findUser(stores, user)).id,
    after: readTimeCursor(readPage(call).after),
  }
}

/** Absent for grants of other clients, and where no agents are served. */
function presentUse(use: AgentUse | undefined): JsonObject {
  if (use === undefined) return {}
  const { last, callsToday, rowsToday, watches } = use
  return {
    last_call_at: last === undefined ? null : instant(last),
    calls_today: callsToday,
    rows_today: rowsToday,
    watches,
  }
}

function presentGrant({ grant, username }: GrantOfUser): JsonObject {
  return {
    id: grant.id,
    user: grant.userId,
    username: username ?? null,
    client_id: grant.clientId,
    kind: grant.kind,
    ...(grant.details.agent === true && { agent: true }),
    scopes: grant.scopes,
    // With a refresh token, until it expires.
    offline: grant.scopes.includes('offline_access'),
    session: grant.sessionId ?? null,
    methods: grant.details.amr,
    created_at: instant(grant.createdAt),
    expires_at: instant(grant.expiresAt),
  }
}
