/** Computes the changes that turn the current state into the declared one. Pure: decides everything, changes nothing. */

import { CLIENTS } from '../resources/clients.ts'
import type { AnyResource, SecretDigests } from '../resources/define-resource.ts'
import { isHeldByUsers, listResources, type ResourceStates } from '../resources/resources.ts'
import { ROLES } from '../resources/roles.ts'
import { TABLES, type TableTarget } from '../resources/tables.ts'
import type { BoundView } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { ResolvedDeclaration, ResolvedUser } from './secrets.ts'
import {
  differences,
  planSection,
  planSectionRemovals,
  type Removal,
  type ResourceChange,
  stateFor,
  type Upsert,
  upsert,
} from './sections.ts'
import { type UserTarget, userTarget } from './targets.ts'

/** Users are keyed by their normalised name, tables and views by their lower-case name. */
export interface CurrentState extends ResourceStates {
  readonly users: ReadonlyMap<string, UserState>
  readonly tables: ReadonlyMap<string, TableTarget>
  readonly views: ReadonlyMap<string, BoundView>
}

export interface UserState {
  readonly target: UserTarget
  readonly hasPassword: boolean
  readonly declaredDigest: string | undefined
}

/** How usernames are normalised, and how secrets are compared without storing them. */
export interface PlanRules extends SecretDigests {
  foldUsername(username: string): string
}

/** Applied with the change; never printed. */
export type NewPassword = { readonly digest: string } & (
  | {
      readonly kind: 'password' | 'hash'
      readonly value: string
      /** At the next sign-in. */
      readonly mustChange: boolean
    }
  /** The user already had a password when the file first declared one: only the digest is stored. */
  | { readonly kind: 'kept' }
)

export type Change =
  | ResourceChange
  | (Upsert<'user', UserTarget> & { readonly password: NewPassword | undefined })
  | Upsert<'table', TableTarget>
  | (Upsert<'view', BoundView> & { readonly before: BoundView | undefined })
  | Removal<'user'>
  | Removal<'table'>
  | (Removal<'view'> & { readonly before: BoundView })

/**
 * Roles and attributes are created before the users who hold them, and removed after them; so are tables and the views that read them. `views` are
 * those of the declaration, each after those that it uses.
 */
export function plan(
  declaration: ResolvedDeclaration,
  state: CurrentState,
  rules: PlanRules,
  views: readonly BoundView[] = [],
  resources: readonly AnyResource[] = listResources(),
): Change[] {
  const planned = (resource: AnyResource) => planSection(resource, declaration, stateFor(resource, state), rules)
  return [
    ...resources.filter(isHeldByUsers).flatMap(planned),
    ...planUsers(declaration, state, rules),
    ...resources.filter((resource) => resource === CLIENTS).flatMap(planned),
    ...planTables(declaration, state),
    ...planViews(views, state),
    ...resources.filter((resource) => !isHeldByUsers(resource) && resource !== CLIENTS).flatMap(planned),
    ...(declaration.prune === true ? planRemovals(declaration, state, rules, resources) : []),
  ]
}

/** A file that does not say whether an address is verified leaves it to the links that are mailed. */
function withVerified(target: UserTarget, before: UserTarget | undefined): UserTarget {
  const { email, email_verified: isVerified } = before?.profile ?? {}
  if (isVerified === undefined || 'email_verified' in target.profile || target.profile.email !== email) return target
  return { ...target, profile: { ...target.profile, email_verified: isVerified } }
}

function planUsers({ users = [] }: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return users.flatMap((user): Change[] => {
    const before = state.users.get(rules.foldUsername(user.username))
    const target = withVerified(userTarget(user, before?.target), before?.target)
    const password = newPassword(user, before, rules)
    const kept = password?.kind === 'kept' ? 'kept, since the user already has one' : 'changed'
    const others = password === undefined ? [] : [`password: ${kept}`]
    const change = upsert('user', target.username, before?.target, target, others)
    return change === undefined ? [] : [{ ...change, password }]
  })
}

/**
 * A declared password is for the creation of the user. Users may change theirs later, so only a new value in the file sets it
 * again. A user who was created in another way keeps their password, unless `reset_password` says otherwise.
 */
