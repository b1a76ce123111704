/** `/scim/v2/`, the entry of this folder: every SCIM endpoint, on one screen. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import type { ApiRoute } from '../http/openapi.ts'
import { requireScope } from '../http/request/authentication.ts'
import type { Method, Route, RouteGroup } from '../http/route.ts'
import { PROVISIONING, type ScimAuthenticationOptions, scimAuthentication } from './authentication.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import { SCIM_PATH, type ScimEnv } from './environment.ts'
import type { JsonObject } from './filter/match.ts'
import { createGroup, deleteGroup, getGroup, patchGroup, replaceGroup } from './groups/groups.ts'
import { listGroups } from './groups/list-groups.ts'
import { readBody } from './patch-body.ts'
import { type ListQuery, readListQuery, readSearch } from './query-parameters.ts'
import { send, sendList } from './replies.ts'
import { notFound, replyWithScimError, SCIM_TYPE } from './scim-error.ts'
import { listUsers } from './users/list-users.ts'
import { createUser, deleteUser, getUser, patchUser, replaceUser } from './users/users.ts'

export { SCIM_PATH }

const BODY = { limit: 1024 * 1024, types: [SCIM_TYPE, 'application/json'] }
const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

type Handle = (context: Context, env: ScimEnv) => void | Promise<void>

/** The routes in the OpenAPI document. */
export async function describeRoutes(): Promise<ApiRoute[]> {
  const { describeScim } = await import('./openapi.ts')
  return describeScim()
}

export function scimGroup(env: ScimEnv, access: ScimAuthenticationOptions): RouteGroup {
  const seen = new Map<string, number>()
  const route = (method: Method, path: string, handle: Handle): Route => ({
    method,
    path: SCIM_PATH + path,
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: BODY }),
    access(principal, context) {
      requireScope(PROVISIONING)(principal)
      noteClient(principal.clientId)
      countReply(context)
    },
    handle: (context) => handle(context, env),
  })

  /** Each node notes a client once a minute. A failure to do so fails no request. */
  function noteClient(clientId: string): void {
    const now = env.clock()
    if (now - (seen.get(clientId) ?? 0) < NOTED_EVERY_MS) return
    seen.set(clientId, now)
    env.tokens.seen(clientId, undefined).catch(() => seen.delete(clientId))
  }

  function countReply({ method, route: path, response }: Context): void {
    const resource = path.split('/')[3] ?? 'none'
    response.once('finish', () =>
      env.metrics.count('gatehouse_scim_requests_total', { resource, method, status: String(response.statusCode) }),
    )
  }

  return {
    at: [SCIM_PATH],
    limit: 'scim',
    headers: { 'cache-control': 'no-store' },
    fail: replyWithScimError,
    authenticate: scimAuthentication(access),
    routes: [
      route('GET', '/Users', (context) => listUsers(context, env, readListQuery(context))),
      route('POST', '/Users', createUser),
      route('POST', '/Users/.search', (context) => listUsers(context, env, readSearchBody(context))),
      route('GET', '/Users/:id', getUser),
      route('PUT', '/Users/:id', replaceUser),
      route('PATCH', '/Users/:id', patchUser),
      route('DELETE', '/Users/:id', deleteUser),
      route('GET', '/Groups', (context) => listGroups(context, env, readListQuery(context))),
      route('POST', '/Groups', createGroup),
      route('POST', '/Groups/.search', (context) => listGroups(context, env, readSearchBody(context))),
      route('GET', '/Groups/:id', getGroup),
      route('PUT', '/Groups/:id', replaceGroup),
      route('PATCH', '/Groups/:id', patchGroup),
      route('DELETE', '/Groups/:id', deleteGroup),
      route('GET', '/ServiceProviderConfig', (context) => send(context, serviceProviderConfig(env.base), 200)),
      route('GET', '/ResourceTypes', (context) => describe(context, resourceTypes)),
      route('GET', '/ResourceTypes/:id', (context) => describeOne(context, resourceTypes)),
      route('GET', '/Schemas', (context) => describe(context, schemas)),
      route('GET', '/Schemas/:id', (context) => describeOne(context, schemas)),
      ...METHODS.map((method) => route(method, '/:rest*', refuseUnknown)),
    ],
  }

  async function describe(context: Context, of: typeof schemas): Promise<void> {
    // RFC 7644 §4: these lists are not filtered.
    if (context.query.has('filter')) throw new Refusal('scim.forbidden', 403, 'This list cannot be filtered')
    const resources = of(env.base, await env.attributes.definitions())
    sendList(context, { totalResults: resources.length, startIndex: 1, resources })
  }

  async function describeOne(context: Context, of: typeof schemas): Promise<void> {
    const wanted = context.param('id').toLowerCase()
    const found = of(env.base, await env.attributes.definitions()).find(({ id }) => String(id).toLowerCase() === wanted)
    if (found === undefined) throw notFound(`There is no ${context.param('id')}`)
    send(context, found, 200)
  }
}

const NOTED_EVERY_MS = 60_000
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

function readSearchBody(context: Context): ListQuery {
  const body: JsonObject = readBody(context.body, SEARCH_SCHEMA)
  return readSearch(body)
}

const UNSUPPORTED = ['/.search', '/me', '/bulk'].map((path) => SCIM_PATH + path)

/** Errors of SCIM clients are SCIM's, also at addresses that do not exist. */
function refuseUnknown({ path }: Context): void {
  if (UNSUPPORTED.some((known) => path.toLowerCase() === known || path.toLowerCase().startsWith(`${known}/`)))
    throw new Refusal('scim.not_supported', 501, `${path} is not supported`)
  throw notFound(`Nothing is served at ${path}`)
}
