/** The sections of the declarative file that follow from resource definitions: their checks and what they plan. Pure. */
import { type AnyResource, byKey, foldedKey, type Known, type Resource, readKey } from '../resources/define-resource.ts'
import type { Fault } from '../schema/check-schema.ts'
import { differences } from './differences.ts'

/** What the file declares; undefined if it lacks the section. */
export function declaredIn(
  declaration: object,
  { section }: Pick<AnyResource, 'section'>,
): readonly object[] | undefined {
  return Reflect.get(declaration, section)
}

/** What is wrong with each declaration. */
export function sectionFaults(resource: AnyResource, declaration: object, known: Known): Fault[] {
  const { section } = resource
  const declared = declaredIn(declaration, resource) ?? []
  return declared.flatMap((each, index) => within(`${section}[${index}]`, resource.faults?.(each, known) ?? []))
}

/** Keys that are declared twice. */
export function repeatedKeys(resource: AnyResource, declaration: object): Fault[] {
  const { section, key } = resource
  return duplicates(section, key, declaredIn(declaration, resource) ?? [], (item) => foldedKey(resource, item))
}

/** Those in the database that stay: pruning removes the others of each list that is in the file. */
export function keptItems<Item>(
  resource: Pick<AnyResource, 'section'>,
  declaration: { readonly prune?: boolean },
  existing: Iterable<Item>,
): readonly Item[] {
  return declaration.prune === true && declaredIn(declaration, resource) !== undefined ? [] : [...existing]
}

/** Those that there will be, by key. */
export function wantedItems<Item extends object>(
  resource: Resource<Item, object>,
  declaration: { readonly prune?: boolean },
  existing: Iterable<Item>,
): ReadonlyMap<string, Item> {
  const declared = (declaredIn(declaration, resource) ?? []).map((each) => resource.toItem(each))
  return byKey(resource, [...keptItems(resource, declaration, existing), ...declared])
}

/** What those that there will be cannot be together. */
export function togetherFaults<Item extends object>(
  resource: Resource<Item, object>,
  declaration: { readonly prune?: boolean },
  existing: ReadonlyMap<string, Item>,
): Fault[] {
  const { section } = resource
  const declared = declaredIn(declaration, resource) ?? []
  if (resource.faultsTogether === undefined || declared.length === 0) return []
  const index = new Map(declared.map((each, at) => [readKey(resource, each), at]))
  const pathOf = (key: string) => (index.has(key) ? `${section}[${index.get(key)}].` : `${section}.`)
  const after = [...wantedItems(resource, declaration, existing.values()).values()]
  return resource.faultsTogether(after, existing, pathOf).map(({ path, text }) => ({ path: path || section, text }))
}

export interface Upsert<What extends string, Target> {
  readonly action: 'create' | 'update'
  readonly what: What
  readonly name: string
  readonly target: Target
  /** One line per changed member, without secrets. */
  readonly differences: readonly string[]
}

export interface Removal<What extends string> {
  readonly action: 'remove'
  readonly what: What
  readonly name: string
}

export type ResourceChange = Upsert<ResourceNoun, object> | Removal<ResourceNoun>
export type ResourceNoun = 'api' | 'attribute'

export function planSection(
  resource: AnyResource & { readonly noun: ResourceNoun },
  declaration: object,
  existing: ReadonlyMap<string, object>,
): ResourceChange[] {
  const compared = (item: object) => (resource.compare ?? resource.present)(item)
  return (declaredIn(declaration, resource) ?? []).flatMap((declared) => {
    const target = resource.toItem(declared)
    const before = existing.get(foldedKey(resource, target))
    const change = upsert(resource.noun, readKey(resource, target), before && compared(before), compared(target))
    return change === undefined ? [] : [{ ...change, target }]
  })
}

/** Undefined if nothing differs. */
export function upsert<What extends string, Target extends object>(
  what: What,
  name: string,
  before: object | undefined,
  target: Target,
  others: readonly string[] = [],
): Upsert<What, Target> | undefined {
  if (before === undefined) return { action: 'create', what, name, target, differences: [] }
  const all = [...differences(before, target), ...others]
  return all.length === 0 ? undefined : { action: 'update', what, name, target, differences: all }
}

/** Of a list that is in the file. */
export function planRemovals(
  resource: AnyResource & { readonly noun: ResourceNoun },
  declaration: object,
  existing: ReadonlyMap<string, object>,
): ResourceChange[] {
  const declared = declaredIn(declaration, resource)
  if (declared === undefined) return []
  const kept = new Set(declared.map((each) => foldedKey(resource, each)))
  return [...existing]
    .filter(([key]) => !kept.has(key))
    .map(([, item]) => ({ action: 'remove', what: resource.noun, name: readKey(resource, item) }))
}

export function duplicates<Item extends object>(
  list: string,
  key: string,
  items: readonly Item[],
  fold: (item: Item) => string = (item) => readKey({ key }, item),
): Fault[] {
  const first = new Map<string, number>()
  return items.flatMap((item, index) => {
    const name = fold(item)
    const earlier = first.get(name)
    if (earlier === undefined) first.set(name, index)
    return earlier === undefined
      ? []
      : [
          {
            path: `${list}[${index}].${key}`,
            text: `"${readKey({ key }, item)}" is already the name of ${list}[${earlier}]`,
          },
        ]
  })
}

export function within(path: string, faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ path: `${path}.${fault.path}`, text: fault.text }))
}
