/** The routes of the query service: statements, the calls on a table, and cancel. */
import type { Authenticate } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import type { Context } from '../../http/context.ts'
import type { BodyRule, Route, RouteGroup } from '../../http/route.ts'
import type { QueryActivity } from '../activity.ts'
import type { Spools } from '../bulk/spools.ts'
import { ADMIN_SCOPE } from '../catalogue/system-tables.ts'
import { refuse } from '../errors.ts'
import type { LiveQueries } from '../live/contract.ts'
import { callOwner } from '../run/call.ts'
import { isBulk } from './bulk-type.ts'
import { LiveEndpoint } from './live.ts'
import { replyToError } from './problem.ts'
import { prefersEvents, requirePlatformAccess } from './request.ts'
import { SELECT } from './select.ts'
import { type Sent, type ServeEnv, serve } from './serve.ts'
import { STATEMENT } from './statement.ts'
import { DELETE, INSERT, UPDATE } from './write-call.ts'

export interface EndpointsEnv extends ServeEnv {
  readonly live: LiveQueries
  readonly activity: QueryActivity
  readonly spools: Spools
  readonly authenticate: Authenticate
  readonly bus: Pick<Bus, 'subscribe'>
  /** Cancels a query of the owner, or of any owner, on any node. */
  readonly cancel: (requestId: string, owner: string | undefined) => Promise<boolean>
  readonly limits: ServeEnv['limits'] & { readonly statementBytes: number; readonly bodyBytes: number }
}

export interface QueryEndpoints {
  readonly group: RouteGroup
  /** Ends the responses of live statements, which last until their clients leave. */
  stop(): void
}

export function queryEndpoints(endpoints: EndpointsEnv): QueryEndpoints {
  const { limits } = endpoints
  const events = new LiveEndpoint(endpoints)
  const ofTable: BodyRule = {
    get limit() {
      return limits.bodyBytes
    },
  }
  const ofInsert: BodyRule = {
    get limit() {
      return limits.bodyBytes
    },
    isStreamed: isBulk,
  }
  const ofStatement: BodyRule = { limit: limits.statementBytes * 2 + 65_536 }
  const post = (path: string, body: BodyRule, handle: (context: Context) => Sent): Route => ({
    method: 'POST',
    path,
    body,
    access: requirePlatformAccess,
    handle,
  })
  const group: RouteGroup = {
    at: ['/query'],
    limit: 'query',
    fail: replyToError,
    routes: [
      post('/query', ofStatement, (context) =>
        prefersEvents(context.headers.accept) ? events.post(context) : serve(context, endpoints, STATEMENT),
      ),
      {
        method: 'GET',
        path: '/query',
        access: requirePlatformAccess,
        handle: (context) => events.get(context),
      },
      post('/query/:table/select', ofTable, (context) => serve(context, endpoints, SELECT)),
      post('/query/:table/insert', ofInsert, (context) =>
        isBulk(context) ? insertBulk(context, endpoints) : serve(context, endpoints, INSERT),
      ),
      post('/query/:table/update', ofTable, (context) => serve(context, endpoints, UPDATE)),
      post('/query/:table/delete', ofTable, (context) => serve(context, endpoints, DELETE)),
      {
        method: 'DELETE',
        path: '/query/:requestId',
        access: requirePlatformAccess,
        handle: (context) => cancel(context, endpoints),
      },
    ],
  }
  return { group, stop: () => events.stop() }
}

/** Loaded by the first such request. */
async function insertBulk(context: Context, env: ServeEnv & Pick<EndpointsEnv, 'spools'>): Promise<void> {
  const { bulk } = await import('./bulk.ts')
  await bulk(context, env)
}

async function cancel(context: Context, env: EndpointsEnv): Promise<void> {
  const { principal } = context
  const requestId = context.param('requestId')
  const owner = principal.scopes.has(ADMIN_SCOPE) ? undefined : callOwner(principal)
  if (!env.activity.cancel(requestId, owner) && !(await env.cancel(requestId, owner)))
    throw refuse('Request.UnknownRequest', `You have no running query with the Request-Id ${requestId}`)
  context.end(204)
}
