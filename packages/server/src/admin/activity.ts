/** Administration of what runs on the nodes: the nodes themselves, streaming connections, queries and live statements. */
import { Refusal } from 'gatehouse-protocol'
import { subjectNames } from '../store/accounts/subject-names.ts'
import { cursorOf, readActivityCursor } from './node-activity.ts'
import type { ActivityFilter, ActivityItems } from './ports.ts'
import { record } from './request/change.ts'
import { cursorQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, notFound, part } from './route.ts'
import { requireSubject } from './subjects.ts'

export const KICK_REPLY = '{"closed": connections, "silent": [nodes that did not reply, which close theirs too]}'
const LIST_REPLY = '{"items": […], "total": how many there are, "silent": [nodes that did not reply]}'
export const PAGED_REPLY = LIST_REPLY.replace(', "total"', ', "next": "the path of the next page or null", "total"')

export const activityRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/nodes',
    scope: 'Platform/Admin',
    summary: 'Lists the nodes: version, uptime, readiness, event-loop lag, memory, connections and query slots.',
    reply: LIST_REPLY,
    async run(_call, { activity }) {
      return { body: await activity.nodes() }
    },
  },
  {
    method: 'GET',
    path: '/admin/nodes/figures',
    scope: 'Platform/Admin',
    summary:
      'The figures of each node over the last hour, a sample every 5 seconds: rates, latencies, event-loop lag, memory. Nodes keep them in memory.',
    query: { since: 'Only samples after this time, in milliseconds since 1970.' },
    reply:
      '{"items": [{"node": …, "figures": [names], "samples": [[milliseconds since 1970, a value for each figure or null]]}], "silent": [nodes that did not reply]}',
    async run({ query: { since = '0' } }, { activity }) {
      const at = Number(since)
      if (!Number.isSafeInteger(at) || at < 0)
        throw new Refusal('admin.bad_parameter', 400, 'since must be a number of milliseconds, such as 1767225600000')
      return { body: await activity.figures(at) }
    },
  },
  {
    method: 'GET',
    path: '/admin/streams',
    scope: 'Platform/Admin',
    summary: 'Lists the streaming connections of all nodes, newest first.',
    query: { user: 'Only connections of this user or client, by name or id.', ...cursorQuery('Connections') },
    reply: PAGED_REPLY,
    async run(call, env) {
      return pageOf('/admin/streams', call, await env.activity.streams(await readFilter(call, env)))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/streams/{connection}',
    scope: 'Platform/Admin',
    summary: 'Closes a streaming connection on any node.',
    reply: KICK_REPLY,
    async run(call, env) {
      const connectionId = part(call, 'connection')
      const { total: closed, silent } = await env.activity.streams({ id: connectionId, limit: 1 })
      // It may be on a node that did not reply.
      if (closed === 0 && silent.length === 0) throw notFound('streaming connection', connectionId)
      await env.publish({ kind: 'stream-kick', connectionId })
      record(env, call, { event: 'stream.kicked', target: connectionId, details: { connection: connectionId } })
      return { body: { closed, silent } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/streams',
    scope: 'Platform/Admin',
    summary: 'Closes all streaming connections of a user or client, on all nodes.',
    query: { user: 'The user or client, by name or id. Required.' },
    reply: KICK_REPLY,
    async run(call, env) {
      const { user } = call.query
      if (user === undefined)
        throw new Refusal('admin.bad_parameter', 400, 'The parameter user is required: ?user=alice')
      const subject = await requireSubject(env.stores, user)
      const { total: closed, silent } = await env.activity.streams({ user: subject, limit: 1 })
      await env.publish({ kind: 'stream-kick', subject })
      record(env, call, { event: 'stream.kicked', target: subject, details: { count: closed } })
      return { body: { closed, silent } }
    },
  },
  {
    method: 'GET',
    path: '/admin/queries',
    scope: 'Platform/Admin',
    summary: 'Lists the running queries and live statements of all nodes, newest first.',
    query: {
      user: 'Only those of this user or client, by name or id.',
      kind: 'query or live.',
      ...cursorQuery('Queries'),
    },
    reply: PAGED_REPLY,
    async run(call, env) {
      const { items, ...rest } = await env.activity.queries(await readFilter(call, env))
      const names = await subjectNames(env.database, [...new Set(items.map(({ user }) => String(user)))])
      const named = items.map((item) => ({ ...item, username: names.get(String(item.user)) ?? null }))
      return pageOf('/admin/queries', call, { items: named, ...rest })
    },
  },
  {
    method: 'DELETE',
    path: '/admin/queries/{query}',
    scope: 'Platform/Admin',
    summary: 'Cancels a running query or ends a live statement, on any node.',
    async run(call, env) {
      const query = part(call, 'query')
      if (!(await env.activity.cancel(query))) throw notFound('running query', query)
      record(env, call, { event: 'query.cancelled', target: query, details: { query } })
    },
  },
]

export function pageOf(path: string, call: AdminCall, { items, ...rest }: ActivityItems): AdminReply {
  const { body } = pageReply(path, call, readPage(call), items, { keyOf: cursorOf, present: (item) => item })
  return { body: { ...body, ...rest } }
}

export async function readFilter(call: AdminCall, { stores }: AdminEnv): Promise<ActivityFilter> {
  const { user, kind } = call.query
  const { after, limit } = readPage(call)
  readActivityCursor(after)
  if (kind !== undefined && kind !== 'query' && kind !== 'live')
    throw new Refusal('admin.bad_parameter', 400, 'kind must be query or live')
  return {
    user: user === undefined ? undefined : await requireSubject(stores, user),
    kind,
    after,
    limit,
  }
}
