/** Routes that list and close connections on all nodes: of streams, and of tools by PostgreSQL's protocol. */
import { Refusal } from 'gatehouse-protocol'
import { itemCursor, readActivityCursor } from './node-activity.ts'
import type { ActivityFilter, ActivityItems } from './ports.ts'
import { record } from './request/change.ts'
import { cursorQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, notFound, part } from './route.ts'
import { requireSubject } from './subjects.ts'

const KICK_REPLY = '{"closed": connections, "silent": [nodes that did not reply, which close theirs too]}'
export const LIST_REPLY = '{"items": […], "total": how many there are, "silent": [nodes that did not reply]}'
export const PAGED_REPLY = LIST_REPLY.replace(', "total"', ', "next": "the path of the next page or null", "total"')

interface Connections {
  /** Its path below /admin, and its name in the activity of nodes. */
  readonly list: 'streams' | 'wire'
  /** The event that all nodes get. */
  readonly kick: 'stream-kick' | 'wire-kick'
  /** What the audit log says. */
  readonly kicked: 'stream.kicked' | 'wire.kicked'
  /** What one of them is called where there is none. */
  readonly one: string
  readonly lists: string
  readonly closesOne: string
  readonly closesAll: string
}

export function connectionRoutes({ list, kick, kicked, one, ...summaries }: Connections): readonly AdminRoute[] {
  const path = `/admin/${list}` as const
  return [
    {
      method: 'GET',
      path,
      scope: 'Platform/Admin',
      summary: summaries.lists,
      query: { user: 'Only connections of this user or client, by name or id.', ...cursorQuery('Connections') },
      reply: PAGED_REPLY,
      async run(call, env) {
        return activityPage(path, call, await env.activity[list](await readFilter(call, env)))
      },
    },
    {
      method: 'DELETE',
      path: `${path}/{connection}`,
      scope: 'Platform/Admin',
      summary: summaries.closesOne,
      reply: KICK_REPLY,
      async run(call, env) {
        const connectionId = part(call, 'connection')
        const { total: closed, silent } = await env.activity[list]({ id: connectionId, limit: 1 })
        // It may be on a node that did not reply.
        if (closed === 0 && silent.length === 0) throw notFound(one, connectionId)
        await env.publish({ kind: kick, connectionId })
        record(env, call, { event: kicked, target: connectionId, details: { connection: connectionId } })
        return { body: { closed, silent } }
      },
    },
    {
      method: 'DELETE',
      path,
      scope: 'Platform/Admin',
      summary: summaries.closesAll,
      query: { user: 'The user or client, by name or id. Required.' },
      reply: KICK_REPLY,
      async run(call, env) {
        const { user } = call.query
        if (user === undefined)
          throw new Refusal('admin.bad_parameter', 400, 'The parameter user is required: ?user=alice')
        const subject = await requireSubject(env.stores, user)
        const { total: closed, silent } = await env.activity[list]({ user: subject, limit: 1 })
        await env.publish({ kind: kick, subject })
        record(env, call, { event: kicked, target: subject, details: { count: closed } })
        return { body: { closed, silent } }
      },
    },
  ]
}

export function activityPage(path: string, call: AdminCall, { items, ...rest }: ActivityItems): AdminReply {
  const { body } = pageReply(path, call, readPage(call), items, { cursorKey: itemCursor, present: (item) => item })
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
