/** The administration routes that follow from a resource definition: list, create, show, change, remove, and its actions. */
import type { AccountsInside } from '../accounts/accounts.ts'
import type { JsonSchema } from '../http/openapi.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { putItem, removeItem, settle } from '../resources/change-item.ts'
import { takenNames } from '../resources/controller-names.ts'
import {
  type AnyResource,
  byKey,
  type ChangeInside,
  checkItemShape,
  foldedKey,
  joinKey,
  type Known,
  keyMembers,
  keyPath,
  type NamingTable,
  type NewSecret,
  type Resource,
  type ResourceAction,
  readKey,
  resourceTitle,
} from '../resources/define-resource.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, readObject, without } from './request/body.ts'
import { changeUsers, type Effects, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'

/** What a kind has besides its definition. */
export interface ResourceSpecials<Item> {
  /** The store together with those that nobody has stored, such as built-in clients. */
  store?(env: AdminEnv, stores: Stores): DefinitionStore<Item>
  /** Members that are shown with one, but cannot be changed here. */
  details?(item: Item, env: AdminEnv): Promise<JsonObject>
  /** Whether a list has them too. */
  readonly hasDetailsInList?: true
  /** A list in another order than that of the keys, such as a search. */
  find?(call: AdminCall, env: AdminEnv): Promise<AdminReply> | undefined
  /** Refuses to change or remove one before anything else is looked at. */
  guard?(key: string, route: 'change' | 'remove', env: AdminEnv): Promise<void>
  /** Refuses what a change or removal has led to, in its transaction. */
  require?(env: AdminEnv, stores: Stores): Promise<void>
}

interface Kind<Item extends object, Declared extends object = never> {
  readonly definition: Resource<Item, Declared>
  readonly specials: ResourceSpecials<Item>
}

export function resourceRoutes<Item extends object, Declared extends object>(
  definition: Resource<Item, Declared>,
  specials: ResourceSpecials<Item> = {},
): readonly AdminRoute[] {
  const { noun, section, scope, routes, actions = [] } = definition
  const { pages, replies = {} } = routes
  const parameters = typeof definition.key === 'string' ? [noun] : definition.key
  const collection = `/admin/${section}` as const
  const one = `${collection}/${parameters.map((name) => `{${name}}`).join('/')}` as const
  const title = resourceTitle(definition)
  const body = bodySchema(definition)
  const kind = { definition, specials }
  return [
    {
      method: 'GET',
      path: collection,
      scope,
      summary: routes.list,
      ...(pages && {
        query: {
          ...pageQuery(pages.things, parameters === definition.key ? 'key' : String(definition.key)),
          ...pages.filters,
        },
      }),
      reply: pages === undefined ? '{"items": […]}' : PAGE_REPLY,
      run: async (call, env) => specials.find?.(call, env) ?? listItems(kind, call, env),
    },
    ...only(routes.create, (summary) => ({
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
    ...only(routes.replace, (summary) => ({
      method: 'PUT',
      path: one,
      scope,
      summary,
      body: {
        ...body,
        required: definition.list.items.required.filter((member) => !keyMembers(definition).includes(member)),
      },
      reply: replies.replace ?? `The ${title}; 201 if it is new.`,
      run: (call, env) => replaceItem(kind, call, env),
    })),
    ...only(routes.change, (summary) => ({
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
      run: (call, env) => removeOne(kind, call, env),
    },
    ...actions.map(
      (action): AdminRoute => ({
        method: 'POST',
        path: `${one}/${action.name}`,
        scope,
        summary: action.summary,
        ...(action.body && { body: { ...action.body } }),
        reply: action.reply,
        run: (call, env) => runAction(kind, action, call, env),
      }),
    ),
  ]
}

/** The route, if there is a text for it. */
function only(summary: string | undefined, route: (summary: string) => AdminRoute): readonly AdminRoute[] {
  return summary === undefined ? [] : [route(summary)]
}

/** A secret is a text here, or the server makes it. */
function bodySchema({ list, secret }: Pick<AnyResource, 'list' | 'secret'>): JsonSchema {
  if (secret === undefined) return { ...list.items }
  return secret.body === undefined
    ? without(list.items, [secret.member])
    : without(list.items, [], { [secret.member]: { ...secret.body } })
}

async function listItems<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const { definition, specials } = kind
  const store = storeOf(kind, env, env.stores)
  const show = async (item: Item) => ({
    key: readKey(definition, item),
    shown: {
      ...definition.present(item, env),
      ...(specials.hasDetailsInList === true && (await specials.details?.(item, env))),
    },
  })
  const { pages } = definition.routes
  if (pages === undefined) {
    const items = await Promise.all((await store.list()).map(show))
    return { body: { items: items.map(({ shown }) => shown) } }
  }
  const page = readPage(call)
  const { after: _, limit: __, ...filter } = call.query
  const items = await Promise.all((await store.list({ ...page, ...(pages.filters && { filter }) })).map(show))
  return pageReply(`/admin/${definition.section}`, call, page, items, {
    keyOf: ({ key }) => key,
    present: ({ shown }) => shown,
  })
}

async function showItem<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const item = await findItem(kind, calledKey(kind, call), env, env.stores)
  return tagged(kind.definition.present(item, env), await kind.specials.details?.(item, env))
}

async function createItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const { body, secret } = splitSecret(definition, readObject(call.body))
  if (definition.isNewerThanNodes?.(body) === true) await requireUpgraded(env)
  const { item, once } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const wanted = await readItem(definition, definition.complete?.(body) ?? body, stores, env)
    const key = readKey(definition, wanted)
    if ((await definition.store(stores).find(key)) !== undefined)
      throw conflict(`The ${resourceTitle(definition)} ${key} exists already`)
    return write(kind, wanted, { before: undefined, secret }, env, insideOf(env, accounts, stores, effects))
  })
  return replyCreated(kind, item, call, env, once)
}

/** Without If-Match, whether there is one or not. */
async function replaceItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const { noun, section } = definition
  const key = calledKey(kind, call)
  const given = readObject(call.body)
  refuseOtherKey(definition, call, given, 'must be the name in the address')
  const { body, secret } = splitSecret(definition, given)
  const { before, item } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const wanted = await readItem(definition, { ...body, ...calledMembers(definition, call) }, stores, env)
    const found = await definition.store(stores).find(key)
    if (call.ifMatch !== undefined)
      checkMatch(call, definition.present(found ?? (await findItem(kind, key, env, stores)), env))
    const written = await write(kind, wanted, { before: found, secret }, env, insideOf(env, accounts, stores, effects))
    return { before: found, item: written.item }
  })
  if (before === undefined) return replyCreated(kind, item, call, env)
  const changed = changedMembers(definition.present(before, env), definition.present(item, env))
  const details = { ...definition.auditDetails?.(item), changed, source: 'admin' }
  if (changed.length > 0) record(env, call, { event: `${noun}.changed`, target: key, details })
  await env.reload(section)
  return tagged(definition.present(item, env))
}

