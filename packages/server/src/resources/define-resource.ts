/**
 * A resource definition: what a kind of resource is called, its schema, checks, store and texts. Its administration routes
 * (admin/resource-routes.ts), its commands (cli/admin/resource-commands.ts) and its section of the declarative file (declarative/sections.ts)
 * follow from it.
 *
 * The command line loads all definitions with its table of commands: a definition imports nothing large.
 */
import type { AuditEvent, AuditEventName } from 'gatehouse-protocol'
import type { AccountsInside } from '../accounts/accounts.ts'
import { type Fault, findFaults } from '../schema/check-schema.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { RevocationsInside } from '../store/authorizations/revocations.ts'
import type { PublishInside } from '../store/cluster/event-transaction.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'
import type { Product } from '../store/licences/products.ts'
import type { Stores } from '../store/stores.ts'
import type { TakenNames } from './controller-names.ts'
import type { CommandText, MemberOption, ResourceCommandTexts, ResourceRouteTexts } from './resource-texts.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** What the declarative file needs of a kind: its list, what a declaration may be, and how it becomes an item. */
export interface Section<Item extends object, Declared extends object> {
  /** In plans and sentences, of its commands, its audit events and the parameter of its path: `gatehouse api add`, `api.created`, `{api}`. */
  readonly noun: SectionNoun
  /** In sentences, where it differs: `API`. */
  readonly title?: string
  /** The name of its list in the declarative file and below /admin. */
  readonly section: string
  /** The member that identifies one, or several that do together. */
  readonly key: string | readonly string[]
  /** Makes the key of what has none yet from its other members. */
  makeKey?(item: object): string
  /** Keys that differ only in what this removes, such as upper case, are the same. */
  foldKey?(key: string): string
  /** The schema of its list in the declarative file, with one line of help for each member. */
  readonly list: ListSchema
  /** The error message for each pattern of the schema. */
  readonly patterns?: readonly (readonly [pattern: string, text: string])[]

  /** With the defaults. The declaration has no faults. `before` is what there is: a file may leave members as they are. */
  toItem(declared: Declared, before?: Item): Item
  /** As in a file: without the members that have their default. */
  declare(item: Item): JsonObject
  /** What the plan of a file compares, if it is not the item. */
  compare?(item: Item): object

  /** The scopes that one names: no API loses them meanwhile. */
  readonly namedScopes: 'none' | NamedScopes<Item>
  /** What `faults` and `faultsTogether` need to know; other names are not read. */
  readonly refersTo?: readonly (keyof KnownLists)[]
  /** What is wrong with one declaration that has the schema. */
  faults?(declared: Declared, known: Known): Fault[]
  /**
   * What all of them cannot be together `after` a change. `before` are those in the database; `memberPath` gives the path of one in the file,
   * with a dot.
   */
  faultsTogether?(
    after: readonly Item[],
    before: ReadonlyMap<string, Item>,
    memberPath: (key: string) => string,
  ): Fault[]
  /** What a file would give away without saying so, of all those that there will be together with those that it leaves alone. */
  lossFaults?(after: readonly Item[], before: ReadonlyMap<string, Item>, memberPath: (key: string) => string): Fault[]
  readonly secret?: SecretMember<Item, Declared>
  /** With the content of the files that a declaration names; `read` takes the member and the path of a file. */
  readFiles?(declared: Declared, read: (member: string, file: string) => string): object
  /** Whether an exported file has the section only if there is one. */
  readonly isExportedIfAny?: true
}

/** The type of a method, so that a definition of any items is an AnySection. */
type NamedScopes<Item> = { of(item: Item): readonly (string | null | undefined)[] }['of']

