/** The difference between a declaration and what exists, as a list of changes; decides everything and touches nothing. */
import type { Fault } from './bad-declaration.ts'
import type { ResolvedDeclaration } from './secrets.ts'
import {
  type ClientTarget,
  clientTarget,
  type RoleTarget,
  roleTarget,
  type TableTarget,
  tableTarget,
  type UserTarget,
  userTarget,
} from './targets.ts'

/** What exists. Users are keyed by their folded name, tables by theirs in lower case. */
export interface CurrentState {
  readonly roles: ReadonlyMap<string, RoleTarget>
  readonly users: ReadonlyMap<string, UserState>
  readonly clients: ReadonlyMap<string, ClientState>
  readonly tables: ReadonlyMap<string, TableTarget>
}

export interface UserState {
  readonly target: UserTarget
  readonly declaredDigest: string | undefined
}

export interface ClientState {
  readonly target: ClientTarget
  /** Of the secrets that a file has set; others stay as they are. */
  readonly declaredSecrets: readonly string[]
}

/** Names by which two spellings are one, and digests by which two secrets can be told apart without keeping them. */
export interface PlanRules {
  foldUsername(username: string): string
  passwordDigest(username: string, passwordOrHash: string): string
  secretDigest(clientId: string, secret: string): string
}

/** Set together with the change; never printed. */
export interface NewPassword {
  readonly kind: 'password' | 'hash'
  readonly value: string
  readonly digest: string
}

interface Made<What extends string, Target> {
  readonly action: 'create' | 'update'
  readonly what: What
  readonly name: string
  readonly target: Target
  /** One line for each member that changes; no secret among them. */
  readonly differences: readonly string[]
}

interface Removed<What extends string> {
  readonly action: 'remove'
  readonly what: What
  readonly name: string
}

export type Change =
  | Made<'role', RoleTarget>
  | (Made<'user', UserTarget> & { readonly password: NewPassword | undefined })
  | (Made<'client', ClientTarget> & { readonly secret: string | undefined })
  | (Made<'table', TableTarget> & { readonly csv: string | undefined })
  | Removed<'role'>
  | Removed<'user'>
  | Removed<'client'>
  | Removed<'table'>

export interface Plan {
  readonly changes: readonly Change[]
  /** Differences that cannot be made; with one, nothing is changed at all. */
  readonly faults: readonly Fault[]
}

