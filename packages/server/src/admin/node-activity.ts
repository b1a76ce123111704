/** Running streaming connections and queries on every node, which can be listed and cancelled from any node; and the nodes themselves. */

import { Refusal } from 'gatehouse-protocol'
import type { Cluster, ClusterCaller, ClusterReplies, Params } from '../events/cluster.ts'
import type {
  ActivityFilter,
  ActivityItems,
  ClusterActivity,
  OpenStream,
  OpenStreams,
  OpenWireConnection,
  OpenWireConnections,
  RunningQueries,
  RunningQuery,
  TablePage,
  UserRights,
  UserTables,
} from './ports.ts'
import { instant, type JsonObject } from './request/body.ts'
import { readTimeCursor, type TimeCursor, writeTimeCursor } from './request/page.ts'

export interface LocalActivity {
  /** Undefined where the service does not run on this node. */
  readonly streams?: OpenStreams | undefined
  readonly wire?: OpenWireConnections | undefined
  readonly queries?: RunningQueries | undefined
  readonly listTables?: ((user: UserRights, page: TablePage) => UserTables) | undefined
  readonly listTopics?: ((scopes: readonly string[]) => readonly object[]) | undefined
  /** The state of this node. */
  readonly node?: (() => Promise<JsonObject>) | undefined
  /** Its figures after a time, in milliseconds since the epoch. */
  readonly figures?: ((since: number) => object) | undefined
}

/** Makes this node reply with what runs on it. */
export function handleActivityCalls(cluster: Pick<Cluster, 'handle'>, here: LocalActivity): void {
  const { streams, wire, queries, listTables, listTopics, node, figures } = here
  if (streams !== undefined)
    cluster.handle('streams', (params) => {
      const isListed = ({ subject, connectionId }: OpenStream) =>
        isWanted(params.user, subject) && isWanted(params.id, connectionId)
      return listing([...streams.list()].filter(isListed), params, presentStream)
    })
  if (wire !== undefined)
    cluster.handle('wire', (params) => {
      const isListed = ({ subject, connectionId }: OpenWireConnection) =>
        isWanted(params.user, subject) && isWanted(params.id, connectionId)
      return listing([...wire.list()].filter(isListed), params, presentWireConnection)
    })
  if (queries !== undefined) {
    cluster.handle('queries', (params) => {
      const isListed = ({ subject, kind }: RunningQuery) =>
        isWanted(params.user, subject) && isWanted(params.kind, kind)
      return listing([...queries.list()].filter(isListed), params, presentQuery)
    })
    cluster.handle('cancel', ({ query = '', owner }) => queries.cancel(query, owner))
  }
  if (listTables !== undefined)
    cluster.handle('tables', ({ user = '', page = '' }) => listTables(JSON.parse(user), JSON.parse(page)))
  if (listTopics !== undefined) cluster.handle('topics', ({ scopes = '' }) => listTopics(JSON.parse(scopes)))
  if (node !== undefined) cluster.handle('node', node)
  if (figures !== undefined) cluster.handle('figures', ({ since = '0' }) => figures(Number(since)))
}

export function createClusterActivity({ callAll, callAny, settle }: ClusterCaller): ClusterActivity {
  return {
    settle,
    streams: async (filter) => mergeItems(await callAll('streams', filterParams(filter)), 'streaming', filter.limit),
    wire: async (filter) => mergeItems(await callAll('wire', filterParams(filter)), 'wire', filter.limit),
    async countStreams(user) {
      const { replies } = await callAll('streams', { user, limit: '0' })
      return replies.reduce((sum, { body }) => sum + (isObject(body) ? Number(body.total) : 0), 0)
    },
    queries: async (filter) => mergeItems(await callAll('queries', filterParams(filter)), 'query', filter.limit),
    async cancel(query, owner) {
      const { replies } = await callAll('cancel', owner === undefined ? { query } : { query, owner })
      return replies.some(({ body }) => body === true)
    },
    nodes: async () => byNode(await callAll('node')),
    figures: async (since) => byNode(await callAll('figures', { since: String(since) })),
    async listTables(user, page) {
      const reply = await callAny('tables', { user: JSON.stringify(user), page: JSON.stringify(page) })
      return isObject(reply) && isList(reply.items)
        ? { items: reply.items, next: typeof reply.next === 'string' ? reply.next : undefined }
        : undefined
    },
    async listTopics(scopes) {
      const reply = await callAny('topics', { scopes: JSON.stringify(scopes) })
      return isList(reply) ? reply : undefined
    },
  }
}