/** A kind with administration routes, and with commands. */
export interface Resource<Item extends object, Declared extends object> extends Section<Item, Declared> {
  readonly noun: AuditedNoun
  readonly scope: 'Identity/Admin' | 'Platform/Admin'
  /** What addresses and the audit log call one, where that is not its key: a user by id. `find` of the store knows both. */
  addressKey?(item: Item): string
  /** The members that a reply has. */
  present(item: Item, place: Place): JsonObject
  /** A request to create one, with what the server chooses. */
  complete?(body: JsonObject): JsonObject
  /** JSON merge patch, where that is not all. */
  merge?(declared: JsonObject, patch: JsonObject): JsonObject
  /** Members that no request has: what to do instead. */
  readonly onlyInFiles?: Readonly<Record<string, string>>
  /** What is wrong in a request besides; `before` is what it changes. */
  requestFaults?(declared: Declared, before: Item | undefined): Fault[]

  /** Why it cannot have its name, in a sentence. */
  conflict?(item: Item, stores: Stores): Promise<string | undefined>
  /** Why one cannot be changed, or removed where there is no `after`: a sentence that names what still uses it. */
  refusal?(before: Item, after: Item | undefined, world: World): Promise<string | undefined>
  /** What a change or removal gives away: it is refused unless the request says so, with this query parameter. */
  readonly release?: {
    readonly flag: string
    readonly help: string
    /** Of the option with that name of the command that removes one. */
    readonly option: string
    /** A sentence that names it. */
    find(before: Item, after: Item | undefined, stores: Stores): Promise<string | undefined>
  }
  /** Whether `refusal` looks at the tables. */
  readonly isNamedByTables?: true
  /** Whether nodes of an earlier version would not respect it. */
  isNewerThanNodes?(body: JsonObject): boolean

  /** Whether a plan and an exported file have its items before tables and views, which may name them. */
  readonly isBeforeTables?: true
  store(stores: Stores): DefinitionStore<Item>
  /** There may be many: a file reads only those that it names. */
  readonly isLarge?: true
  /** Writes one, where that is more than to store it. Returns what is shown only once, in the reply. */
  put?(item: Item, change: ItemChange<Item>): Promise<JsonObject | undefined>
  /** Removes one, where that is more than to forget it. */
  remove?(item: Item, change: ChangeInside): Promise<void>
  /** What follows from all changes of a transaction together. */
  settle?(kind: 'created' | 'changed', change: ChangeInside): Promise<void>
  /** Published with every change. */
  readonly changedEvent?: ChangedEvent

  /** Whether `put` and `remove` write to the audit log. */
  readonly recordsItself?: true
  /** What the audit log records of one besides its key. */
  auditDetails?(item: Item): Readonly<Record<string, string>>

  readonly routes: ResourceRouteTexts
  /** Absent where other commands do more. */
  readonly commands?: ResourceCommandTexts
  readonly actions?: readonly ResourceAction<Item>[]
}

/** The member whose value is stored sealed, or as a digest, and never shown. */
export interface SecretMember<Item, Declared> {
  readonly member: string
  /** In the body of a request; absent where the server makes the secret. */
  readonly body?: MemberSchema
  /** What is wrong with it in a request, where it is not any short text. */
  bodyFault?(value: unknown): string | undefined
  /** Where it is changed, if not with a patch. */
  readonly instead?: string
  /** Whether an exported file names one. */
  has?(item: Item): boolean
  /** What is wrong with the value that a file names. */
  textFault?(declared: Declared, text: string): string | undefined
  /** What is wrong in a file, whatever is stored. */
  declaredFaults?(declared: Declared): Fault[]
  /** What is wrong with a secret for the item, or without one. A request has the `value`. */
  fault?(isGiven: boolean, item: Item, before: Item | undefined, value?: string | undefined): string | undefined
  /** The secret that a file sets, unless it is the one that it has set before. */
  plan(declared: Declared, before: Item | undefined, digests: SecretDigests): NewSecret | undefined
  /** As it is stored. It takes long, so it is called before the transaction, in which others cannot write. */
  seal?(secret: NewSecret, hashPassword: HashPassword): Promise<NewSecret>
}

