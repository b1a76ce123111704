/** What requests change of resources: one is created, replaced, changed or removed, or an action is run on it. */
import { mergePatch } from '../lib/merge-patch.ts'
import { putItem, removeItem, settle } from '../resources/change-item.ts'
import {
  addressKey,
  byKey,
  type ChangeInside,
  checkItemShape,
  createdEvent,
  deletedEvent,
  foldedKey,
  type ItemChange,
  type JsonObject,
  keyPath,
  type NamingTable,
  type Resource,
  type ResourceAction,
  readKey,
  resourceTitle,
} from '../resources/define-resource.ts'
import { listResources } from '../resources/resources.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, readObject } from './request/body.ts'
import { changeUsers, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import {
  calledKey,
  calledMembers,
  readItem,
  readTables,
  refuseOtherKey,
  refuseUnknownMembers,
  splitSecret,
} from './request/resource-body.ts'
import { findItem, type Kind } from './resource-kind.ts'
import { type AdminCall, type AdminEnv, type AdminReply, conflict } from './route.ts'

export async function createItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const { body, secret } = await splitSecret(definition, readObject(call.body), 'create', env)
  await refuseTooNew(definition, body, env)
  const { item, once } = await changeItems(env, call, async (inside) => {
    const { stores } = inside
    const wanted = await readItem(definition, definition.complete?.(body) ?? body, stores, env)
    const key = readKey(definition, wanted)
    if ((await definition.store(stores).find(key)) !== undefined)
      throw conflict(definition.routes.taken?.(key) ?? `The ${resourceTitle(definition)} ${key} exists already`)
    return write(kind, wanted, { ...inside, before: undefined, secret, isDeclared: false }, env)
  })
  return replyCreated(kind, item, call, env, once)
}

/** Without If-Match, whether there is one or not. */
export async function replaceItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const { key, body, secret, tables } = await readChange(kind, call, env, 'must be the name in the address')
  const { before, item } = await changeItems(env, call, async (inside) => {
    const { stores } = inside
    const wanted = await readItem(definition, { ...body, ...calledMembers(definition, call) }, stores, env)
    const found = await definition.store(stores).find(key)
    if (call.ifMatch !== undefined)
      checkMatch(call, definition.present(found ?? (await findItem(kind, key, env, stores)), env))
    await refuseRelease(definition, found, wanted, stores, call)
    const written = await write(kind, wanted, { ...inside, before: found, secret, isDeclared: false }, env, tables)
    return { before: found, item: written.item }
  })
  if (before === undefined) return replyCreated(kind, item, call, env)
  const changed = changedMembers(definition.present(before, env), definition.present(item, env))
  return replyChanged(definition, before, item, changed, call, env)
}

export async function changeItem<Item extends object, Declared extends object>(
  kind: Kind<Item, Declared>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition } = kind
  const { instead } = definition.routes
  const otherKey = instead && `cannot be changed: ${instead}`
  const { key, given, body: patch, secret, tables } = await readChange(kind, call, env, otherKey)
  const { before, item } = await changeItems(env, call, async (inside) => {
    const { stores } = inside
    const found = await findItem(kind, key, env, stores)
    requireMatch(call, definition.present(found, env))
    const members = (definition.merge ?? mergePatch)(definition.declare(found), patch)
    const after = await readItem(definition, members, stores, env, found)
    await refuseRelease(definition, found, after, stores, call)
    const change = { ...inside, before: found, secret, isDeclared: false, patch }
    const written = await write(kind, after, change, env, tables)
    return { before: found, item: written.item }
  })
  return replyChanged(definition, before, item, Object.keys(given), call, env)
}

