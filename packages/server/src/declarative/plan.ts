/** Computes the changes that turn the current state into the declared one. Pure: decides everything, changes nothing. */

import { RESOURCES } from '../resources/resources.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import type { Provider, StoredProvider } from '../store/providers/providers.ts'
import { feedTarget, presentFeed } from './declared-feed.ts'
import { declaredProvider, providerTarget } from './declared-provider.ts'
import { differences, isSameValue } from './differences.ts'
import type { ResolvedDeclaration, ResolvedUser } from './secrets.ts'
import {
  planRemovals as planRemovalsOf,
  planSection,
  type Removal,
  type ResourceChange,
  type Upsert,
  upsert,
} from './sections.ts'
import {
  type BoundView,
  type ClientTarget,
  type ControllerTarget,
  clientTarget,
  controllerTarget,
  type RoleTarget,
  roleTarget,
  type TableTarget,
  tableTarget,
  type UserTarget,
  userTarget,
} from './targets.ts'

/** Users are keyed by their normalised name, tables and views by their lower-case name. */
export interface CurrentState {
  readonly apis: ReadonlyMap<string, Api>
  readonly roles: ReadonlyMap<string, RoleTarget>
  readonly attributes: ReadonlyMap<string, AttributeDefinition>
  readonly users: ReadonlyMap<string, UserState>
  readonly clients: ReadonlyMap<string, ClientState>
  readonly tables: ReadonlyMap<string, TableTarget>
  readonly views: ReadonlyMap<string, BoundView>
  readonly controllers: ReadonlyMap<string, ControllerTarget>
  readonly feeds: ReadonlyMap<string, FeedDefinition>
  readonly providers: ReadonlyMap<string, StoredProvider>
}

export interface UserState {
  readonly target: UserTarget
  readonly hasPassword: boolean
  readonly declaredDigest: string | undefined
}

export interface ClientState {
  readonly target: ClientTarget
  /** Digests of the secrets that a file has set; others are not touched. */
  readonly declaredSecrets: readonly string[]
}

/** How usernames are normalised, and how secrets are compared without storing them. */
export interface PlanRules {
  foldUsername(username: string): string
  passwordDigest(username: string, passwordOrHash: string): string
  secretDigest(clientId: string, secret: string): string
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
  | Upsert<'role', RoleTarget>
  | (Upsert<'user', UserTarget> & { readonly password: NewPassword | undefined })
  | (Upsert<'client', ClientTarget> & { readonly secret: string | undefined })
  | Upsert<'table', TableTarget>
  | (Upsert<'view', BoundView> & { readonly before: BoundView | undefined })
  | Upsert<'controller', ControllerTarget>
  | Upsert<'feed', FeedDefinition>
  | (Upsert<'provider', Provider> & {
      readonly secret: { readonly value: string; readonly digest: string } | undefined
    })
  | Removal<'provider'>
  | Removal<'role'>
  | Removal<'user'>
  | Removal<'client'>
  | Removal<'table'>
  | Removal<'controller'>
  | Removal<'feed'>
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
): Change[] {
  return [
    ...planSection(RESOURCES.apis, declaration, state.apis),
    ...planRoles(declaration, state),
    ...planSection(RESOURCES.attributes, declaration, state.attributes),
    ...planUsers(declaration, state, rules),
    ...planClients(declaration, state, rules),
    ...planTables(declaration, state),
    ...planViews(views, state),
    ...planControllers(declaration, state),
    ...planFeeds(declaration, state),
    ...planProviders(declaration, state, rules),
    ...(declaration.prune === true ? planRemovals(declaration, state, rules) : []),
  ]
}

