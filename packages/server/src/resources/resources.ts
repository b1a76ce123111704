/** The kinds of resources by their sections in the declarative file: what is created first comes first. */

import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { AGENTS } from './agents.ts'
import { AGREEMENTS } from './agreements.ts'
import { ALERTS } from './alerts.ts'
import { readPages } from './all-pages.ts'
import { APIS } from './apis.ts'
import { ATTRIBUTES } from './attributes.ts'
import { CHANNELS } from './channels.ts'
import { CLIENTS } from './clients.ts'
import { CONTROLLERS } from './controllers.ts'
import { type AnyResource, byKey, readKey } from './define-resource.ts'
import { ENTITLEMENTS } from './entitlements.ts'
import { FEEDS } from './feeds.ts'
import { PRODUCTS } from './products.ts'
import { PROVIDERS } from './providers.ts'
import { ROLES } from './roles.ts'
import { USERS } from './users.ts'

export const RESOURCES = {
  apis: APIS,
  roles: ROLES,
  attributes: ATTRIBUTES,
  users: USERS,
  clients: CLIENTS,
  providers: PROVIDERS,
  controllers: CONTROLLERS,
  feeds: FEEDS,
  agents: AGENTS,
  agreements: AGREEMENTS,
  products: PRODUCTS,
  entitlements: ENTITLEMENTS,
  channels: CHANNELS,
  alerts: ALERTS,
} as const satisfies Readonly<Record<string, AnyResource>>

/** All items in the database, by section and key. */
export type ResourceStates = {
  readonly [Section in keyof typeof RESOURCES]: ReadonlyMap<string, ReturnType<(typeof RESOURCES)[Section]['toItem']>>
}

export function listResources(): readonly AnyResource[] {
  return Object.values(RESOURCES)
}

/** Of a kind of which there may be many: those that the file names, and those that it removes. */
export async function readResources(
  stores: Stores,
  resources: readonly AnyResource[],
  declaration: { readonly prune?: boolean },
): Promise<ResourceStates> {
  const states: [section: string, items: ReadonlyMap<string, object>][] = []
  for (const resource of resources)
    states.push([resource.section, byKey(resource, await readItems(resource, resource.store(stores), declaration))])
  // Each store gives the items of its section.
  return Object.fromEntries(states) as unknown as ResourceStates
}

async function readItems(
  resource: AnyResource,
  store: DefinitionStore<object>,
  declaration: { readonly prune?: boolean },
): Promise<readonly object[]> {
  if (resource.isLarge !== true) return store.list()
  if (declaration.prune === true)
    return readPages((last, limit) => store.list({ after: last === undefined ? '' : readKey(resource, last), limit }))
  const declared: readonly object[] = Reflect.get(declaration, resource.section) ?? []
  const named = await Promise.all(declared.map((each) => store.find(readKey(resource, each))))
  return named.filter((item) => item !== undefined)
}
