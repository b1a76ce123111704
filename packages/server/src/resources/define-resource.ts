/**
 * A resource definition: what a kind of resource is called, its schema, checks, store and texts. Its administration routes
 * (admin/resource-routes.ts), its commands (cli/admin/resource-commands.ts) and its section of the declarative file (declarative/sections.ts)
 * follow from it.
 *
 * The command line loads all definitions with its table of commands: a definition imports nothing large.
 */
import type { AuditEventName } from 'gatehouse-protocol'
import { type Fault, findFaults } from '../schema/check-schema.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import type { TakenNames } from './controller-names.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export interface Resource<Item extends object, Declared extends object> {
  /** Of its commands, its audit events and the parameter of its path: `gatehouse api add`, `api.created`, `{api}`. */
  readonly noun: AuditedNoun
  /** In sentences, where it differs: `API`. */
  readonly title?: string
  /** The name of its list in the declarative file and below /admin. */
  readonly section: string
  /** The member that identifies one. */
  readonly key: string
  /** Keys that differ only in what this removes, such as upper case, are the same. */
  foldKey?(key: string): string
  readonly scope: 'Identity/Admin' | 'Platform/Admin'
  /** The schema of its list in the declarative file, with one line of help for each member. */
  readonly list: ListSchema
  /** The error message for each pattern of the schema. */
  readonly patterns?: readonly (readonly [pattern: string, text: string])[]

  /** With the defaults. The declaration has no faults. */
  toItem(declared: Declared): Item
  /** The members that a reply has. */
  present(item: Item): JsonObject
  /** As in a file: without the members that have their default. */
  declare(item: Item): JsonObject
  /** What the plan of a file compares, if it is not what a reply has. */
  compare?(item: Item): object

  /** What `faults` and `faultsTogether` need to know; other names are not read. */
  readonly refersTo?: readonly (keyof KnownLists)[]
  /** What is wrong with one declaration that has the schema. */
  faults?(declared: Declared, known: Known): Fault[]
  /**
   * What all of them cannot be together `after` a change. `before` are those in the database; `pathOf` gives the path of one in the file,
   * with a dot.
   */
  faultsTogether?(after: readonly Item[], before: ReadonlyMap<string, Item>, pathOf: (key: string) => string): Fault[]
  /** Why it cannot have its name, in a sentence. */
  conflict?(item: Item, stores: Stores): Promise<string | undefined>
  /** Why one cannot be changed, or removed where there is no `after`: a sentence that names what still uses it. */
  refusal?(before: Item, after: Item | undefined, world: World): Promise<string | undefined>
  /** Whether `refusal` looks at the tables. */
  readonly isNamedByTables?: true
  /** Whether nodes of an earlier version would not respect it. */
  isNewerThanNodes?(body: JsonObject): boolean

  store(stores: Stores): DefinitionStore<Item>
  /** Published with every change. */
  readonly changedEvent?: ChangedEvent

  readonly routes: ResourceRouteTexts
  readonly commands: ResourceCommandTexts
}

/** Of any kind. */
export type AnyResource = Resource<object, object>

/** The events that say no more than that definitions of a kind have changed. */
type ChangedEvent =
  | 'apis-changed'
  | 'attributes-changed'
  | 'controllers-changed'
  | 'feeds-changed'
  | 'providers-changed'

/** The nouns that have the three events in the audit log: `api.created`, `api.changed`, `api.deleted`. */
export type AuditedNoun = {
  [Name in AuditEventName]: Name extends `${infer Noun}.created`
    ? `${Noun}.changed` | `${Noun}.deleted` extends AuditEventName
      ? Noun
      : never
    : never
}[AuditEventName]

export interface ListSchema {
  readonly items: ItemSchema
  readonly description?: string
}

export interface ItemSchema {
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, MemberSchema>>
}

export interface MemberSchema {
  readonly type?: string
  readonly description?: string
}

/** What a declaration may refer to. */
export interface Known extends KnownLists {
  /** What has each name of a controller. */
  readonly controllers: TakenNames
  /** The address of this server, where it is known. */
  readonly issuer?: string
}

export interface KnownLists {
  readonly scopes: KnownScopes
  /** Names. */
  readonly roles: ReadonlySet<string>
  readonly attributes: ReadonlyMap<string, AttributeDefinition>
}

/** What may use a resource. */
export interface World {
  readonly stores: Stores
  /** Tables and views. Where no node runs the query service there are none. */
  readonly tables: readonly NamingTable[]
}

export interface NamingTable {
  readonly name: string
  readonly readScope: string | null
  readonly writeScope?: string | null
  readonly rowFilter?: string | null
}

/** One line for each route, for the documentation and OpenAPI. */
export interface ResourceRouteTexts {
  readonly list: string
  readonly create: string
  readonly show: string
  readonly change: string
  readonly remove: string
  /** Whether the list comes page by page; `things` are its items in a sentence. */
  readonly pages?: { readonly things: string }
  /** What replies are, where they are not "The attribute." and "The changed attribute." */
  readonly replies?: { readonly create?: string; readonly show?: string; readonly change?: string }
  /** What to do instead of changing the key. */
  readonly instead: string
}

export interface CommandText {
  readonly summary: string
  readonly examples: readonly string[]
}

export interface ResourceCommandTexts {
  /** In the usage line: `gatehouse api show RESOURCE`. */
  readonly argument: string
  readonly options: Readonly<Record<`--${string}`, MemberOption>>
  /** Of the table that `list` prints. */
  readonly columns: readonly string[]
  readonly list: CommandText
  readonly show?: CommandText
  readonly add: CommandText
  readonly set?: CommandText
  readonly remove: CommandText & { confirm(key: string): string; done(key: string): string }
}

/** An option of `add` and `set`, or of one of them. */
export interface MemberOption {
  /** The member that it sets; absent where a function reads it. */
  readonly member?: string
  readonly value?: string
  readonly repeatable?: true
  readonly help: string
  readonly only?: 'add' | 'set'
  /** What `add` sends without the option. */
  readonly default?: string
  /** Whether its values are names of members, which return to their defaults. */
  readonly resets?: true
}

export function resourceTitle({ title, noun }: AnyResource): string {
  return title ?? noun
}

export function readKey({ key }: Pick<AnyResource, 'key'>, item: object): string {
  return String(Reflect.get(item, key))
}

/** By key, where keys are compared. */
export function byKey<Item extends object>(
  resource: Pick<Resource<Item, never>, 'key' | 'foldKey'>,
  items: Iterable<Item>,
): Map<string, Item> {
  return new Map(Array.from(items, (item) => [foldedKey(resource, item), item]))
}

export function foldedKey(resource: Pick<AnyResource, 'key' | 'foldKey'>, item: object): string {
  const key = readKey(resource, item)
  return resource.foldKey?.(key) ?? key
}

/** A declaration that has the schema, or what is wrong with it. */
export function checkItemShape<Declared extends object>(
  { list, patterns = [] }: Pick<AnyResource, 'list' | 'patterns'>,
  value: object,
): { readonly declared: Declared } | { readonly faults: readonly Fault[] } {
  const faults = findFaults(value, { schema: list.items, patterns: new Map(patterns) })
  return faults.length === 0 ? { declared: value as Declared } : { faults }
}
