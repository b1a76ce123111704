/** The administration routes that follow from a resource definition: list, create, show, change and remove. */
import type { JsonSchema } from '../http/openapi.ts'
import { takenNames } from '../resources/controller-names.ts'
import {
  byKey,
  checkItemShape,
  foldedKey,
  type Known,
  type NamingTable,
  type Resource,
  readKey,
  resourceTitle,
} from '../resources/define-resource.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, merged, readObject } from './request/body.ts'
import { change, type Effects, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'

export function resourceRoutes<Item extends object, Declared extends object>(
  resource: Resource<Item, Declared>,
): readonly AdminRoute[] {
  const { noun, section, scope, list, routes } = resource
  const [collection, one] = [`/admin/${section}`, `/admin/${section}/{${noun}}`] as const
  const body: JsonSchema = { ...list.items }
  const title = resourceTitle(resource)
  return [
    {
      method: 'GET',
      path: collection,
      scope,
      summary: routes.list,
      ...(routes.pages && { query: pageQuery(routes.pages.things, resource.key) }),
      reply: routes.pages === undefined ? '{"items": […]}' : PAGE_REPLY,
      run: (call, env) => listItems(resource, call, env),
    },
    {
      method: 'POST',
      path: collection,
      scope,
      summary: routes.create,
      body,
      reply: routes.replies?.create ?? `The ${title}.`,
      status: 201,
      run: (call, env) => createItem(resource, call, env),
    },
    {
      method: 'GET',
      path: one,
      scope,
      summary: routes.show,
      reply: routes.replies?.show ?? `The ${title}.`,
      run: async (call, { stores }) => tagged(resource.present(await findItem(resource, call, stores))),
    },
    {
      method: 'PATCH',
      path: one,
      scope,
      summary: routes.change,
      body,
      reply: routes.replies?.change ?? `The changed ${title}.`,
      run: (call, env) => changeItem(resource, call, env),
    },
    {
      method: 'DELETE',
      path: one,
      scope,
      summary: routes.remove,
      run: (call, env) => removeItem(resource, call, env),
    },
  ]
}

async function listItems<Item extends object>(
  resource: Resource<Item, never>,
  call: AdminCall,
  { stores }: AdminEnv,
): Promise<AdminReply> {
  const store = resource.store(stores)
  if (resource.routes.pages === undefined) return { body: { items: (await store.list()).map(resource.present) } }
  const page = readPage(call)
  return pageReply(`/admin/${resource.section}`, call, page, await store.list(page), {
    keyOf: (item) => readKey(resource, item),
    present: resource.present,
  })
}

async function createItem<Item extends object, Declared extends object>(
  resource: Resource<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const body = readObject(call.body)
  if (resource.isNewerThanNodes?.(body) === true) await requireUpgraded(env)
  const item = await change(env, async (stores, effects) => {
    const wanted = await readItem(resource, body, stores, env)
    const key = readKey(resource, wanted)
    if ((await resource.store(stores).find(key)) !== undefined)
      throw conflict(`The ${resourceTitle(resource)} ${key} exists already`)
    await refuseConflict(resource, wanted, stores)
    await putItem(resource, wanted, stores, effects)
    return wanted
  })
  const key = readKey(resource, item)
  record(env, call, { event: `${resource.noun}.created`, target: key, details: { source: 'admin' } })
  await env.reload(resource.section)
  return created(resource.present(item), `/admin/${resource.section}/${encodeURIComponent(key)}`)
}

async function changeItem<Item extends object, Declared extends object>(
  resource: Resource<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { noun, section, key, routes } = resource
  const patch = readObject(call.body)
  const name = part(call, noun)
  if (Object.hasOwn(patch, key) && patch[key] !== name)
    throw badBody([{ path: key, text: `cannot be changed: ${routes.instead}` }])
  refuseUnknownMembers(resource, patch)
  if (resource.isNewerThanNodes?.(patch) === true) await requireUpgraded(env)
  const tables = await readTables(resource, env)
  const item = await change(env, async (stores, effects) => {
    const before = await findItem(resource, call, stores)
    requireMatch(call, resource.present(before))
    const after = await readItem(resource, merged(resource.present(before), patch), stores, env)
    refuse(await resource.refusal?.(before, after, { stores, tables }))
    await putItem(resource, after, stores, effects)
    return after
  })
  const details = { changed: Object.keys(patch), source: 'admin' }
  record(env, call, { event: `${noun}.changed`, target: name, details })
  await env.reload(section)
  return tagged(resource.present(item))
}

async function removeItem<Item extends object>(
  resource: Resource<Item, never>,
  call: AdminCall,
  env: AdminEnv,
): Promise<undefined> {
  const { noun, section, changedEvent } = resource
  const name = part(call, noun)
  const tables = await readTables(resource, env)
  await change(env, async (stores, { publish }) => {
    const before = await findItem(resource, call, stores)
    checkMatch(call, resource.present(before))
    refuse(await resource.refusal?.(before, undefined, { stores, tables }))
    await resource.store(stores).remove(name)
    if (changedEvent !== undefined) await publish({ kind: changedEvent })
  })
  record(env, call, { event: `${noun}.deleted`, target: name, details: { source: 'admin' } })
  await env.reload(section)
}

async function putItem<Item extends object>(
  resource: Resource<Item, never>,
  item: Item,
  stores: Stores,
  { publish }: Effects,
): Promise<void> {
  await refuseTogether(resource, item, stores)
  await resource.store(stores).put(item)
  if (resource.changedEvent !== undefined) await publish({ kind: resource.changedEvent })
}

/** A null removes a member, so that the check of the result would not see it. */
function refuseUnknownMembers({ list }: Pick<Resource<never, never>, 'list'>, patch: JsonObject): void {
  const unknown = Object.keys(patch).filter((member) => !Object.hasOwn(list.items.properties, member))
  if (unknown.length > 0) throw badBody(unknown.map((path) => ({ path, text: 'is unknown' })))
}

/** The item that a body describes, which has no faults of its own. */
async function readItem<Item extends object, Declared extends object>(
  resource: Resource<Item, Declared>,
  body: JsonObject,
  stores: Stores,
  env: AdminEnv,
): Promise<Item> {
  const checked = checkItemShape<Declared>(resource, body)
  if ('faults' in checked) throw badBody(checked.faults)
  const faults = resource.faults?.(checked.declared, await readKnown(resource, stores, env)) ?? []
  if (faults.length > 0) throw badBody(faults)
  return resource.toItem(checked.declared)
}

async function readKnown(
  { refersTo = [] }: Pick<Resource<never, never>, 'refersTo'>,
  stores: Stores,
  { issuer, provisioning = false, loadedControllers }: AdminEnv,
): Promise<Known> {
  const roles = refersTo.includes('roles') ? await stores.roles.list() : []
  const attributes = refersTo.includes('attributes') ? await stores.attributes.list() : []
  return {
    scopes: new KnownScopes(refersTo.includes('scopes') ? await stores.apis.list() : [], { provisioning }),
    roles: new Set(roles.map(({ name }) => name)),
    attributes: new Map(attributes.map((attribute) => [attribute.name, attribute])),
    controllers: takenNames(loadedControllers),
    issuer,
  }
}

async function refuseTogether<Item extends object>(
  resource: Resource<Item, never>,
  item: Item,
  stores: Stores,
): Promise<void> {
  if (resource.faultsTogether === undefined) return
  const before = byKey(resource, await resource.store(stores).list())
  const after = new Map(before).set(foldedKey(resource, item), item)
  const faults = resource.faultsTogether([...after.values()], before, () => '')
  if (faults.length > 0) throw badBody(faults)
}

async function refuseConflict<Item extends object>(
  resource: Resource<Item, never>,
  item: Item,
  stores: Stores,
): Promise<void> {
  refuse(await resource.conflict?.(item, stores))
}

function refuse(reason: string | undefined): void {
  if (reason !== undefined) throw conflict(reason)
}

/** Read before the transaction, because the query service has a database of its own. */
async function readTables(
  { isNamedByTables }: Pick<Resource<never, never>, 'isNamedByTables'>,
  { definitions }: AdminEnv,
): Promise<readonly NamingTable[]> {
  if (isNamedByTables !== true) return []
  const { tables = [], views = [] } = (await definitions()) ?? {}
  return [...tables, ...views.map(({ name, readScope }) => ({ name, readScope }))]
}

async function findItem<Item extends object>(
  resource: Resource<Item, never>,
  call: AdminCall,
  stores: Stores,
): Promise<Item> {
  const name = part(call, resource.noun)
  const item = await resource.store(stores).find(name)
  if (item === undefined) throw notFound(resourceTitle(resource), name)
  return item
}
