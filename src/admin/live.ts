/** What runs now, on every node: live streaming sessions and queries, gathered from all of them, and ended wherever they are. */
import type { Assembly, Gathered } from '../events/assembly.ts'
import { Refusal } from '../protocol/refusal.ts'
import { instant, type JsonObject } from './body.ts'
import type { Live, LiveItems, LiveQueries, LiveQuery, LiveStream, LiveStreams } from './ports.ts'

export interface LiveHere {
  /** Undefined where the service does not run on this node. */
  readonly streams: LiveStreams | undefined
  readonly queries: LiveQueries | undefined
}

/** Lets this node answer for what runs on it. */
export function answerForHere(assembly: Pick<Assembly, 'answer'>, { streams, queries }: LiveHere): void {
  if (streams !== undefined)
    assembly.answer('streams', ({ user }) =>
      [...streams.list()].filter(({ subject }) => user === undefined || subject === user).map(presentStream),
    )
  if (queries === undefined) return
  assembly.answer('queries', () => [...queries.list()].map(presentQuery))
  assembly.answer('cancel', ({ query = '', owner }) => queries.cancel(query, owner))
}

export function createLive({ ask }: Pick<Assembly, 'ask'>): Live {
  return {
    streams: async (user) => itemsOf(await ask('streams', user === undefined ? {} : { user }), 'streaming'),
    queries: async () => itemsOf(await ask('queries'), 'query'),
    async cancel(query, owner) {
      const { said } = await ask('cancel', owner === undefined ? { query } : { query, owner })
      return said.some(({ body }) => body === true)
    },
  }
}

function itemsOf({ said, silent }: Gathered, service: string): LiveItems {
  const lists = said.filter((answer): answer is { node: string; body: JsonObject[] } => Array.isArray(answer.body))
  if (lists.length === 0 && silent.length === 0) throw notHere(service)
  return { items: lists.flatMap(({ node, body }) => body.map((item) => ({ ...item, node }))), silent }
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
    statement: query.statement,
    started_at: instant(query.startedAt),
  }
}