function isWanted(wanted: string | undefined, found: string | undefined): boolean {
  return wanted === undefined || wanted === found
}

/** The newest first, at most `limit` of them. */
function listing<Item extends OpenStream | OpenWireConnection | RunningQuery>(
  found: readonly Item[],
  { limit, after = '' }: Params,
  present: (item: Item) => JsonObject,
): JsonObject {
  const last = readActivityCursor(after)
  const items = found
    .filter((item) => last === undefined || newestFirst(last, itemPlace(item)) < 0)
    .sort((one, other) => newestFirst(itemPlace(one), itemPlace(other)))
  return { total: found.length, items: items.slice(0, Number(limit)).map(present) }
}

function itemPlace(item: OpenStream | OpenWireConnection | RunningQuery): TimeCursor {
  return 'openedAt' in item
    ? { createdAt: item.openedAt, id: item.connectionId }
    : { createdAt: item.startedAt, id: item.requestId }
}

/** Callers choose the ids of their requests. */
export function readActivityCursor(text: string): TimeCursor | undefined {
  return readTimeCursor(text, /^[\x21-\x7e]{1,128}$/)
}

/** Where the next page begins. */
export function itemCursor(item: JsonObject): string {
  return writeTimeCursor(placeOfShown(item))
}

function placeOfShown({ opened_at, started_at, id }: JsonObject): TimeCursor {
  return { createdAt: Date.parse(String(opened_at ?? started_at)), id: String(id) }
}

function newestFirst(one: TimeCursor, other: TimeCursor): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0)
}

/** Strings only, see `Params`. */
function filterParams({ limit, ...filter }: ActivityFilter): Params {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...Object.fromEntries(given), limit: String(limit) }
}

function mergeItems({ replies, timedOut }: ClusterReplies, service: string, limit: number): ActivityItems {
  const lists = replies.flatMap(({ node, body }) =>
    isObject(body) && isList(body.items) ? [{ node, items: body.items, total: Number(body.total) }] : [],
  )
  if (lists.length === 0 && timedOut.length === 0) throw notHere(service)
  const items = lists
    .flatMap(({ node, items: found }) => found.map((item) => ({ ...item, node })))
    .sort((one, other) => newestFirst(placeOfShown(one), placeOfShown(other)))
  return { items: items.slice(0, limit), total: lists.reduce((sum, { total }) => sum + total, 0), silent: timedOut }
}

/** One object of each node. */
function byNode({ replies, timedOut }: ClusterReplies): ActivityItems {
  const items = replies.flatMap(({ node, body }) => (isObject(body) ? [{ node, ...body }] : []))
  return { items, total: items.length, silent: timedOut }
}

function notHere(service: string): Refusal {
  const what = service === 'wire' ? 'has a wire port' : `runs the ${service} service`
  return new Refusal('admin.not_here', 409, `No node that uses this data ${what}`)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isList(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value)
}

function presentStream(stream: OpenStream): JsonObject {
  return {
    id: stream.connectionId,
    user: stream.subject ?? null,
    username: stream.username ?? null,
    client: stream.clientId ?? null,
    address: stream.address,
    opened_at: instant(stream.openedAt),
    expires_at: instant(stream.expiresAt),
    subscriptions: stream.subscriptions,
  }
}

function presentWireConnection(connection: OpenWireConnection): JsonObject {
  return {
    id: connection.connectionId,
    user: connection.subject,
    username: connection.username ?? null,
    client: connection.clientId,
    address: connection.address,
    application: connection.application,
    opened_at: instant(connection.openedAt),
    expires_at: instant(connection.expiresAt),
    state: connection.isIdle ? 'idle' : 'active',
  }
}

function presentQuery(query: RunningQuery): JsonObject {
  return {
    id: query.requestId,
    user: query.subject,
    client: query.clientId,
    kind: query.kind,
    statement: query.statement,
    started_at: instant(query.startedAt),
  }
}
