/** The sections of the declarative file that follow from resource definitions: their checks and what they plan. Pure. */
import {
  type AnyResource,
  type AnySection,
  type AuditedNoun,
  byKey,
  duplicates,
  foldedKey,
  type Known,
  type NewSecret,
  readKey,
  type SecretDigests,
  type Section,
} from '../resources/define-resource.ts'
import type { Fault } from '../schema/check-schema.ts'

/** What the file declares; undefined if it lacks the section. */
export function declaredIn(
  declaration: object,
  { section }: Pick<AnySection, 'section'>,
): readonly object[] | undefined {
  return Reflect.get(declaration, section)
}

/** What is wrong with each declaration. */
export function sectionFaults(resource: AnySection, declaration: object, known: Known): Fault[] {
  const { section } = resource
  const declared = declaredIn(declaration, resource) ?? []
  return declared.flatMap((each, index) => within(`${section}[${index}]`, resource.faults?.(each, known) ?? []))
}

/** Keys that are declared twice. */
export function repeatedKeys(resource: AnySection, declaration: object): Fault[] {
  const { section } = resource
  return duplicates(section, resource, declaredIn(declaration, resource) ?? [], (item) => foldedKey(resource, item))
}

/** Those in the database that stay: pruning removes the others of each list that is in the file. */
export function keptItems<Item>(
  resource: Pick<AnySection, 'section'>,
  declaration: { readonly prune?: boolean },
  existing: Iterable<Item>,
): readonly Item[] {
  return declaration.prune === true && declaredIn(declaration, resource) !== undefined ? [] : [...existing]
}

/** Those in the database that stay as they are: the file does not declare them either. */
export function undeclaredItems<Item extends object>(
  resource: Pick<Section<Item, never>, 'section' | 'key' | 'makeKey' | 'foldKey'>,
  declaration: { readonly prune?: boolean },
  existing: Iterable<Item>,
): readonly Item[] {
  const declared = new Set((declaredIn(declaration, resource) ?? []).map((each) => foldedKey(resource, each)))
  return keptItems(resource, declaration, existing).filter((item) => !declared.has(foldedKey(resource, item)))
}

/** Those that there will be, by key. */
export function wantedItems<Item extends object>(
  resource: Section<Item, object>,
  declaration: { readonly prune?: boolean },
  existing: Iterable<Item>,
): ReadonlyMap<string, Item> {
  const declared = (declaredIn(declaration, resource) ?? []).map((each) => resource.toItem(each))
  return byKey(resource, [...keptItems(resource, declaration, existing), ...declared])
}

/** What those that there will be cannot be together. */
export function togetherFaults<Item extends object>(
  resource: Section<Item, object>,
  declaration: { readonly prune?: boolean },
  existing: ReadonlyMap<string, Item>,
): Fault[] {
  const { section } = resource
  const { faultsTogether, lossFaults } = resource
  const declared = declaredIn(declaration, resource)
  if (declared === undefined || (faultsTogether ?? lossFaults) === undefined) return []
  const index = new Map(declared.map((each, at) => [readKey(resource, each), at]))
  const memberPath = (key: string) => (index.has(key) ? `${section}[${index.get(key)}].` : `${section}.`)
  const after = [...wantedItems(resource, declaration, existing.values()).values()]
  return [
    ...(declared.length === 0 ? [] : (faultsTogether?.(after, existing, memberPath) ?? [])),
    ...(lossFaults?.(after, existing, memberPath) ?? []),
  ].map(({ path, text }) => ({ path: path || section, text }))
}

/** What is wrong with the secret of each declaration, whatever there is. */
export function declaredSecretFaults(resource: AnySection, declaration: object): Fault[] {
  const { section, secret } = resource
  const declared = declaredIn(declaration, resource) ?? []
  return declared.flatMap((each, index) => within(`${section}[${index}]`, secret?.declaredFaults?.(each) ?? []))
}

/** What is wrong with the secret of each declaration, or with its absence. */
export function secretFaults(
  resource: AnySection,
  declaration: object,
  existing: ReadonlyMap<string, object>,
): Fault[] {
  const { section, secret } = resource
  if (secret?.fault === undefined) return []
  return (declaredIn(declaration, resource) ?? []).flatMap((declared, index) => {
    const isGiven = Reflect.get(declared, secret.member) !== undefined
    const text = secret.fault?.(isGiven, resource.toItem(declared), existing.get(foldedKey(resource, declared)))
    return text === undefined ? [] : [{ path: `${section}[${index}].${secret.member}`, text }]
  })
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

export type ResourceChange =
  | (Upsert<AuditedNoun, object> & { readonly secret: NewSecret | undefined })
  | Removal<AuditedNoun>

export function planSection(
  resource: AnyResource,
  declaration: object,
  existing: ReadonlyMap<string, object>,
  digests: SecretDigests,
): ResourceChange[] {
  const compared = (item: object) => resource.compare?.(item) ?? item
  return (declaredIn(declaration, resource) ?? []).flatMap((declared) => {
    const before = existing.get(foldedKey(resource, declared))
    const target = resource.toItem(declared, before)
    const secret = resource.secret?.plan(declared, before, digests)
    const others = secret === undefined ? [] : [`${resource.secret?.member}: ${secret.difference ?? 'changed'}`]
    const name = readKey(resource, target)
    const change = upsert(resource.noun, name, before && compared(before), compared(target), others)
    return change === undefined ? [] : [{ ...change, target, secret }]
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

/** Those in the database. */
export function stateFor({ section }: Pick<AnySection, 'section'>, state: object): ReadonlyMap<string, object> {
  return Reflect.get(state, section)
}

/** Of a list that is in the file. */
export function planSectionRemovals(
  resource: AnyResource,
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

function within(path: string, faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ path: `${path}.${fault.path}`, text: fault.text }))
}

/** `member: before → after` for every changed member. */
export function differences(before: object, after: object): string[] {
  const left = new Map<string, unknown>(Object.entries(before))
  const right = new Map<string, unknown>(Object.entries(after))
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((name) => !isSameValue(left.get(name), right.get(name)))
    .map((name) => `${name}: ${shown(left.get(name))} → ${shown(right.get(name))}`)
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** JSON with sorted members. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_name, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
