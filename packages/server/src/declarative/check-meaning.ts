/** Checks what the schema of the declarative file cannot: duplicate names, unknown names, members that contradict each other. */
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES, valueFaults } from '../resources/attributes.ts'
import { sharedNames, type TakenNames, takenNames } from '../resources/controller-names.ts'
import { type AnySection, byKey, duplicates } from '../resources/define-resource.ts'
import { repeated, unknownName } from '../resources/names.ts'
import { listResources } from '../resources/resources.ts'
import type { Fault } from '../schema/check-schema.ts'
import { USER_ID_PREFIX, usernameKey } from '../store/accounts/user.ts'
import type { Api } from '../store/apis/apis.ts'
import { BUILT_IN, type KnownScopes } from '../store/apis/known-scopes.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'
import { wantedScopes } from './api-changes.ts'
import { declaredSecretFaults, repeatedKeys, sectionFaults, togetherFaults, within } from './sections.ts'
import type { Declaration, DeclaredTable, DeclaredUser, DeclaredView } from './shape.ts'

const names = (declared: readonly { readonly name: string }[]): readonly string[] => declared.map(({ name }) => name)

/** The APIs in the database, to whose scopes the file may refer, and whether clients can provision users. */
export interface KnownApis {
  readonly apis?: readonly Api[]
  readonly provisioning?: boolean
  readonly signingKeys?: readonly StoredKey[]
  readonly resources?: readonly AnySection[]
}

/** `existingRoles` and `existingAttributes` are those in the database, to which the file may refer; `taken` are names of controllers. */
export function checkMeaning(
  declaration: Declaration,
  existingRoles: Iterable<string>,
  taken: TakenNames = takenNames(),
  existingAttributes: Iterable<AttributeDefinition> = [],
  { apis: existingApis = [], provisioning = false, signingKeys = [], resources = listResources() }: KnownApis = {},
): Fault[] {
  const known = wantedScopes(declaration, existingApis, { provisioning })
  const { roles = [], attributes = [], users = [], tables = [], views = [], feeds = [], controllers = [] } = declaration
  const roleNames = new Set([...existingRoles, ...roles.map(({ name }) => name)])
  const definitions = new Map(
    [...existingAttributes, ...attributes.map(ATTRIBUTES.toItem)].map((definition) => [definition.name, definition]),
  )
  const all = { scopes: known, roles: roleNames, attributes: definitions, signingKeys, controllers: taken }
  return [
    ...resources.flatMap((resource) => repeatedKeys(resource, declaration)),
    ...duplicates('users', 'username', users, ({ username }) => usernameKey(username)),
    ...duplicates('tables', 'name', tables, ({ name }) => name.toLowerCase()),
    ...duplicates('views', 'name', views, ({ name }) => name.toLowerCase()),
    ...sharedNames('feeds', feeds, names(controllers)),
    ...resources.flatMap((resource) => sectionFaults(resource, declaration, all)),
    ...resources.flatMap((resource) => declaredSecretFaults(resource, declaration)),
    ...togetherFaults(APIS, declaration, byKey(APIS, existingApis)),
    ...users.flatMap((user, index) => within(`users[${index}]`, userFaults(user, roleNames))),
    ...users.flatMap((user, index) => within(`users[${index}]`, valueFaults(user.attributes, definitions))),
    ...tables.flatMap((table, index) => within(`tables[${index}]`, tableFaults(table, known))),
    ...views.flatMap((view, index) => within(`views[${index}]`, viewFaults(view, tables, known))),
  ]
}

function userFaults(user: DeclaredUser, roleNames: ReadonlySet<string>): Fault[] {
  return [
    ...(user.username.startsWith(USER_ID_PREFIX)
      ? [{ path: 'username', text: `must not begin with ${USER_ID_PREFIX}, the prefix of user ids` }]
      : []),
    ...(user.password !== undefined && user.password_hash !== undefined
      ? [{ path: 'password_hash', text: 'cannot be combined with password' }]
      : []),
    ...(['reset_password', 'must_change_password'] as const).flatMap((path) =>
      user[path] === true && user.password === undefined && user.password_hash === undefined
        ? [{ path, text: 'needs a password or password_hash' }]
        : [],
    ),
    ...repeated('roles', user.roles),
    ...(user.roles ?? []).flatMap((role, index) =>
      roleNames.has(role) ? [] : [{ path: `roles[${index}]`, text: unknownName('role', role, roleNames, index) }],
    ),
  ]
}

function tableFaults(table: DeclaredTable, known: KnownScopes): Fault[] {
  return [
    ...duplicates('columns', 'name', table.columns, ({ name }) => name.toLowerCase()),
    ...table.columns.flatMap((column, index) => within(`columns[${index}]`, columnFaults(column))),
    ...scopeFaults('read_scope', table.read_scope, known),
    ...scopeFaults('write_scope', table.write_scope, known),
  ]
}

function viewFaults(view: DeclaredView, tables: readonly DeclaredTable[], known: KnownScopes): Fault[] {
  const same = tables.findIndex(({ name }) => name.toLowerCase() === view.name.toLowerCase())
  return [
    ...(same === -1 ? [] : [{ path: 'name', text: `"${view.name}" is already the name of tables[${same}]` }]),
    ...repeated('columns', view.columns, (name) => name.toLowerCase()),
    ...scopeFaults('read_scope', view.read_scope, known),
  ]
}

/** A scope of an API is in no token for the built-in services. */
function scopeFaults(path: string, scope: string | null | undefined, known: KnownScopes): Fault[] {
  if (typeof scope !== 'string') return []
  const builtIn = known.scopes().filter((name) => known.targetOf(name) === BUILT_IN)
  if (builtIn.includes(scope)) return []
  const api = known.apiOf(scope)?.resource
  const isOfApi = `"${scope}" is a scope of ${api}: name one of the platform`
  return [{ path, text: api === undefined ? unknownName('scope', scope, builtIn) : isOfApi }]
}

function columnFaults(column: DeclaredTable['columns'][number]): Fault[] {
  const faults: Fault[] = []
  if (column.primary_key === true && column.nullable === true)
    faults.push({ path: 'nullable', text: 'a column of the primary key cannot be nullable' })
  const [, precision, scale] = /\((\d+)\s*,\s*(\d+)/.exec(column.type.replaceAll(/\s/g, '')) ?? []
  if (precision !== undefined && (Number(precision) < 1 || Number(precision) > MOST_DIGITS))
    faults.push({ path: 'type', text: `a Decimal column has 1 to ${MOST_DIGITS} digits, not ${precision}` })
  else if (precision !== undefined && Number(scale) > Number(precision))
    faults.push({ path: 'type', text: `the scale ${scale} exceeds the precision ${precision}` })
  return faults
}

/** The number of digits of a Decimal column. */
const MOST_DIGITS = 38
