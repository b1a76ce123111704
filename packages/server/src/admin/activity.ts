/** Administration of what runs on the nodes: the nodes themselves, streaming connections, queries and live statements. */
import { Refusal } from 'gatehouse-protocol'
import { subjectNames } from '../store/accounts/subject-names.ts'
import { activityPage, connectionRoutes, LIST_REPLY, PAGED_REPLY, readFilter } from './connections.ts'
import { record } from './request/change.ts'
import { cursorQuery } from './request/page.ts'
import { type AdminRoute, notFound, part } from './route.ts'

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
      '{"items": [{"node": …, "figures": [names], "samples": [[milliseconds since 1970, a value for each figure or null]], "edges": {a figure: the value that stands for everything above it}}], "silent": [nodes that did not reply]}',
    async run({ query: { since = '0' } }, { activity }) {
      const at = Number(since)
      if (!Number.isSafeInteger(at) || at < 0)
        throw new Refusal('admin.bad_parameter', 400, 'since must be a number of milliseconds, such as 1767225600000')
      return { body: await activity.figures(at) }
    },
  },
  ...connectionRoutes({
    list: 'streams',
    kick: 'stream-kick',
    kicked: 'stream.kicked',
    one: 'streaming connection',
    lists: 'Lists the streaming connections of all nodes, newest first.',
    closesOne: 'Closes a streaming connection on any node.',
    closesAll: 'Closes all streaming connections of a user or client, on all nodes.',
  }),
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
      return activityPage('/admin/queries', call, { items: named, ...rest })
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
