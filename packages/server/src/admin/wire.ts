/** Administration of the connections of PostgreSQL's protocol, on all nodes. */
import { Refusal } from 'gatehouse-protocol'
import { KICK_REPLY, PAGED_REPLY, pageOf, readFilter } from './activity.ts'
import { record } from './request/change.ts'
import { cursorQuery } from './request/page.ts'
import { type AdminRoute, notFound, part } from './route.ts'
import { requireSubject } from './subjects.ts'

export const wireRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/wire',
    scope: 'Platform/Admin',
    summary: "Lists the connections of tools that use PostgreSQL's protocol, on all nodes, newest first.",
    query: { user: 'Only connections of this user or client, by name or id.', ...cursorQuery('Connections') },
    reply: PAGED_REPLY,
    async run(call, env) {
      return pageOf('/admin/wire', call, await env.activity.wire(await readFilter(call, env)))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/wire/{connection}',
    scope: 'Platform/Admin',
    summary: 'Closes a connection of a tool on any node.',
    reply: KICK_REPLY,
    async run(call, env) {
      const connectionId = part(call, 'connection')
      const { total: closed, silent } = await env.activity.wire({ id: connectionId, limit: 1 })
      // It may be on a node that did not reply.
      if (closed === 0 && silent.length === 0) throw notFound('connection', connectionId)
      await env.publish({ kind: 'wire-kick', connectionId })
      record(env, call, { event: 'wire.kicked', target: connectionId, details: { connection: connectionId } })
      return { body: { closed, silent } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/wire',
    scope: 'Platform/Admin',
    summary: 'Closes all connections of the tools of a user or client, on all nodes.',
    query: { user: 'The user or client, by name or id. Required.' },
    reply: KICK_REPLY,
    async run(call, env) {
      const { user } = call.query
      if (user === undefined)
        throw new Refusal('admin.bad_parameter', 400, 'The parameter user is required: ?user=alice')
      const subject = await requireSubject(env.stores, user)
      const { total: closed, silent } = await env.activity.wire({ user: subject, limit: 1 })
      await env.publish({ kind: 'wire-kick', subject })
      record(env, call, { event: 'wire.kicked', target: subject, details: { count: closed } })
      return { body: { closed, silent } }
    },
  },
]
