/** What runs now on every node: streaming connections and queries, listed and cancelled wherever they are. */
import type { Cluster, ClusterReplies } from '../events/cluster.ts'
import { Refusal } from '../protocol/refusal.ts'
import { instant, type JsonObject } from './body.ts'
import type { Live, LiveItems, LiveQueries, LiveQuery, LiveStream, LiveStreams } from './ports.ts'

export interface LocalLive {
  /** Undefined where the service does not run on this node. */
  readonly streams: LiveStreams | undefined
  readonly queries: LiveQueries | undefined
}

/** Makes this node reply with what runs on it. */
export function handleLiveCalls(cluster: Pick<Cluster, 'handle'>, { streams, queries }: LocalLive): void {
  if (streams !== undefined)
    cluster.handle('streams', ({ user }) =>
      [...streams.list()].filter(({ subject }) => user === undefined || subject === user).map(presentStream),
    )
  if (queries === undefined) return
  cluster.handle('queries', () => [...queries.list()].map(presentQuery))
  cluster.handle('cancel', ({ query = '', owner }) => queries.cancel(query, owner))
}

export function createLive({ callAll }: Pick<Cluster, 'callAll'>): Live {
  return {
    streams: async (user) => itemsOf(await callAll('streams', user === undefined ? {} : { user }), 'streaming'),
    queries: async () => itemsOf(await callAll('queries'), 'query'),
    async cancel(query, owner) {
      const { replies } = await callAll('cancel', owner === undefined ? { query } : { query, owner })
      return replies.some(({ body }) => body === true)
    },
  }
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
