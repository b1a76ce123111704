/** The state of an installation as a declarative file. Passwords and secrets are not part of it. */

import { type AnyResource, readKey } from '../resources/define-resource.ts'
import { listResources } from '../resources/resources.ts'
import { TABLES, type TableTarget } from '../resources/tables.ts'
import { USERS } from '../resources/users.ts'
import { type BoundView, VIEWS } from '../resources/views.ts'
import type { Stores } from '../store/stores.ts'
import { existingTables, existingViews } from './state.ts'
import type { TableChecks } from './tables-port.ts'

/** The definitions of the query service. */
export interface Definitions {
  readonly tables: readonly TableTarget[]
  readonly views: readonly BoundView[]
  /** Parts of these that a file cannot describe, in words. */
  readonly omitted: readonly string[]
}

export interface ExportOptions {
  readonly users: boolean
  /** Undefined: the file says nothing about tables and views. */
  readonly definitions: Definitions | undefined
  /** Whether the file also has what takes `Platform/Admin` to see. */
  readonly operator: boolean
  readonly resources?: readonly AnyResource[]
}

export async function readDefinitions(tables: TableChecks): Promise<Definitions> {
  return {
    tables: [...(await existingTables(tables)).values()],
    views: [...(await existingViews(tables)).values()],
    omitted: tables.notDeclarable(),
  }
}

/** The lists of the file, as JSON. */
export type ExportedFile = Readonly<Record<string, readonly object[]>>

/** In an order that does not depend on when things were created, and without defaults: equal states give equal files. */
export async function exportDeclaration(
  stores: Stores,
  { users, definitions, operator, resources = listResources() }: ExportOptions,
): Promise<ExportedFile> {
  const exported = resources.filter(
    (resource) => (operator || resource.scope !== 'Platform/Admin') && (users || resource !== USERS),
  )
  // Of the whole file: a client and a provider of one name have secrets of their own.
  const variables = new Set<string>()
  return {
    ...(await exportSections(
      exported.filter(({ isBeforeTables }) => isBeforeTables),
      stores,
      variables,
    )),
    ...(definitions && {
      tables: definitions.tables.toSorted(by(({ name }) => name)).map(TABLES.declare),
      views: definitions.views.toSorted(by(({ name }) => name)).map(VIEWS.declare),
    }),
    ...(await exportSections(
      exported.filter(({ isBeforeTables }) => !isBeforeTables),
      stores,
      variables,
    )),
  }
}

async function exportSections(
  resources: readonly AnyResource[],
  stores: Stores,
  variables: Set<string>,
): Promise<ExportedFile> {
  const sections: [section: string, items: readonly object[]][] = []
  for (const resource of resources) {
    const items = (await resource.store(stores).list()).toSorted(by((item) => readKey(resource, item)))
    // Files of those who use none stay as they are.
    if (items.length > 0 || resource.isExportedIfAny !== true)
      sections.push([resource.section, declareAll(resource, items, variables)])
  }
  return Object.fromEntries(sections)
}

/** Secrets are sealed or digests, so that a file names a variable for each. */
function declareAll(
  { key, secret, declare }: AnyResource,
  items: readonly object[],
  variables: Set<string>,
): readonly object[] {
  return items.map((item) => ({
    ...declare(item),
    ...(secret?.has?.(item) === true && { [secret.member]: { env: variableFor(readKey({ key }, item), variables) } }),
  }))
}

function variableFor(clientId: string, used: Set<string>): string {
  const base = `CLIENT_SECRET_${clientId.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`
  let name = base
  for (let number = 2; used.has(name); number++) name = `${base}_${number}`
  used.add(name)
  return name
}

function by<T>(readKey: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (readKey(a) < readKey(b) ? -1 : 1)
}