/** Argon2id, as a PHC string. */
export type HashPassword = (password: string) => Promise<string>

export interface NewSecret {
  /** Undefined: what a file has set is removed; a password is kept. */
  readonly value: string | undefined
  /** By which a file recognises it. */
  readonly digest?: string | undefined
  /** Whether the value is the hash of a password. */
  readonly isHash?: boolean
  /** What a plan says, if not `changed`. */
  readonly difference?: string
}

/** How secrets are compared without storing them. */
export interface SecretDigests {
  passwordDigest(name: string, value: string): string
  secretDigest(clientId: string, secret: string): string
}

/** What a change can use. */
export interface ChangeInside {
  readonly accounts: AccountsInside
  readonly stores: Stores
  readonly revocations: RevocationsInside
  readonly publish: PublishInside
  /** Seals the secrets of providers and channels. */
  readonly providerKey: Buffer
}

export interface ItemChange<Item> extends ChangeInside {
  readonly before: Item | undefined
  readonly secret: NewSecret | undefined
  /** Whether it comes from a file, which sets the secrets. */
  readonly isDeclared: boolean
  /** Whether a file creates it, although there may be one since the plan was made. */
  readonly isNew?: boolean
  /** Of a request that changes one. */
  readonly patch?: JsonObject
}

/** Something that is done with one: `POST /admin/providers/{provider}/key`, `gatehouse provider key`. */
export interface ResourceAction<Item> {
  /** The last part of its path, and its command. */
  readonly name: string
  readonly summary: string
  readonly reply: string
  readonly body?: ItemSchema
  run(item: Item, change: ChangeInside, body: JsonObject): Promise<ActionResult>
  readonly command?: CommandText & {
    readonly options?: Readonly<Record<`--${string}`, MemberOption>>
    confirm?(key: string): string
  }
}

export interface ActionResult {
  readonly audit: ActionAudit
  /** Shown in this reply only. */
  readonly once?: JsonObject
}

/** Its event with its details. */
type ActionAudit = {
  [Name in AuditEventName]: Pick<Extract<AuditEvent, { event: Name }>, 'event' | 'details'>
}[AuditEventName]

/** Of any kind. */
export type AnyResource = Resource<object, object>
export type AnySection = Section<object, object>

/** The events that say no more than that definitions of a kind have changed. */
type ChangedEvent =
  | 'agents-changed'
  | 'alerts-changed'
  | 'apis-changed'
  | 'attributes-changed'
  | 'channels-changed'
  | 'controllers-changed'
  | 'feeds-changed'
  | 'licences-changed'
  | 'providers-changed'

/** What its events in the audit log are called: agents are allowed. */
export function createdEvent(noun: AuditedNoun) {
  return noun === 'agent' ? 'agent.allowed' : (`${noun}.created` as const)
}

export function deletedEvent(noun: AuditedNoun) {
  return noun === 'agent' ? 'agent.removed' : (`${noun}.deleted` as const)
}

/** The nouns that have the three events in the audit log: `api.created`, `api.changed`, `api.deleted`. */
export type AuditedNoun =
  | 'agent'
  | {
      [Name in AuditEventName]: Name extends `${infer Noun}.created`
        ? `${Noun}.changed` | `${Noun}.deleted` extends AuditEventName
          ? Noun
          : never
        : never
    }[AuditEventName]

/** Tables and views are administered with IQL. */
export type SectionNoun = AuditedNoun | 'table' | 'view'

/** Where the server is. */
export interface Place {
  readonly issuer: string
}

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
  readonly enum?: readonly string[]
  readonly anyOf?: readonly object[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, MemberSchema>>
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
  /** Undefined where those in the database are not known yet. */
  readonly products?: ReadonlyMap<string, Product> | undefined
  /** By name; undefined where those in the database are not known yet. */
  readonly feeds?: ReadonlyMap<string, FeedDefinition> | undefined
  /** Ids of agreements; undefined where those in the database are not known yet. */
  readonly agreements?: ReadonlySet<string> | undefined
  /** None before the first start. */
  readonly signingKeys: readonly StoredKey[]
  /** Undefined where those in the database are not known. */
  readonly tables?: KnownTables | undefined
}