async function replyCreated<Item extends object>(
  { definition }: Kind<Item>,
  item: Item,
  call: AdminCall,
  env: AdminEnv,
  once?: JsonObject,
): Promise<AdminReply> {
  const { noun, section } = definition
  const key = readKey(definition, item)
  const details = { ...definition.auditDetails?.(item), source: 'admin' }
  record(env, call, { event: `${noun}.created`, target: key, details })
  await env.reload(section)
  return created(definition.present(item, env), `/admin/${section}/${keyPath(definition, key)}`, once)
}

async function changeItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition, specials } = kind
  const { section, routes } = definition
  const key = calledKey(kind, call)
  await specials.guard?.(key, 'change', env)
  const given = readObject(call.body)
  refuseOtherKey(definition, call, given, `cannot be changed: ${routes.instead}`)
  const { body: patch, secret } = splitSecret(definition, given)
  refuseUnknownMembers(definition, patch)
  if (definition.isNewerThanNodes?.(patch) === true) await requireUpgraded(env)
  const tables = await readTables(definition, env)
  const { before, item } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const found = await findItem(kind, key, env, stores)
    requireMatch(call, definition.present(found, env))
    const members = (definition.merge ?? mergePatch)(definition.declare(found), patch)
    const after = await readItem(definition, members, stores, env)
    refuse(await definition.refusal?.(found, after, { stores, tables }))
    const written = await write(kind, after, { before: found, secret }, env, insideOf(env, accounts, stores, effects))
    await specials.require?.(env, stores)
    return { before: found, item: written.item }
  })
  recordChange(definition, before, item, Object.keys(given), call, env)
  await env.reload(section)
  return tagged(definition.present(item, env))
}