export async function removeOne<Item extends object>(
  kind: Kind<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<undefined> {
  const { definition, specials } = kind
  const { noun, section } = definition
  const key = calledKey(definition, call)
  await specials.guard?.(key, 'remove', env)
  const tables = await readTables(definition, env)
  await changeItems(env, call, async (inside) => {
    const { stores } = inside
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    refuse(await definition.refusal?.(before, undefined, { stores, tables, resources: listResources() }))
    await refuseRelease(definition, before, undefined, stores, call)
    await removeItem(definition, key, before, inside)
    await specials.require?.(env, stores)
    await settle(definition, 'changed', inside)
  })
  if (definition.recordsItself !== true)
    record(env, call, { event: deletedEvent(noun), target: key, details: { source: 'admin' } })
  await env.reload(section)
}

export async function runAction<Item extends object>(
  kind: Kind<Item>,
  action: ResourceAction<Item>,
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { definition, specials } = kind
  const key = calledKey(definition, call)
  await specials.guard?.(key, 'change', env)
  const body = action.body === undefined || call.body === undefined ? {} : readObject(call.body)
  if (action.body !== undefined) {
    const checked = checkItemShape({ list: { items: action.body } }, body)
    if ('faults' in checked) throw badBody(checked.faults)
  }
  const { item, result } = await changeItems(env, call, async (inside) => {
    const { stores } = inside
    const before = await findItem(kind, key, env, stores)
    checkMatch(call, definition.present(before, env))
    const done = await action.run(before, inside, body)
    await specials.require?.(env, stores)
    await settle(definition, 'changed', inside)
    return { item: await findItem(kind, key, env, stores), result: done }
  })
  record(env, call, { ...result.audit, target: key })
  await env.reload(definition.section)
  return tagged(definition.present(item, env), result.once)
}

function changeItems<T>(env: AdminEnv, call: AdminCall, work: (inside: ChangeInside) => Promise<T>): Promise<T> {
  const { providerKey } = env
  return changeUsers(env, call, (accounts, stores, { publish, revocations }) =>
    work({ accounts, stores, publish, revocations, providerKey }),
  )
}

/** What a request says of one, as far as it can be refused before the transaction. */
async function readChange<Item extends object>(
  { definition, specials }: Kind<Item>,
  call: AdminCall,
  env: AdminEnv,
  otherKey: string | undefined,
) {
  const key = calledKey(definition, call)
  await specials.guard?.(key, 'change', env)
  const given = readObject(call.body)
  if (otherKey !== undefined) refuseOtherKey(definition, call, given, otherKey)
  const { body, secret } = await splitSecret(definition, given, 'change', env)
  refuseUnknownMembers(definition, body)
  await refuseTooNew(definition, body, env)
  return { key, given, body, secret, tables: await readTables(definition, env) }
}

async function refuseTooNew(
  { isNewerThanNodes }: Pick<Resource<object, never>, 'isNewerThanNodes'>,
  body: JsonObject,
  env: AdminEnv,
): Promise<void> {
  if (isNewerThanNodes?.(body) === true) await requireUpgraded(env)
}

/** Returns it as it is stored, and what is shown only once. */
async function write<Item extends object>(
  kind: Kind<Item>,
  item: Item,
  change: ItemChange<Item>,
  env: AdminEnv,
  tables: readonly NamingTable[] = [],
): Promise<{ readonly item: Item; readonly once: JsonObject | undefined }> {
  const { definition, specials } = kind
  const { before, secret, stores } = change
  if (before !== undefined)
    refuse(await definition.refusal?.(before, item, { stores, tables, resources: listResources() }))
  const fault = definition.secret?.body && definition.secret.fault?.(secret !== undefined, item, before, secret?.value)
  if (fault !== undefined) throw badBody([{ path: definition.secret?.member ?? '', text: fault }])
  await refuseTogether(definition, item, stores)
  refuse(await definition.conflict?.(item, stores))
  const once = await putItem(definition, item, change)
  await settle(definition, before === undefined ? 'created' : 'changed', change)
  if (before !== undefined) await specials.require?.(env, stores)
  const key = before === undefined ? readKey(definition, item) : addressKey(definition, before)
  return { item: await findItem(kind, key, env, stores), once }
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

/** What a change gives away has to be said. */
async function refuseRelease<Item extends object>(
  { release }: Pick<Resource<Item, never>, 'release'>,
  before: Item | undefined,
  after: Item | undefined,
  stores: Stores,
  { query }: AdminCall,
): Promise<void> {
  if (release === undefined || before === undefined) return
  if (Object.hasOwn(query, release.flag) && query[release.flag] === 'true') return
  refuse(await release.find(before, after, stores))
}

function refuse(reason: string | undefined): void {
  if (reason !== undefined) throw conflict(reason)
}

async function replyCreated<Item extends object>(
  { definition }: Kind<Item>,
  item: Item,
  call: AdminCall,
  env: AdminEnv,
  once?: JsonObject,
): Promise<AdminReply> {
  const { noun, section } = definition
  const key = addressKey(definition, item)
  const details = { ...definition.auditDetails?.(item), source: 'admin' }
  if (definition.recordsItself !== true) record(env, call, { event: createdEvent(noun), target: key, details })
  await env.reload(section)
  return created(definition.present(item, env), `/admin/${section}/${keyPath(definition, key)}`, once)
}

async function replyChanged<Item extends object>(
  definition: Resource<Item, never>,
  before: Item,
  item: Item,
  changed: readonly string[],
  call: AdminCall,
  env: AdminEnv,
): Promise<AdminReply> {
  const { noun, section } = definition
  const target = addressKey(definition, item)
  const isDisabled = (each: Item) => Reflect.get(each, 'disabled') === true
  const details = { ...definition.auditDetails?.(item), changed, source: 'admin' }
  // Disabling and enabling clients have events of their own.
  if (noun === 'client' && isDisabled(before) !== isDisabled(item)) {
    const event = isDisabled(item) ? 'client.disabled' : 'client.enabled'
    record(env, call, { event, target, details: { source: 'admin' } })
  } else if (changed.length > 0 && definition.recordsItself !== true)
    record(env, call, { event: `${noun}.changed`, target, details })
  await env.reload(section)
  return tagged(definition.present(item, env))
}

function changedMembers(before: JsonObject, after: JsonObject): string[] {
  const former = new Map(Object.entries(before))
  return Object.entries(after).flatMap(([member, value]) =>
    JSON.stringify(former.get(member)) === JSON.stringify(value) ? [] : [member],
  )
}
