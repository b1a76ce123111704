/** A kind of resource as administration has it: its definition, and what is special about its routes. */
import { type JsonObject, type Resource, resourceTitle } from '../resources/define-resource.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { type AdminCall, type AdminEnv, type AdminReply, notFound } from './route.ts'

/** What a kind has besides its definition. */
export interface ResourceSpecials<Item> {
  /** The store together with those that nobody has stored, such as built-in clients. */
  store?(env: AdminEnv, stores: Stores): DefinitionStore<Item>
  /** Members that are shown with one, but cannot be changed here. */
  details?(item: Item, env: AdminEnv): Promise<JsonObject>
  /** Those that are shown in a list, of each item. */
  listDetails?(items: readonly Item[], env: AdminEnv): Promise<readonly JsonObject[]>
  /** A list in another order than that of the keys, such as a search. */
  find?(call: AdminCall, env: AdminEnv): Promise<AdminReply> | undefined
  /** Refuses to change or remove one before anything else is looked at. */
  guard?(key: string, route: 'change' | 'remove', env: AdminEnv): Promise<void>
  /** Refuses what a change or removal has led to, in its transaction. */
  require?(env: AdminEnv, stores: Stores): Promise<void>
}

export interface Kind<Item extends object, Declared extends object = never> {
  readonly definition: Resource<Item, Declared>
  readonly specials: ResourceSpecials<Item>
}

/** With those that nobody has stored. */
export function chooseStore<Item extends object>(
  { definition, specials }: Kind<Item>,
  env: AdminEnv,
  stores: Stores,
): DefinitionStore<Item> {
  return specials.store?.(env, stores) ?? definition.store(stores)
}

export async function findItem<Item extends object>(
  kind: Kind<Item>,
  key: string,
  env: AdminEnv,
  stores: Stores,
): Promise<Item> {
  const item = await chooseStore(kind, env, stores).find(key)
  if (item === undefined) throw notFound(resourceTitle(kind.definition), key)
  return item
}
