/** `/admin`: the administration routes over HTTP, each with its scope. */

import { pipeline, Readable } from 'node:stream'
import type { Authenticate, Principal } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import type { ApiRoute } from '../http/openapi.ts'
import { authenticateRequest, requireScope } from '../http/request/authentication.ts'
import type { Route, RouteGroup } from '../http/route.ts'
import { parseJson } from '../lib/exact-json.ts'
import { isDeeperThan } from '../lib/json-depth.ts'
import { badBody } from './request/body.ts'
import { HeldRequests } from './request/held-requests.ts'
import { readQuery } from './request/parameters.ts'
import type { AdminEnv, AdminReply, AdminRoute } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'

/** A client with its keys has six levels. */
const MAX_DEPTH = 32
const BODY = { limit: 64 * 1024, types: ['application/json', 'application/merge-patch+json'] }

export function adminGroup(
  env: AdminEnv,
  authenticate: Authenticate,
  routes: readonly AdminRoute[] = ADMIN_ROUTES,
): RouteGroup {
  const callers = { authenticate, held: new HeldRequests() }
  return {
    at: ['/admin'],
    limit: 'admin',
    sharesProofs: true,
    routes: routes.map((route) => httpRoute(route, env, callers)),
  }
}

interface Callers {
  readonly authenticate: Authenticate
  readonly held: HeldRequests
}

function httpRoute(route: AdminRoute, env: AdminEnv, { authenticate, held }: Callers): Route {
  const { method, path, scope } = route
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return {
    method,
    path: path.replace(/\{(\w+)\}/g, ':$1'),
    ...(method === 'GET' ? {} : { body: BODY }),
    access(principal, context) {
      if (!principal.scopes.has(scope)) recordForbidden(principal, context, route, env)
      requireScope(scope)(principal)
    },
    async handle(context) {
      const left = new AbortController()
      context.onClose(() => left.abort())
      const reply = await route.run(
        {
          params: Object.fromEntries(names.map((name) => [name, context.param(name)])),
          query: readQuery(context.target, route),
          body: readJson(String(context.body)),
          ifMatch: context.headers['if-match'],
          caller: context.principal,
          address: context.address,
          requestId: context.id,
          signal: AbortSignal.any([left.signal, env.stopping]),
          requireAccess: async () => requireScope(scope)(await authenticateRequest(context, { authenticate })),
          hold: (act) => held.hold(context.principal, act),
        },
        env,
      )
      // A reply means that the change is in effect everywhere.
      if (method !== 'GET') await env.activity.settle()
      send(context, route, reply ?? {})
    },
  }
}

/** A caller with a valid token but too few rights is recorded in the audit log. */
function recordForbidden(caller: Principal, { address, id }: Context, route: AdminRoute, env: AdminEnv): void {
  env.audit.record({
    event: 'access.refused',
    actor: caller.subject,
    client: caller.clientId,
    address,
    requestId: id,
    details: { method: route.method, path: route.path, needs: route.scope },
  })
}

function send(context: Context, route: AdminRoute, { status, body, text, lines, headers = {} }: AdminReply): void {
  context.setHeaders({ 'cache-control': 'no-store', ...headers })
  if (text !== undefined) context.send(text.type, text.body, status)
  else if (lines !== undefined) {
    const response = context.stream(route.mediaType ?? 'text/plain', status)
    pipeline(Readable.from(withFailure(context, lines)), response, (error) => {
      if (error != null && !response.destroyed) response.destroy()
    })
  } else if (body === undefined) context.end(204)
  else context.json(body, status)
}

/** The status has already been sent, so a failure to send the rest is only logged. */
async function* withFailure(context: Context, lines: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* lines
  } catch (error) {
    if (!context.response.destroyed) {
      context.log.error({ err: error }, 'request failed after the reply had begun')
      context.incompleteStatus = 500
    }
    throw error
  }
}

function readJson(text: string): unknown {
  if (text === '') return undefined
  if (isDeeperThan(text, MAX_DEPTH)) throw badBody([{ path: '', text: `it nests more than ${MAX_DEPTH} levels deep` }])
  try {
    return parseJson(text)
  } catch {
    // The parser's message would repeat the text, which may be a password.
    throw badBody([{ path: '', text: 'it is not JSON' }])
  }
}

/** For /openapi.json. */
export function describeAdmin(routes: readonly AdminRoute[] = ADMIN_ROUTES): ApiRoute[] {
  return routes.map((route) => ({
    method: route.method,
    path: route.path,
    tag: 'Administration',
    summary: route.summary,
    scopes: [route.scope],
    parameters: [
      ...Object.entries(route.query ?? {}).map(([name, description]) => ({ name, in: 'query', description }) as const),
      ...(route.method === 'PATCH'
        ? [
            {
              name: 'If-Match',
              in: 'header',
              required: true,
              description: 'The ETag of the version that is changed, or *.',
            } as const,
          ]
        : []),
    ],
    ...(route.body === undefined
      ? {}
      : { body: { [route.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json']: route.body } }),
    replies:
      route.reply === undefined
        ? { 204: { description: 'Nothing.' } }
        : {
            [route.status ?? 200]: {
              description: route.reply,
              content: { [route.mediaType ?? 'application/json']: {} },
            },
          },
  }))
}