/** Nouns whose disabling and enabling have events of their own. */
const SWITCHED = ['user', 'client'] as const

function recordChange<Item extends object>(
  definition: Resource<Item, never>,
  before: Item,
  item: Item,
  changed: readonly string[],
  call: AdminCall,
  env: AdminEnv,
): void {
  const target = readKey(definition, item)
  const [was, is] = [before, item].map((each) => Reflect.get(each, 'disabled') === true)
  const switched = was === is ? undefined : SWITCHED.find((noun) => noun === definition.noun)
  if (switched !== undefined)
    record(env, call, {
      event: `${switched}.${is === true ? 'disabled' : 'enabled'}`,
      target,
      details: { source: 'admin' },
    })
  else
    record(env, call, {
      event: `${definition.noun}.changed`,
      target,
      details: { ...definition.auditDetails?.(item), changed, source: 'admin' },
    })
}

async function removeOne<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<undefined> {
  const { definition, specials } = kind
  const { noun, section } = definition
  const key = calledKey(kind, call)
  await specials.guard?.(key, 'remove', env)
  const tables = await readTables(definition, env)
  await changeUsers(env, call, async (accounts, stores, effects) => {
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    refuse(await definition.refusal?.(before, undefined, { stores, tables }))
    const inside = insideOf(env, accounts, stores, effects)
    await removeItem(definition, key, before, inside)
    await specials.require?.(env, stores)
    await settle(definition, 'changed', inside)
  })
  record(env, call, { event: `${noun}.deleted`, target: key, details: { source: 'admin' } })
  await env.reload(section)
}

async function runAction<Item extends object>(
  kind: Kind<Item>,
  action: ResourceAction<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const key = calledKey(kind, call)
  const body = action.body === undefined || call.body === undefined ? {} : readObject(call.body)
  if (action.body !== undefined) {
    const checked = checkItemShape({ list: { items: action.body } }, body)
    if ('faults' in checked) throw badBody(checked.faults)
  }
  const { item, result } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    const inside = insideOf(env, accounts, stores, effects)
    const done = await action.run(before, inside, body)
    await settle(definition, 'changed', inside)
    return { item: await findItem(kind, key, env, stores), result: done }
  })
  record(env, call, { ...result.audit, target: key })
  await env.reload(definition.section)
  return tagged(definition.present(item, env), result.once)
}

/** Returns it as it is stored, and what is shown only once. */
async function write<Item extends object>(
  kind: Kind<Item>,
  item: Item,
  { before, secret }: { readonly before: Item | undefined; readonly secret: NewSecret | undefined },
  env: AdminEnv,
  inside: ChangeInside,
): Promise<{ readonly item: Item; readonly once: JsonObject | undefined }> {
  const { definition } = kind
  const { stores } = inside
  const fault = definition.secret?.body && definition.secret.fault?.(secret !== undefined, item, before)
  if (fault !== undefined) throw badBody([{ path: definition.secret?.member ?? '', text: fault }])
  await refuseTogether(definition, item, stores)
  refuse(await definition.conflict?.(item, stores))
  const once = await putItem(definition, item, { ...inside, before, secret, isDeclared: false })
  await settle(definition, before === undefined ? 'created' : 'changed', inside)
  return { item: await findItem(kind, readKey(definition, item), env, stores), once }
}