function newPassword(user: ResolvedUser, before: UserState | undefined, rules: PlanRules): NewPassword | undefined {
  const value = user.password ?? user.password_hash
  if (value === undefined) return undefined
  const digest = rules.passwordDigest(rules.foldUsername(user.username), value)
  if (digest === before?.declaredDigest) return undefined
  const isFirst = before?.hasPassword === true && before.declaredDigest === undefined
  if (isFirst && user.reset_password !== true) return { kind: 'kept', digest }
  const mustChange = user.must_change_password === true
  return { kind: user.password === undefined ? 'hash' : 'password', value, digest, mustChange }
}

function planTables({ tables = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return tables.flatMap((table) => {
    const target = TABLES.toItem(table)
    const before = state.tables.get(target.name.toLowerCase())
    return upsert('table', target.name, before && { ...before, name: target.name }, target) ?? []
  })
}

function planViews(views: readonly BoundView[], state: CurrentState): Change[] {
  return views.flatMap((target): Change[] => {
    const before = state.views.get(target.name.toLowerCase())
    const change = upsert('view', target.name, before, target)
    return change === undefined ? [] : [{ ...change, before }]
  })
}

/** Differences from existing tables that cannot be applied. */
export function impossibleChanges(
  { tables = [] }: Pick<ResolvedDeclaration, 'tables'>,
  existing: CurrentState['tables'],
): Fault[] {
  return tables.flatMap((table, index) => {
    const before = existing.get(table.name.toLowerCase())
    return before === undefined ? [] : columnFaults(before, TABLES.toItem(table), `tables[${index}].columns`)
  })
}

/** The table has rows already: a declaration may only add nullable columns. */
function columnFaults(before: TableTarget, target: TableTarget, path: string): Fault[] {
  const kept = before.columns.flatMap((column, index): Fault[] => {
    const wanted = target.columns.find(({ name }) => name.toLowerCase() === column.name.toLowerCase())
    if (wanted === undefined)
      return [{ path, text: `the table has a column ${column.name} that is not listed; drop it with IQL first` }]
    const [difference] = differences({ ...column, name: '' }, { ...wanted, name: '' })
    return difference === undefined
      ? []
      : [
          {
            path: `${path}[${target.columns.indexOf(wanted)}]`,
            text: `${difference} cannot be changed in place; create a new table and copy the rows (column ${index + 1} of ${before.name})`,
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

/** Prunes only the lists that are in the file: a file without `users` removes no user. */
function planRemovals(
  declaration: ResolvedDeclaration,
  state: CurrentState,
  rules: PlanRules,
  resources: readonly AnyResource[],
): Change[] {
  const { users } = declaration
  const foldedNames = users?.map(({ username }) => rules.foldUsername(username))
  const first: readonly AnyResource[] = [ROLES, CLIENTS]
  const others = resources.filter((resource) => !first.includes(resource))
  return [
    ...absentFrom(state.users, foldedNames).map(({ target }) => removal('user', target.username)),
    ...[...first, ...others].flatMap((resource) =>
      planSectionRemovals(resource, declaration, stateFor(resource, state)),
    ),
    ...droppedViews(declaration, state.views).map((before) => ({ ...removal('view', before.name), before })),
    ...droppedTables(declaration, state.tables).map(({ name }) => removal('table', name)),
  ]
}

/** The views that the declaration removes. */
export function droppedViews(
  { prune, views }: Pick<ResolvedDeclaration, 'prune' | 'views'>,
  existing: CurrentState['views'],
): BoundView[] {
  return prune === true
    ? absentFrom(
        existing,
        listNames(views)?.map((name) => name.toLowerCase()),
      )
    : []
}

/** The tables that the declaration removes. */
export function droppedTables(
  { prune, tables }: Pick<ResolvedDeclaration, 'prune' | 'tables'>,
  existing: CurrentState['tables'],
): TableTarget[] {
  return prune === true
    ? absentFrom(
        existing,
        listNames(tables)?.map((name) => name.toLowerCase()),
      )
    : []
}

function listNames(declared: readonly { readonly name: string }[] | undefined): readonly string[] | undefined {
  return declared?.map(({ name }) => name)
}

function absentFrom<Item>(existing: ReadonlyMap<string, Item>, kept: readonly string[] | undefined): Item[] {
  if (kept === undefined) return []
  const keys = new Set(kept)
  return [...existing].filter(([key]) => !keys.has(key)).map(([, item]) => item)
}

function removal<const What extends string>(what: What, name: string): Removal<What> {
  return { action: 'remove', what, name }
}