export interface KnownTables {
  readonly tables: readonly KnownTable[]
  readonly views: readonly { readonly name: string }[]
}

interface KnownTable {
  readonly name: string
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly primaryKey: boolean
    readonly nullable: boolean
  }[]
  /** Whether changes are logged. */
  readonly live: boolean
}

/** What may use a resource. */
export interface World {
  readonly stores: Stores
  /** Tables and views. Where no node runs the query service there are none. */
  readonly tables: readonly NamingTable[]
  /** All kinds. */
  readonly resources: readonly AnyResource[]
}

export interface NamingTable {
  readonly name: string
  readonly readScope: string | null
  readonly writeScope?: string | null
  readonly rowFilter?: string | null
}

export function resourceTitle({ title, noun }: Pick<AnySection, 'title' | 'noun'>): string {
  return title ?? noun
}

/** The members of a key. */
export function keyMembers({ key }: Pick<AnySection, 'key'>): readonly string[] {
  return typeof key === 'string' ? [key] : key
}

/** A key of several members is one text: their values as in an address, with slashes. */
export function readKey({ key, makeKey }: Pick<AnySection, 'key' | 'makeKey'>, item: object): string {
  if (makeKey !== undefined) return makeKey(item)
  return typeof key === 'string'
    ? String(Reflect.get(item, key))
    : joinKey(key.map((member) => Reflect.get(item, member)))
}

export function joinKey(values: readonly unknown[]): string {
  return values.map((value) => encodeURIComponent(String(value))).join('/')
}

/** What addresses and the audit log call one. */
export function addressKey<Item extends object>(resource: Resource<Item, never>, item: Item): string {
  return resource.addressKey?.(item) ?? readKey(resource, item)
}

/** The key in an address. */
export function keyPath({ key }: Pick<AnySection, 'key'>, text: string): string {
  return typeof key === 'string' ? encodeURIComponent(text) : text
}

/** By key, where keys are compared. */
export function byKey<Item extends object>(
  resource: Pick<Section<Item, never>, 'key' | 'makeKey' | 'foldKey'>,
  items: Iterable<Item>,
): Map<string, Item> {
  return new Map(Array.from(items, (item) => [foldedKey(resource, item), item]))
}

export function foldedKey(resource: Pick<AnySection, 'key' | 'makeKey' | 'foldKey'>, item: object): string {
  const key = readKey(resource, item)
  return resource.foldKey?.(key) ?? key
}

/** A declaration that has the schema, or what is wrong with it. */
export function checkItemShape<Declared extends object>(
  { list, patterns = [] }: Pick<AnySection, 'list' | 'patterns'>,
  value: object,
): { readonly declared: Declared } | { readonly faults: readonly Fault[] } {
  const faults = findFaults(value, { schema: list.items, patterns: new Map(patterns) })
  return faults.length === 0 ? { declared: value as Declared } : { faults }
}

/** Keys of a list that are there twice. */
export function duplicates<Item extends object>(
  list: string,
  section: Pick<AnySection, 'key' | 'makeKey'>,
  items: readonly Item[],
  fold: (item: Item) => string = (item) => readKey(section, item),
): Fault[] {
  const { key, makeKey } = section
  const first = new Map<string, number>()
  return items.flatMap((item, index) => {
    const name = fold(item)
    const earlier = first.get(name)
    if (earlier === undefined) first.set(name, index)
    return earlier === undefined
      ? []
      : [
          {
            path: `${list}[${index}]${typeof key === 'string' && makeKey === undefined ? `.${key}` : ''}`,
            text: `"${readKey(section, item)}" is already the name of ${list}[${earlier}]`,
          },
        ]
  })
}
