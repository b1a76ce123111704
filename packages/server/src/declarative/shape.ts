/** The schema of the declarative file, from which its types, its validation and the published JSON Schema are derived. */

import type { XStatic } from 'typebox/schema'
import { AGENTS } from '../resources/agents.ts'
import { AGREEMENTS } from '../resources/agreements.ts'
import { ALERTS } from '../resources/alerts.ts'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { CHANNELS } from '../resources/channels.ts'
import { CLIENTS } from '../resources/clients.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import type { AnySection } from '../resources/define-resource.ts'
import { ENTITLEMENTS } from '../resources/entitlements.ts'
import { FEEDS } from '../resources/feeds.ts'
import { PRODUCTS } from '../resources/products.ts'
import { PROVIDERS } from '../resources/providers.ts'
import { listResources } from '../resources/resources.ts'
import { ROLES } from '../resources/roles.ts'
import { TABLES } from '../resources/tables.ts'
import { USERS } from '../resources/users.ts'
import { VIEWS } from '../resources/views.ts'
import { closed, either, flag, list, number, text } from '../schema/builders.ts'
import type { SchemaRules } from '../schema/check-schema.ts'

export type Declaration = XStatic<typeof DECLARATION>
const SETTING = either(
  text(),
  number('number'),
  flag(),
  list(text()),
  closed(['env'], { env: text({ minLength: 1 }) }),
  closed(['file'], { file: text({ minLength: 1 }) }),
)

export const DECLARATION = {
  title: 'The declarative file of Gatehouse',
  ...closed([], {
    $schema: text(),
    settings: {
      type: 'object',
      additionalProperties: SETTING,
      description: 'Settings by their names in a file, such as log_level.',
    },
    apis: APIS.list,
    roles: ROLES.list,
    attributes: ATTRIBUTES.list,
    users: USERS.list,
    clients: CLIENTS.list,
    tables: TABLES.list,
    views: VIEWS.list,
    controllers: CONTROLLERS.list,
    providers: PROVIDERS.list,
    feeds: FEEDS.list,
    agents: AGENTS.list,
    agreements: AGREEMENTS.list,
    products: PRODUCTS.list,
    entitlements: ENTITLEMENTS.list,
    channels: CHANNELS.list,
    alerts: ALERTS.list,
    prune: flag('Remove what is not in this file, of each list that is.'),
  }),
} as const

/** The schema of a file, and the messages of its patterns; `resources` may be more than those that every server has. */
export function fileSchema(resources: readonly AnySection[]): SchemaRules {
  const all = [...resources, TABLES, VIEWS]
  const lists = all.map(({ section, list: each }) => [section, each] as const)
  return {
    schema: { ...DECLARATION, properties: { ...DECLARATION.properties, ...Object.fromEntries(lists) } },
    patterns: new Map(all.flatMap(({ patterns = [] }: AnySection) => patterns)),
  }
}

/** Of every server. */
export const FILE: SchemaRules = fileSchema(listResources())
