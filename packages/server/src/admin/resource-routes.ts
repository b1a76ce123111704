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

/** What a kind has besides its definition. */
export interface ResourceSpecials<Item> {
  /** Members that are shown with one, but cannot be changed here. */
  details?(item: Item, env: AdminEnv): Promise<JsonObject>
  /** Whether a list has them too. */
  readonly hasDetailsInList?: true
  /** Refuses what a change or removal has led to, in its transaction. */
  require?(env: AdminEnv, stores: Stores): Promise<void>
}

export function resourceRoutes<Item extends object, Declared extends object>(
  definition: Resource<Item, Declared>,
  specials: ResourceSpecials<Item> = {},
): readonly AdminRoute[] {
  const { noun, section, scope, list, routes } = definition
  const [collection, one] = [`/admin/${section}`, `/admin/${section}/{${noun}}`] as const
  const { create, change: patch, replace, pages, replies = {} } = routes
  const title = resourceTitle(definition)
  const body: JsonSchema = { ...list.items }
  const kind = { definition, specials }
  return [
    {
      method: 'GET',
      path: collection,
      scope,
      summary: routes.list,
      ...(pages && { query: pageQuery(pages.things, definition.key) }),
      reply: pages === undefined ? '{"items": […]}' : PAGE_REPLY,
      run: (call, env) => listItems(kind, call, env),
    },
    ...only(create, (summary) => ({
      method: 'POST',
      path: collection,
      scope,
      summary,
      body,
      reply: replies.create ?? `The ${title}.`,
      status: 201,
      run: (call, env) => createItem(kind, call, env),
    })),
    {
      method: 'GET',
      path: one,
      scope,
      summary: routes.show,
      reply: replies.show ?? `The ${title}.`,
      run: (call, env) => showItem(kind, call, env),
    },
    ...only(replace, (summary) => ({
      method: 'PUT',
      path: one,
      scope,
      summary,
      body: { ...body, required: list.items.required.filter((member) => member !== definition.key) },
      reply: replies.replace ?? `The ${title}; 201 if it is new.`,
      run: (call, env) => replaceItem(kind, call, env),
    })),
    ...only(patch, (summary) => ({
      method: 'PATCH',
      path: one,
      scope,
      summary,
      body,
      reply: replies.change ?? `The changed ${title}.`,
      run: (call, env) => changeItem(kind, call, env),
    })),
    {
      method: 'DELETE',
      path: one,
      scope,
      summary: routes.remove,
      run: (call, env) => removeItem(kind, call, env),
    },
  ]
}

/** The route, if there is a text for it. */
function only(summary: string | undefined, route: (summary: string) => AdminRoute): readonly AdminRoute[] {
  return summary === undefined ? [] : [route(summary)]
}

interface Kind<Item extends object, Declared extends object = never> {
  readonly definition: Resource<Item, Declared>
  readonly specials: ResourceSpecials<Item>
}

async function listItems<Item extends object>(
  { definition, specials }: Kind<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const store = definition.store(env.stores)
  const show = async (item: Item) => ({
    key: readKey(definition, item),
    shown: {
      ...definition.present(item),
      ...(specials.hasDetailsInList === true && (await specials.details?.(item, env))),
    },
  })
  if (definition.routes.pages === undefined) {
    const items = await Promise.all((await store.list()).map(show))
    return { body: { items: items.map(({ shown }) => shown) } }
  }
  const page = readPage(call)
  const items = await Promise.all((await store.list(page)).map(show))
  return pageReply(`/admin/${definition.section}`, call, page, items, {
    keyOf: ({ key }) => key,
    present: ({ shown }) => shown,
  })
}

async function showItem<Item extends object>(
  { definition, specials }: Kind<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const item = await findItem(definition, part(call, definition.noun), env.stores)
  return tagged(definition.present(item), await specials.details?.(item, env))
}

async function createItem<Item extends object, Declared extends object>(
  { definition }: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const body = readObject(call.body)
  if (definition.isNewerThanNodes?.(body) === true) await requireUpgraded(env)
  const item = await change(env, async (stores, effects) => {
    const wanted = await readItem(definition, body, stores, env)
    const key = readKey(definition, wanted)
    if ((await definition.store(stores).find(key)) !== undefined)
      throw conflict(`The ${resourceTitle(definition)} ${key} exists already`)
    return putItem(definition, wanted, 'created', stores, effects)
  })
  return replyCreated(definition, item, call, env)
}