/** Roles come before the users who hold them, and go after them. */
export function plan(declaration: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Plan {
  const tables = planTables(declaration, state)
  return {
    changes: [
      ...planRoles(declaration, state),
      ...planUsers(declaration, state, rules),
      ...planClients(declaration, state, rules),
      ...tables.changes,
      ...(declaration.prune === true ? planRemovals(declaration, state, rules) : []),
    ],
    faults: tables.faults,
  }
}

function planRoles({ roles = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return roles.map(roleTarget).flatMap((target): Change[] => {
    const before = state.roles.get(target.name)
    const differences = differencesOf(before, target)
    if (before !== undefined && differences.length === 0) return []
    return [{ action: before ? 'update' : 'create', what: 'role', name: target.name, target, differences }]
  })
}

function planUsers({ users = [] }: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return users.flatMap((user): Change[] => {
    const target = userTarget(user)
    const before = state.users.get(rules.foldUsername(user.username))
    const password = newPassword(user, before?.declaredDigest, rules)
    const differences = differencesOf(before?.target, target)
    if (before !== undefined && password !== undefined) differences.push('password: changed')
    if (before !== undefined && differences.length === 0) return []
    return [
      { action: before ? 'update' : 'create', what: 'user', name: target.username, target, password, differences },
    ]
  })
}

/** A user may change the password afterwards: only a new value in the file sets it again. */
function newPassword(
  user: { readonly username: string; readonly password?: string; readonly password_hash?: string },
  declaredDigest: string | undefined,
  rules: PlanRules,
): NewPassword | undefined {
  const value = user.password ?? user.password_hash
  if (value === undefined) return undefined
  const digest = rules.passwordDigest(rules.foldUsername(user.username), value)
  return digest === declaredDigest
    ? undefined
    : { kind: user.password === undefined ? 'hash' : 'password', value, digest }
}

function planClients({ clients = [] }: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return clients.flatMap((client): Change[] => {
    const target = clientTarget(client)
    const { client_id: name, client_secret: secret } = client
    const before = state.clients.get(name)
    const wanted = secret === undefined ? [] : [rules.secretDigest(name, secret)]
    const differences = differencesOf(before?.target, target)
    if (before !== undefined && !sameValue(before.declaredSecrets, wanted)) differences.push('client_secret: changed')
    if (before !== undefined && differences.length === 0) return []
    return [{ action: before ? 'update' : 'create', what: 'client', name, target, secret, differences }]
  })
}

function planTables({ tables = [] }: ResolvedDeclaration, state: CurrentState): Plan {
  const faults: Fault[] = []
  const changes = tables.flatMap((table, index): Change[] => {
    const target = tableTarget(table)
    const before = state.tables.get(target.name.toLowerCase())
    if (before !== undefined) faults.push(...columnFaults(before, target, `tables[${index}].columns`))
    const differences = differencesOf(before && { ...before, name: target.name }, target)
    if (before !== undefined && differences.length === 0) return []
    return [
      { action: before ? 'update' : 'create', what: 'table', name: target.name, target, csv: table.csv, differences },
    ]
  })
  return { changes, faults }
}

/** Rows already stand in the columns: a declaration may add columns that can be null, and nothing else. */
function columnFaults(before: TableTarget, target: TableTarget, path: string): Fault[] {
  const kept = before.columns.flatMap((column, index): Fault[] => {
    const wanted = target.columns.find(({ name }) => name.toLowerCase() === column.name.toLowerCase())
    if (wanted === undefined)
      return [{ path, text: `the table has a column ${column.name} that is not listed; drop it with IQL first` }]
    const [difference] = differencesOf({ ...column, name: '' }, { ...wanted, name: '' })
    return difference === undefined
      ? []
      : [
          {
            path: `${path}[${target.columns.indexOf(wanted)}]`,
            text: `${difference} cannot be changed in place; make a new table and copy the rows (column ${index + 1} of ${before.name})`,
          },
        ]
  })
  const added = target.columns.flatMap((column, index): Fault[] => {
    const isNew = !before.columns.some(({ name }) => name.toLowerCase() === column.name.toLowerCase())
    if (!isNew || (column.nullable && !column.primaryKey && !column.unique)) return []
    return [{ path: `${path}[${index}]`, text: `a column added to the existing table ${before.name} must be nullable` }]
  })
  return [...kept, ...added]
}

/** Only the lists that the file has are pruned: a file without users leaves every user alone. */
function planRemovals(declaration: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return [
    ...removals(
      'user',
      state.users,
      declaration.users?.map(({ username }) => rules.foldUsername(username)),
      ({ target }) => target.username,
    ),
    ...removals(
      'role',
      state.roles,
      declaration.roles?.map(({ name }) => name),
      ({ name }) => name,
    ),
    ...removals(
      'client',
      state.clients,
      declaration.clients?.map(({ client_id }) => client_id),
      ({ target }) => target.client_id,
    ),
    ...removals(
      'table',
      state.tables,
      declaration.tables?.map(({ name }) => name.toLowerCase()),
      ({ name }) => name,
    ),
  ]
}

function removals<Item>(
  what: 'role' | 'user' | 'client' | 'table',
  existing: ReadonlyMap<string, Item>,
  kept: readonly string[] | undefined,
  nameOf: (item: Item) => string,
): Change[] {
  if (kept === undefined) return []
  return [...existing]
    .filter(([key]) => !kept.includes(key))
    .map(([, item]) => ({ action: 'remove', what, name: nameOf(item) }))
}

/** `member: before → after`, for every member that is not the same; none when there was nothing before. */
function differencesOf(before: object | undefined, after: object): string[] {
  if (before === undefined) return []
  const left = new Map<string, unknown>(Object.entries(before))
  const right = new Map<string, unknown>(Object.entries(after))
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((name) => !sameValue(left.get(name), right.get(name)))
    .map((name) => `${name}: ${shown(left.get(name))} → ${shown(right.get(name))}`)
}

function sameValue(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** JSON with the members in order: databases and files give them in any. */
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
