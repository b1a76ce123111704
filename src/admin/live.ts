/** What runs now on every node: streaming connections and queries, listed and cancelled wherever they are. */
import type { Cluster, ClusterReplies } from '../events/cluster.ts'
import { Refusal } from '../protocol/refusal.ts'
import { instant, type JsonObject } from './body.ts'
import { readTimeCursor, type TimeCursor, writeTimeCursor } from './page.ts'
import type { Live, LiveItems, LiveQueries, LiveQuery, LiveStream, LiveStreams, StreamsWanted } from './ports.ts'

export interface LocalLive {
  /** Undefined where the service does not run on this node. */
  readonly streams: LiveStreams | undefined
  readonly queries: LiveQueries | undefined
}

/** Makes this node reply with what runs on it. */
export function handleLiveCalls(cluster: Pick<Cluster, 'handle'>, { streams, queries }: LocalLive): void {
  if (streams !== undefined) {
    cluster.handle('streams', (params) => pageOf([...streams.list()], params).map(presentStream))
    cluster.handle('stream-count', ({ user }) => [...streams.list()].filter(({ subject }) => subject === user).length)
  }
  if (queries === undefined) return
  cluster.handle('queries', () => [...queries.list()].map(presentQuery))
  cluster.handle('cancel', ({ query = '', owner }) => queries.cancel(query, owner))
}

export function createLive({ callAll }: Pick<Cluster, 'callAll'>): Live {
  return {
    async streams(wanted) {
      const { items, silent } = itemsOf(await callAll('streams', paramsOf(wanted)), 'streaming')
      const sorted = items.toSorted((a, b) => newestFirst(keyOfItem(a), keyOfItem(b)))
      return { items: sorted.slice(0, wanted.page?.limit), silent }
    },
    async countStreams(user) {
      const { replies } = await callAll('stream-count', { user })
      return replies.reduce((sum, { body }) => sum + Number(body ?? 0), 0)
    },
    queries: async () => itemsOf(await callAll('queries'), 'query'),
    async cancel(query, owner) {
      const { replies } = await callAll('cancel', owner === undefined ? { query } : { query, owner })
      return replies.some(({ body }) => body === true)
    },
  }
}

function paramsOf({ user, connection, page }: StreamsWanted): Record<string, string> {
  return {
    ...(user === undefined ? {} : { user }),
    ...(connection === undefined ? {} : { connection }),
    ...(page === undefined ? {} : { limit: String(page.limit) }),
    ...(page?.after === undefined ? {} : { after: writeTimeCursor(page.after) }),
  }
}

/** The streams of this node that a call asks for; without a limit all of them. */
function pageOf(
  streams: readonly LiveStream[],
  { user, connection, limit, after = '' }: Readonly<Record<string, string>>,
): readonly LiveStream[] {
  const last = readTimeCursor(after)
  const wanted = streams.filter(
    (stream) =>
      (user === undefined || stream.subject === user) &&
      (connection === undefined || stream.connectionId === connection) &&
      (last === undefined || newestFirst(last, keyOf(stream)) < 0),
  )
  if (limit === undefined) return wanted
  return wanted.sort((a, b) => newestFirst(keyOf(a), keyOf(b))).slice(0, Number(limit))
}

function keyOf({ openedAt, connectionId }: LiveStream): TimeCursor {
  return { createdAt: openedAt, id: connectionId }
}

/** The place of a stream in the list of all nodes. */
export function keyOfItem({ opened_at, id }: JsonObject): TimeCursor {
  return { createdAt: Date.parse(String(opened_at)), id: String(id) }
}

function newestFirst(a: TimeCursor, b: TimeCursor): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

function itemsOf({ replies, timedOut }: ClusterReplies, service: string): LiveItems {
  const lists = replies.filter((reply): reply is { node: string; body: JsonObject[] } => Array.isArray(reply.body))
  if (lists.length === 0 && timedOut.length === 0) throw notHere(service)
  return { items: lists.flatMap(({ node, body }) => body.map((item) => ({ ...item, node }))), silent: timedOut }
}

function notHere(service: string): Refusal {
  return new Refusal('admin.not_here', 409, `No node with the ${service} service runs on this data`)
}

function presentStream(stream: LiveStream): JsonObject {
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

function presentQuery(query: LiveQuery): JsonObject {
  return {
    id: query.requestId,
    user: query.subject,
    client: query.clientId,
    kind: query.kind,
    statement: query.statement,
    started_at: instant(query.startedAt),
  }
}