/** Without If-Match, whether there is one or not. */
async function replaceItem<Item extends object, Declared extends object>(
  { definition }: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { noun, section, key } = definition
  const name = part(call, noun)
  const body = readObject(call.body)
  if (Object.hasOwn(body, key) && body[key] !== name)
    throw badBody([{ path: key, text: 'must be the name in the address' }])
  const { before, item } = await change(env, async (stores, effects) => {
    const wanted = await readItem(definition, { ...body, [key]: name }, stores, env)
    const found = await definition.store(stores).find(name)
    if (call.ifMatch !== undefined)
      checkMatch(call, definition.present(found ?? (await findItem(definition, name, stores))))
    const kind = found === undefined ? 'created' : 'changed'
    return { before: found, item: await putItem(definition, wanted, kind, stores, effects) }
  })
  if (before === undefined) return replyCreated(definition, item, call, env)
  const changed = changedMembers(definition.present(before), definition.present(item))
  const details = { ...definition.auditDetails?.(item), changed, source: 'admin' }
  if (changed.length > 0) record(env, call, { event: `${noun}.changed`, target: name, details })
  await env.reload(section)
  return tagged(definition.present(item))
}

async function replyCreated<Item extends object>(
  definition: Resource<Item, never>,
  item: Item,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { noun, section } = definition
  const key = readKey(definition, item)
  const details = { ...definition.auditDetails?.(item), source: 'admin' }
  record(env, call, { event: `${noun}.created`, target: key, details })
  await env.reload(section)
  return created(definition.present(item), `/admin/${section}/${encodeURIComponent(key)}`)
}

async function changeItem<Item extends object, Declared extends object>(
  { definition, specials }: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { noun, section, key, routes } = definition
  const name = part(call, noun)
  const patch = readObject(call.body)
  if (Object.hasOwn(patch, key) && patch[key] !== name)
    throw badBody([{ path: key, text: `cannot be changed: ${routes.instead}` }])
  refuseUnknownMembers(definition, patch)
  if (definition.isNewerThanNodes?.(patch) === true) await requireUpgraded(env)
  const tables = await readTables(definition, env)
  const item = await change(env, async (stores, effects) => {
    const before = await findItem(definition, name, stores)
    requireMatch(call, definition.present(before))
    const members = merged(definition.present(before), definition.readPatch?.(patch) ?? patch)
    const after = await readItem(definition, members, stores, env)
    refuse(await definition.refusal?.(before, after, { stores, tables }))
    const changed = await putItem(definition, after, 'changed', stores, effects)
    await specials.require?.(env, stores)
    return changed
  })
  const details = { ...definition.auditDetails?.(item), changed: Object.keys(patch), source: 'admin' }
  record(env, call, { event: `${noun}.changed`, target: name, details })
  await env.reload(section)
  return tagged(definition.present(item))
}

async function removeItem<Item extends object>(
  { definition, specials }: Kind<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<undefined> {
  const { noun, section } = definition
  const name = part(call, noun)
  const tables = await readTables(definition, env)
  await change(env, async (stores, effects) => {
    const before = await findItem(definition, name, stores)
    checkMatch(call, definition.present(before))
    refuse(await definition.refusal?.(before, undefined, { stores, tables }))
    await definition.store(stores).remove(name)
    await specials.require?.(env, stores)
    await settle(definition, 'changed', stores, effects)
  })
  record(env, call, { event: `${noun}.deleted`, target: name, details: { source: 'admin' } })
  await env.reload(section)
}

/** Returns it as it is stored. */
async function putItem<Item extends object>(
  definition: Resource<Item, never>,
  item: Item,
  kind: 'created' | 'changed',
  stores: Stores,
  effects: Effects,
): Promise<Item> {
  await refuseTogether(definition, item, stores)
  refuse(await definition.conflict?.(item, stores))
  const { revocations } = effects
  await (definition.put?.(item, { stores, revocations }) ?? definition.store(stores).put(item))
  await settle(definition, kind, stores, effects)
  return findItem(definition, readKey(definition, item), stores)
}

async function settle(
  { changedEvent, ...definition }: Pick<Resource<never, never>, 'changedEvent' | 'settle'>,
  kind: 'created' | 'changed',
  stores: Stores,
  { publish, revocations }: Effects,
): Promise<void> {
  await definition.settle?.(kind, { stores, revocations })
  if (changedEvent !== undefined) await publish({ kind: changedEvent })
}

/** A null removes a member, so that the check of the result would not see it. */
function refuseUnknownMembers({ list }: Pick<Resource<never, never>, 'list'>, patch: JsonObject): void {
  const unknown = Object.entries(patch).filter(
    ([member, value]) => value === null && !Object.hasOwn(list.items.properties, member),
  )
  if (unknown.length > 0) throw badBody(unknown.map(([path]) => ({ path, text: 'unknown member' })))
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
  definition: Resource<Item, never>,
  name: string,
  stores: Stores,
): Promise<Item> {
  const item = await definition.store(stores).find(name)
  if (item === undefined) throw notFound(resourceTitle(definition), name)
  return item
}

function changedMembers(before: JsonObject, after: JsonObject): string[] {
  const former = new Map(Object.entries(before))
  return Object.entries(after).flatMap(([member, value]) =>
    JSON.stringify(former.get(member)) === JSON.stringify(value) ? [] : [member],
  )
}
