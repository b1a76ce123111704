/** Administration of APIs: programs of your own that take access tokens of this server, and the scopes of each. */
import { clientsOfApis, removedScopes, usersOfScopes } from '../declarative/api-changes.ts'
import { apiTarget, presentApi } from '../declarative/declared-api.ts'
import { allClients } from '../declarative/export.ts'
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import type { Stores } from '../store/stores.ts'
import { API_SCHEMA, badBody, type JsonObject, merged, readApi, readObject } from './request/body.ts'
import { change, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminEnv, type AdminRoute, conflict, knownApis, notFound, part } from './route.ts'

export const apiRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/apis',
    scope: 'Identity/Admin',
    summary: 'Lists APIs page by page, ordered by resource.',
    query: pageQuery('APIs', 'resource'),
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const found = await stores.apis.list(page)
      return pageReply('/admin/apis', call, page, found, { keyOf: ({ resource }) => resource, present: presentApi })
    },
  },
  {
    method: 'POST',
    path: '/admin/apis',
    scope: 'Identity/Admin',
    summary: 'Declares an API. All nodes have it at once.',
    body: API_SCHEMA,
    reply: 'The API.',
    status: 201,
    async run(call, env) {
      const body = readObject(call.body)
      await requireUpgraded(env)
      const api = await change(env, async (stores, { publish }) => {
        const wanted = await readDefinition(body, stores, env)
        if ((await stores.apis.find(wanted.resource)) !== undefined)
          throw conflict(`The API ${wanted.resource} exists already`)
        await stores.apis.put(wanted)
        await publish({ kind: 'apis-changed' })
        return wanted
      })
      record(env, call, { event: 'api.created', target: api.resource, details: { source: 'admin' } })
      await env.apisChanged()
      return created(presentApi(api), `/admin/apis/${encodeURIComponent(api.resource)}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/apis/{api}',
    scope: 'Identity/Admin',
    summary: 'Shows an API by its resource, which is percent-encoded in the address.',
    reply: 'The API.',
    async run(call, { stores }) {
      return tagged(presentApi(await findApi(stores, part(call, 'api'))))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/apis/{api}',
    scope: 'Identity/Admin',
    summary:
      'Changes an API (JSON merge patch; `scopes` is replaced as a whole). The resource stays. Scopes that something names are not removed: the reply names the users. New tokens have the change at once.',
    body: API_SCHEMA,
    reply: 'The changed API.',
    async run(call, env) {
      const resource = part(call, 'api')
      const patch = readObject(call.body)
      if (patch.resource !== undefined && patch.resource !== resource)
        throw badBody([{ path: 'resource', text: 'cannot be changed: declare another API' }])
      // A null removes a member, so that the check of the result would not see it.
      const unknown = Object.keys(patch).filter((member) => !Object.hasOwn(API_SCHEMA.properties ?? {}, member))
      if (unknown.length > 0) throw badBody(unknown.map((path) => ({ path, text: 'is unknown' })))
      await requireUpgraded(env)
      const tables = await tablesOf(env)
      const api = await change(env, async (stores, { publish }) => {
        const before = await findApi(stores, resource)
        requireMatch(call, presentApi(before))
        const after = await readDefinition(merged(presentApi(before), patch), stores, env)
        await refuseUsed(before, after, stores, tables)
        await stores.apis.put(after)
        await publish({ kind: 'apis-changed' })
        return after
      })
      record(env, call, {
        event: 'api.changed',
        target: resource,
        details: { changed: Object.keys(patch), source: 'admin' },
      })
      await env.apisChanged()
      return tagged(presentApi(api))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/apis/{api}',
    scope: 'Identity/Admin',
    summary:
      'Removes an API with its scopes. While roles, clients, tables, feeds or topics name one of them it is not removed: the reply names them.',
    async run(call, env) {
      const resource = part(call, 'api')
      const tables = await tablesOf(env)
      await change(env, async (stores, { publish }) => {
        const before = await findApi(stores, resource)
        checkMatch(call, presentApi(before))
        await refuseUsed(before, undefined, stores, tables)
        await stores.apis.remove(resource)
        await publish({ kind: 'apis-changed' })
      })
      record(env, call, { event: 'api.deleted', target: resource, details: { source: 'admin' } })
      await env.apisChanged()
    },
  },
]

async function readDefinition(body: JsonObject, stores: Stores, env: AdminEnv): Promise<Api> {
  const api = apiTarget(readApi(body, await stores.attributes.list(), await knownApis(env, stores)))
  const builtIn = ['', '/query', '/Platform'].map((path) => env.issuer + path)
  if (builtIn.includes(api.resource))
    throw badBody([{ path: 'resource', text: 'is an address of this server: choose another' }])
  return api
}

/** Users of scopes that a refusal names. */
const MOST_NAMED = 20

async function refuseUsed(before: Api, after: Api | undefined, stores: Stores, tables: Tables): Promise<void> {
  const removed = removedScopes([before], new KnownScopes(after === undefined ? [] : [after]))
  const clients = removed.size > 0 || after === undefined ? await allClients(stores) : []
  const ofApi = after === undefined ? clientsOfApis(new Set([before.resource]), clients) : []
  if (ofApi.length > 0)
    throw conflict(`The API is named by ${ofApi.slice(0, MOST_NAMED).join(', ')} as api: change these first`)
  if (removed.size === 0) return
  const users = usersOfScopes(removed, {
    roles: await stores.roles.list(),
    clients,
    attributes: await stores.attributes.list(),
    feeds: await stores.feeds.list(),
    controllers: await stores.controllers.list(),
    tables,
  })
  if (users.length === 0) return
  const named = [...users.slice(0, MOST_NAMED), ...(users.length > MOST_NAMED ? ['others'] : [])].join(', ')
  throw conflict(`The scopes ${[...removed].slice(0, MOST_NAMED).join(', ')} are used by ${named}: change these first`)
}

type Tables = readonly {
  readonly name: string
  readonly readScope: string | null
  readonly writeScope?: string | null
}[]

/** Where no node runs the query service, no table names a scope. */
async function tablesOf({ definitions }: AdminEnv): Promise<Tables> {
  const { tables = [], views = [] } = (await definitions()) ?? {}
  return [...tables, ...views.map(({ name, readScope }) => ({ name, readScope }))]
}

async function findApi({ apis }: Pick<Stores, 'apis'>, resource: string): Promise<Api> {
  const api = await apis.find(resource)
  if (api === undefined) throw notFound('API', resource)
  return api
}
