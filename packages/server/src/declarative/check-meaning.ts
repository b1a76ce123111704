/** Checks what the schema of the declarative file cannot: duplicate names, unknown names, members that contradict each other. */
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { sharedNames, type TakenNames, takenNames } from '../resources/controller-names.ts'
import { type AnySection, byKey, type Known, type KnownTables } from '../resources/define-resource.ts'
import { FEEDS } from '../resources/feeds.ts'
import { PRODUCTS } from '../resources/products.ts'
import { listResources } from '../resources/resources.ts'
import { type DeclaredTable, TABLES } from '../resources/tables.ts'
import { type DeclaredView, VIEWS } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'
import type { Agreement, Product } from '../store/licences/products.ts'
import { wantedScopes } from './api-changes.ts'
import { declaredSecretFaults, repeatedKeys, sectionFaults, togetherFaults } from './sections.ts'
import type { Declaration } from './shape.ts'

const names = (declared: readonly { readonly name: string }[]): readonly string[] => declared.map(({ name }) => name)

/** The APIs in the database, to whose scopes the file may refer, and whether clients can provision users. */
export interface KnownApis {
  readonly apis?: readonly Api[]
  readonly provisioning?: boolean
  readonly signingKeys?: readonly StoredKey[]
  readonly resources?: readonly AnySection[]
  /** Undefined where those in the database are not known yet. */
  readonly products?: Iterable<Product>
  readonly agreements?: Iterable<Pick<Agreement, 'id'>>
  readonly feeds?: Iterable<FeedDefinition>
  /** Undefined where those in the database are not known yet. */
  readonly tables?: KnownTables | undefined
}

/** `existingRoles` and `existingAttributes` are those in the database, to which the file may refer; `taken` are names of controllers. */
export function checkMeaning(
  declaration: Declaration,
  existingRoles: Iterable<string>,
  taken: TakenNames = takenNames(),
  existingAttributes: Iterable<AttributeDefinition> = [],
  {
    apis: existingApis = [],
    provisioning = false,
    signingKeys = [],
    resources = listResources(),
    ...stored
  }: KnownApis = {},
): Fault[] {
  const known = wantedScopes(declaration, existingApis, { provisioning })
  const { roles = [], attributes = [], tables = [], views = [], feeds = [], controllers = [] } = declaration
  const roleNames = new Set([...existingRoles, ...roles.map(({ name }) => name)])
  const definitions = new Map(
    [...existingAttributes, ...attributes.map(ATTRIBUTES.toItem)].map((definition) => [definition.name, definition]),
  )
  const all = {
    ...{ scopes: known, roles: roleNames, attributes: definitions, signingKeys, controllers: taken },
    ...knownLicences(declaration, stored),
    tables: knownTables(declaration, stored.tables),
  }
  return [
    ...resources.flatMap((resource) => repeatedKeys(resource, declaration)),
    ...[TABLES, VIEWS].flatMap((section) => repeatedKeys(section, declaration)),
    ...sharedNames('feeds', feeds, names(controllers)),
    ...resources.flatMap((resource) => sectionFaults(resource, declaration, all)),
    ...resources.flatMap((resource) => declaredSecretFaults(resource, declaration)),
    ...togetherFaults(APIS, declaration, byKey(APIS, existingApis)),
    ...sectionFaults(TABLES, declaration, all),
    ...sectionFaults(VIEWS, declaration, all),
    ...viewsNamedAsTables(views, tables),
  ]
}

/** Those in the database, and those of the file. */
function knownLicences(
  { products = [], agreements = [], feeds = [] }: Declaration,
  stored: Pick<KnownApis, 'products' | 'agreements' | 'feeds'>,
): Pick<Known, 'products' | 'agreements' | 'feeds'> {
  const all = stored.products && [...stored.products, ...products.map(PRODUCTS.toItem)]
  const allFeeds = stored.feeds && [...stored.feeds, ...feeds.map(FEEDS.toItem)]
  return {
    products: all && new Map(all.map((product) => [product.name, product])),
    feeds: allFeeds && new Map(allFeeds.map((feed) => [feed.name, feed])),
    agreements: stored.agreements && new Set([...stored.agreements, ...agreements].map(({ id }) => id)),
  }
}

/** Those of the file before those in the database, which they change. */
function knownTables({ tables = [], views = [] }: Declaration, stored: KnownTables | undefined): KnownTables {
  return {
    tables: [...tables.map(TABLES.toItem), ...(stored?.tables ?? [])],
    views: [...views, ...(stored?.views ?? [])],
  }
}

function viewsNamedAsTables(views: readonly DeclaredView[], tables: readonly DeclaredTable[]): Fault[] {
  const names = tables.map(({ name }) => name.toLowerCase())
  return views.flatMap(({ name }, index) => {
    const same = names.indexOf(name.toLowerCase())
    return same === -1
      ? []
      : [{ path: `views[${index}].name`, text: `"${name}" is already the name of tables[${same}]` }]
  })
}
