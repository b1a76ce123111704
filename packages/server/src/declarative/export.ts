/** The state of an installation as a declarative file. Passwords and secrets are not part of it. */

import { Refusal } from 'gatehouse-protocol'
import { CLIENTS } from '../resources/clients.ts'
import { type AnyResource, readKey } from '../resources/define-resource.ts'
import { isHeldByUsers, listResources } from '../resources/resources.ts'
import { TABLES, type TableTarget } from '../resources/tables.ts'
import { type BoundView, VIEWS } from '../resources/views.ts'
import { rolesByOperator, type User } from '../store/accounts/user.ts'
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

const PAGE = 500
/** More would be neither a file that people edit nor a reply that a server should hold in memory. */
const MOST_USERS = 10_000

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
  const exported = resources.filter(({ scope }) => operator || scope !== 'Platform/Admin')
  const first = exported.filter(isHeldByUsers)
  const clients = exported.filter((resource) => resource === CLIENTS)
  const last = exported.filter((resource) => !first.includes(resource) && !clients.includes(resource))
  return {
    ...(await exportSections(first, stores)),
    ...(users && { users: (await allUsers(stores)).toSorted(by(({ username }) => username)).map(declaredUser) }),
    ...(await exportSections(clients, stores)),
    ...(definitions && {
      tables: definitions.tables.toSorted(by(({ name }) => name)).map(TABLES.declare),
      views: definitions.views.toSorted(by(({ name }) => name)).map(VIEWS.declare),
    }),
    ...(await exportSections(last, stores)),
  }
}

async function exportSections(resources: readonly AnyResource[], stores: Stores): Promise<ExportedFile> {
  const sections: [section: string, items: readonly object[]][] = []
  for (const resource of resources) {
    const items = (await resource.store(stores).list()).toSorted(by((item) => readKey(resource, item)))
    // Files of those who use none stay as they are.
    if (items.length > 0 || resource.isExportedIfAny !== true)
      sections.push([resource.section, declareAll(resource, items)])
  }
  return Object.fromEntries(sections)
}

/** Secrets are sealed or digests, so that a file names a variable for each. */
function declareAll({ key, secret, declare }: AnyResource, items: readonly object[]): readonly object[] {
  const used = new Set<string>()
  return items.map((item) => ({
    ...declare(item),
    ...(secret?.has?.(item) === true && { [secret.member]: { env: variableFor(readKey({ key }, item), used) } }),
  }))
}

async function allUsers({ users }: Stores): Promise<User[]> {
  const all: User[] = []
  for (;;) {
    const page = await users.list({ after: all.at(-1)?.username ?? '', limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
    if (all.length > MOST_USERS)
      throw new Refusal(
        'admin.conflict',
        409,
        `There are more than ${MOST_USERS} users: leave them out with users=false, or --without-users`,
      )
  }
}

/** The password stays behind: someone who is created by the file chooses one with a link. */
function declaredUser(user: User): object {
  const { username, attributes, disabled, breakGlass, profile } = user
  return {
    username,
    roles: rolesByOperator(user),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(disabled && { disabled: true }),
    ...(breakGlass && { break_glass: true }),
    ...profile,
  }
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
