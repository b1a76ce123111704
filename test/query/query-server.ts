/** The query service on a free port, with callers whose tokens are their names. */

import type { Audit, Authenticate, Clock, Principal } from 'gatehouse-protocol'
import type { Bus } from '../../packages/server/src/events/bus.ts'
import { UnreadReplies } from '../../packages/server/src/http/limits/unread-replies.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import { logAvailability } from '../../packages/server/src/lib/availability.ts'
import type { AttributeSource } from '../../packages/server/src/query/catalogue/attributes.ts'
import type { LiveLimits } from '../../packages/server/src/query/live/limits.ts'
import type { Owners } from '../../packages/server/src/query/saved/documents.ts'
import { openQuery, type QueryService } from '../../packages/server/src/query/service.ts'
import type { QueryLimits, QueryOptions } from '../../packages/server/src/query/service-options.ts'
import type { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import type { SharedFile } from '../../packages/server/src/store/database/shared-file.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { deriveKey } from '../support/derived-key.ts'
import type { TestPlace } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'

export interface QueryServer {
  readonly url: string
  readonly service: QueryService
  readonly log: readonly string[]
  readonly metrics: Metrics
  /** Sends one statement. */
  query(statement: string, options?: CallOptions): Promise<Reply>
  call(path: string, body: unknown, options?: CallOptions): Promise<Reply>
  stop(): Promise<void>
}

export interface CallOptions {
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: ReplyBody
}

/** The members of a result or a problem that tests read. */
export interface ReplyBody {
  readonly Row?: number
  readonly Rows: readonly Record<string, unknown>[]
  readonly Columns: Record<string, { Ordinal: number; Type: string; Nullable: boolean }>
  readonly RowCount: number
  readonly RowsAffected: number
  readonly Truncated: boolean
  readonly NextCursor: string
  readonly RequestId: string
  readonly Error: { Code: string }
  readonly Code: string
  readonly detail: string
  readonly Expected: readonly string[]
  readonly Hint: string
  readonly Position: { Offset: number; Line: number; Column: number }
  readonly Scope: string
  readonly Column: string
  readonly Value: unknown
}

/** Callers by name, which is also their token. */
export const CALLERS: Readonly<Record<string, Principal>> = {
  admin: caller('admin', ['Platform/Admin', 'Platform/Market', 'Platform/Trading'], ['operator']),
  trader: caller('trader', ['Platform/Market', 'Platform/Trading'], ['trader']),
  market: caller('market', ['Platform/Market'], []),
  news: caller('news', ['Platform/News'], []),
  definer: caller('definer', ['Platform/Admin'], []),
  /** A client that acts for itself has no username. */
  service: { ...caller('service', ['Platform/Market'], []), kind: 'client', username: undefined },
  nobody: caller('nobody', ['openid'], []),
  elsewhere: { ...caller('elsewhere', ['Platform/Admin'], []), audiences: ['another'] },
}

export function caller(name: string, scopes: readonly string[], roles: readonly string[]): Principal {
  return {
    subject: name,
    kind: 'user',
    clientId: `${name}-client`,
    scopes: new Set(scopes),
    roles,
    audiences: ['platform'],
    tokenId: `token-${name}`,
    sessionId: undefined,
    grantId: undefined,
    username: name,
    displayName: undefined,
    issuedAt: 0,
    expiresAt: Number.MAX_SAFE_INTEGER,
    authTime: undefined,
  }
}

export interface ServerOptions {
  readonly limits?: Partial<QueryLimits>
  readonly liveLimits?: Partial<LiveLimits>
  readonly clock?: Clock
  /** Shared with other nodes; a new one by default. */
  readonly bus?: Bus
  /** Those of PostgreSQL, where a test needs more of them than their addresses. */
  readonly servers?: DatabaseServers
  /** As one of several workers on one SQLite file. */
  readonly shared?: SharedFile
  readonly audit?: Audit
  readonly owners?: Owners
  readonly attributes?: AttributeSource
  readonly authenticate?: Authenticate
  /** Bytes of replies that clients may leave unread. */
  readonly maxUnreadBytes?: number | undefined
  readonly columnTiming?: QueryOptions['columnTiming']
}

export async function startQueryServer(place: TestPlace, options: ServerOptions = {}): Promise<QueryServer> {
  const log: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } })
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const bus = options.bus ?? createLocalBus()
  const metrics = new Metrics()
  const service = await openQuery({
    bus,
    metrics,
    clock: options.clock ?? Date.now,
    onError: (error) => logger.error({ err: error }, 'the query service failed'),
    onAvailability: logAvailability(logger, 'query'),
    onStuck: (stuck) => logger.warn(stuck, 'an abandoned statement is still running in the database'),
    database: {
      dataFolder: place.dataFolder,
      databaseUrl: place.databaseUrl,
      servers: options.servers,
      shared: options.shared,
    },
    deriveKey,
    ...(options.columnTiming === undefined ? {} : { columnTiming: options.columnTiming }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.liveLimits === undefined ? {} : { liveLimits: options.liveLimits }),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    ...(options.owners === undefined ? {} : { owners: options.owners }),
    ...(options.attributes === undefined ? {} : { attributes: options.attributes }),
  })
  const authenticate = options.authenticate ?? (async (token: string) => CALLERS[token])
  const pipeline = new Pipeline({
    groups: service.routes({ authenticate }),
    logger,
    metrics,
    readAddress: connectionAddress,
    authenticate,
    unread: new UnreadReplies({
      metrics,
      ...(options.maxUnreadBytes === undefined ? {} : { maxBytes: options.maxUnreadBytes }),
    }),
  })
  listener.answerWith(pipeline)
  const url = `http://127.0.0.1:${listener.port}`
  const send = async (
    path: string,
    body: string | undefined,
    type: string,
    { as = 'admin', headers = {}, method = 'POST' }: CallOptions,
  ): Promise<Reply> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { 'content-type': type }), ...headers },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parsed(text) }
  }
  return {
    url,
    service,
    log,
    metrics,
    query: (statement, call = {}) => send('/query', statement, 'text/plain; charset=utf-8', call),
    call: (path, body, call = {}) =>
      send(
        path,
        body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
        'application/json',
        call,
      ),
    async stop() {
      await listener.close(0)
      await service.close()
      if (options.bus === undefined) await bus.close()
    },
  }
}

function parsed(text: string): ReplyBody {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse('{}')
  }
}
