/** The administration routes that follow from a resource definition: list, create, show, change, remove, and its actions. */
import type { AccountsInside } from '../accounts/accounts.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { putItem, removeItem, settle } from '../resources/change-item.ts'
import {
  byKey,
  type ChangeInside,
  checkItemShape,
  foldedKey,
  keyMembers,
  keyPath,
  type NewSecret,
  type Resource,
  type ResourceAction,
  readKey,
  resourceTitle,
} from '../resources/define-resource.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, readObject } from './request/body.ts'
import { changeUsers, type Effects, record, recordPatch, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import {
  bodySchema,
  calledKey,
  calledMembers,
  readItem,
  readTables,
  refuseOtherKey,
  refuseUnknownMembers,
  splitSecret,
} from './request/resource-body.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound } from './route.ts'

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

async function listItems<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const { definition, specials } = kind
  const store = chooseStore(kind, env, env.stores)
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
    cursorKey: ({ key }) => key,
    present: ({ shown }) => shown,
  })
}

async function showItem<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const { definition, specials } = kind
  const item = await findItem(kind, calledKey(definition, call), env, env.stores)
  return tagged(definition.present(item, env), await specials.details?.(item, env))
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
    return write(kind, wanted, { before: undefined, secret }, env, openChange(env, accounts, stores, effects))
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
  const key = calledKey(definition, call)
  const given = readObject(call.body)
  refuseOtherKey(definition, call, given, 'must be the name in the address')
  const { body, secret } = splitSecret(definition, given)
  const { before, item } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const wanted = await readItem(definition, { ...body, ...calledMembers(definition, call) }, stores, env)
    const found = await definition.store(stores).find(key)
    if (call.ifMatch !== undefined)
      checkMatch(call, definition.present(found ?? (await findItem(kind, key, env, stores)), env))
    const written = await write(
      kind,
      wanted,
      { before: found, secret },
      env,
      openChange(env, accounts, stores, effects),
    )
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
  const key = calledKey(definition, call)
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
    const written = await write(kind, after, { before: found, secret }, env, openChange(env, accounts, stores, effects))
    await specials.require?.(env, stores)
    return { before: found, item: written.item }
  })
  recordChange(definition, before, item, given, call, env)
  await env.reload(section)
  return tagged(definition.present(item, env))
}

/** Disabling and enabling users and clients have events of their own. */
function recordChange<Item extends object>(
  definition: Resource<Item, never>,
  before: Item,
  item: Item,
  patch: JsonObject,
  call: AdminCall,
  env: AdminEnv,
): void {
  const { noun } = definition
  const target = readKey(definition, item)
  const isDisabled = (each: Item) => Reflect.get(each, 'disabled') === true
  const details = { ...definition.auditDetails?.(item), changed: Object.keys(patch), source: 'admin' }
  if (noun === 'user' || noun === 'client')
    recordPatch(env, call, noun, { target, patch, wasDisabled: isDisabled(before), isDisabled: isDisabled(item) })
  else record(env, call, { event: `${noun}.changed`, target, details })
}

async function removeOne<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<undefined> {
  const { definition, specials } = kind
  const { noun, section } = definition
  const key = calledKey(definition, call)
  await specials.guard?.(key, 'remove', env)
  const tables = await readTables(definition, env)
  await changeUsers(env, call, async (accounts, stores, effects) => {
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    refuse(await definition.refusal?.(before, undefined, { stores, tables }))
    const inside = openChange(env, accounts, stores, effects)
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
  const key = calledKey(definition, call)
  const body = action.body === undefined || call.body === undefined ? {} : readObject(call.body)
  if (action.body !== undefined) {
    const checked = checkItemShape({ list: { items: action.body } }, body)
    if ('faults' in checked) throw badBody(checked.faults)
  }
  const { item, result } = await changeUsers(env, call, async (accounts, stores, effects) => {
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    const inside = openChange(env, accounts, stores, effects)
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

function openChange(
  { providerKey }: AdminEnv,
  accounts: AccountsInside,
  stores: Stores,
  { publish, revocations }: Effects,
): ChangeInside {
  return { accounts, stores, publish, revocations, providerKey }
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

async function findItem<Item extends object>(
  kind: Kind<Item>,
  key: string,
  env: AdminEnv,
  stores: Stores,
): Promise<Item> {
  const item = await chooseStore(kind, env, stores).find(key)
  if (item === undefined) throw notFound(resourceTitle(kind.definition), key)
  return item
}

function chooseStore<Item extends object>(
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
