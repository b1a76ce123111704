/** The kinds of resources by their sections in the declarative file: what is created first comes first. */

import type { Stores } from '../store/stores.ts'
import { APIS } from './apis.ts'
import { ATTRIBUTES } from './attributes.ts'
import { CONTROLLERS } from './controllers.ts'
import { type AnyResource, byKey } from './define-resource.ts'
import { FEEDS } from './feeds.ts'
import { PROVIDERS } from './providers.ts'
import { ROLES } from './roles.ts'

export const RESOURCES = {
  apis: APIS,
  roles: ROLES,
  attributes: ATTRIBUTES,
  providers: PROVIDERS,
  controllers: CONTROLLERS,
  feeds: FEEDS,
} as const satisfies Readonly<Record<string, AnyResource>>

/** All items in the database, by section and key. */
export type ResourceStates = {
  readonly [Section in keyof typeof RESOURCES]: ReadonlyMap<string, ReturnType<(typeof RESOURCES)[Section]['toItem']>>
}

export function listResources(): readonly AnyResource[] {
  return Object.values(RESOURCES)
}

/** Users may hold or need it: it is created before them. */
export function isHeldByUsers({ section }: AnyResource): boolean {
  return section === 'apis' || section === 'roles' || section === 'attributes'
}

export async function readResources(stores: Stores, resources: readonly AnyResource[]): Promise<ResourceStates> {
  const states: [section: string, items: ReadonlyMap<string, object>][] = []
  for (const resource of resources)
    states.push([resource.section, byKey(resource, await resource.store(stores).list())])
  // Each store gives the items of its section.
  return Object.fromEntries(states) as unknown as ResourceStates
}
