/** Changes of resources in a transaction, with what follows from them: the same for requests and for the declarative file. */
import type { AnyResource, ChangeInside, ItemChange, JsonObject, Resource } from './define-resource.ts'

/** Returns what is shown only once, such as a new secret. */
export async function putItem<Item extends object>(
  resource: Resource<Item, never>,
  item: Item,
  change: ItemChange<Item>,
): Promise<JsonObject | undefined> {
  if (resource.put !== undefined) return resource.put(item, change)
  await resource.store(change.stores).put(item)
  return undefined
}

export async function removeItem<Item extends object>(
  resource: Resource<Item, never>,
  key: string,
  item: Item,
  change: ChangeInside,
): Promise<void> {
  await (resource.remove?.(item, change) ?? resource.store(change.stores).remove(key))
}

/** After all changes of a kind in the transaction. */
export async function settle(
  resource: Pick<AnyResource, 'settle' | 'changedEvent'>,
  kind: 'created' | 'changed',
  change: ChangeInside,
): Promise<void> {
  await resource.settle?.(kind, change)
  if (resource.changedEvent !== undefined) await change.publish({ kind: resource.changedEvent })
}