function planRoles({ roles = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return roles.map(roleTarget).flatMap(({ provisioned, ...rest }) => {
    const before = state.roles.get(rest.name)
    const is = before?.provisioned ?? false
    // Whether it is a group of SCIM stays as it is unless the file says so.
    const marked = provisioned === false && is ? { provisioned } : provisioned || is ? { provisioned: true } : {}
    return upsert('role', rest.name, before, { ...rest, ...marked }) ?? []
  })
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

function planClients({ clients = [] }: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return clients.flatMap((client): Change[] => {
    const { client_id: name, client_secret: secret } = client
    const before = state.clients.get(name)
    const wanted = secret === undefined ? [] : [rules.secretDigest(name, secret)]
    const others = isSameValue(before?.declaredSecrets, wanted) ? [] : ['client_secret: changed']
    const target = clientTarget(client, before?.target.disabled)
    const change = upsert('client', name, before?.target, target, others)
    return change === undefined ? [] : [{ ...change, secret }]
  })
}

function planTables({ tables = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return tables.flatMap((table) => {
    const target = tableTarget(table)
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

function planControllers({ controllers = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return controllers
    .map(controllerTarget)
    .flatMap((target) => upsert('controller', target.name, state.controllers.get(target.name), target) ?? [])
}

/** The differences are in the words of the file. */
function planFeeds({ feeds = [] }: ResolvedDeclaration, state: CurrentState): Change[] {
  return feeds.map(feedTarget).flatMap((target): Change[] => {
    const before = state.feeds.get(target.name)
    const change = upsert('feed', target.name, before && presentFeed(before), presentFeed(target))
    return change === undefined ? [] : [{ ...change, target }]
  })
}

/** A secret of the file replaces the stored one only when it is another than the file had before. */
function planProviders({ providers = [] }: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  return providers.flatMap((declared): Change[] => {
    const target = providerTarget(declared)
    const before = state.providers.get(target.id)
    const { client_secret: value } = declared
    const digest = value === undefined ? '' : rules.passwordDigest(`provider ${target.id}`, value)
    const isNew = value !== undefined && before?.sealed.secretDigest !== digest
    const others = isNew ? ['client_secret: changed'] : []
    const former = before && declaredProvider(before)
    const change = upsert('provider', target.id, former, declaredProvider(target), others)
    return change === undefined ? [] : [{ ...change, target, secret: isNew ? { value, digest } : undefined }]
  })
}

/** Differences from existing tables that cannot be applied. */
export function impossibleChanges(
  { tables = [] }: Pick<ResolvedDeclaration, 'tables'>,
  existing: CurrentState['tables'],
): Fault[] {
  return tables.flatMap((table, index) => {
    const before = existing.get(table.name.toLowerCase())
    return before === undefined ? [] : columnFaults(before, tableTarget(table), `tables[${index}].columns`)
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
function planRemovals(declaration: ResolvedDeclaration, state: CurrentState, rules: PlanRules): Change[] {
  const { users, roles, clients, feeds, controllers, providers } = declaration
  const foldedNames = users?.map(({ username }) => rules.foldUsername(username))
  const clientIds = clients?.map(({ client_id }) => client_id)
  return [
    ...absentFrom(state.users, foldedNames).map(({ target }) => removal('user', target.username)),
    ...absentFrom(state.roles, namesOf(roles)).map(({ name }) => removal('role', name)),
    ...absentFrom(state.clients, clientIds).map(({ target }) => removal('client', target.client_id)),
    ...planRemovalsOf(RESOURCES.apis, declaration, state.apis),
    ...planRemovalsOf(RESOURCES.attributes, declaration, state.attributes),
    ...absentFrom(state.controllers, namesOf(controllers)).map(({ name }) => removal('controller', name)),
    ...absentFrom(state.feeds, namesOf(feeds)).map(({ name }) => removal('feed', name)),
    ...absentFrom(
      state.providers,
      providers?.map(({ id }) => id),
    ).map(({ id }) => removal('provider', id)),
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
        namesOf(views)?.map((name) => name.toLowerCase()),
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
        namesOf(tables)?.map((name) => name.toLowerCase()),
      )
    : []
}

function namesOf(declared: readonly { readonly name: string }[] | undefined): readonly string[] | undefined {
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