function insideOf(
  { providerKey }: AdminEnv,
  accounts: AccountsInside,
  stores: Stores,
  { publish, revocations }: Effects,
): ChangeInside {
  return { accounts, stores, publish, revocations, providerKey }
}

const LONGEST_SECRET = 1024

function splitSecret(
  { secret }: Pick<AnyResource, 'secret'>,
  given: JsonObject,
): { readonly body: JsonObject; readonly secret: NewSecret | undefined } {
  if (secret === undefined) return { body: given, secret: undefined }
  const { [secret.member]: value, ...body } = given
  const refused = (text: string) => badBody([{ path: secret.member, text }])
  if (value === undefined) return { body, secret: undefined }
  if (secret.body === undefined) throw refused('is generated by the server: leave it out')
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_SECRET)
    throw refused(`must be a text of 1 to ${LONGEST_SECRET} characters`)
  return { body, secret: { value } }
}

/** A null removes a member, so that the check of the result would not see it. */
function refuseUnknownMembers({ list }: Pick<AnyResource, 'list'>, patch: JsonObject): void {
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
  { refersTo = [] }: Pick<AnyResource, 'refersTo'>,
  stores: Stores,
  { issuer, provisioning = false, loadedControllers }: AdminEnv,
): Promise<Known> {
  const roles = refersTo.includes('roles') ? await stores.roles.list() : []
  const attributes = refersTo.includes('attributes') ? await stores.attributes.list() : []
  return {
    scopes: new KnownScopes(refersTo.includes('scopes') ? await stores.apis.list() : [], { provisioning }),
    roles: new Set(roles.map(({ name }) => name)),
    attributes: new Map(attributes.map((attribute) => [attribute.name, attribute])),
    signingKeys: refersTo.includes('signingKeys') ? await stores.signingKeys.list() : [],
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
  { isNamedByTables }: Pick<AnyResource, 'isNamedByTables'>,
  { definitions }: AdminEnv,
): Promise<readonly NamingTable[]> {
  if (isNamedByTables !== true) return []
  const { tables = [], views = [] } = (await definitions()) ?? {}
  return [...tables, ...views.map(({ name, readScope }) => ({ name, readScope }))]
}

function calledKey<Item extends object>({ definition }: Kind<Item>, call: AdminCall): string {
  const { key, noun } = definition
  return typeof key === 'string' ? part(call, noun) : joinKey(key.map((member) => part(call, member)))
}

/** The members of the key in the address. */
function calledMembers({ key, noun }: Pick<AnyResource, 'key' | 'noun'>, call: AdminCall): JsonObject {
  if (typeof key === 'string') return { [key]: part(call, noun) }
  return Object.fromEntries(key.map((member) => [member, part(call, member)]))
}

function refuseOtherKey(
  definition: Pick<AnyResource, 'key' | 'noun'>,
  call: AdminCall,
  body: JsonObject,
  text: string,
): void {
  const given = new Map(Object.entries(body))
  const others = Object.entries(calledMembers(definition, call)).filter(
    ([member, value]) => given.has(member) && given.get(member) !== value,
  )
  if (others.length > 0) throw badBody(others.map(([path]) => ({ path, text })))
}

async function findItem<Item extends object>(
  kind: Kind<Item>,
  key: string,
  env: AdminEnv,
  stores: Stores,
): Promise<Item> {
  const item = await storeOf(kind, env, stores).find(key)
  if (item === undefined) throw notFound(resourceTitle(kind.definition), key)
  return item
}

function storeOf<Item extends object>(
  { definition, specials }: Kind<Item>,
  env: AdminEnv,
  stores: Stores,
): DefinitionStore<Item> {
  return specials.store?.(env, stores) ?? definition.store(stores)
}

function changedMembers(before: JsonObject, after: JsonObject): string[] {
  const former = new Map(Object.entries(before))
  return Object.entries(after).flatMap(([member, value]) =>
    JSON.stringify(former.get(member)) === JSON.stringify(value) ? [] : [member],
  )
}
