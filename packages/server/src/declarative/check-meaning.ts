/** Checks what the schema of the declarative file cannot: duplicate names, unknown names, members that contradict each other. */
import { originFault, redirectUriFault, secureAddressFault, webAddressFault } from 'gatehouse-protocol'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES, valueFaults } from '../resources/attributes.ts'
import { sharedNames, type TakenNames, takenNames } from '../resources/controller-names.ts'
import { byKey, duplicates } from '../resources/define-resource.ts'
import { unknownName } from '../resources/names.ts'
import { listResources } from '../resources/resources.ts'
import type { Fault } from '../schema/check-schema.ts'
import { USER_ID_PREFIX, usernameKey } from '../store/accounts/user.ts'
import type { Api } from '../store/apis/apis.ts'
import { BUILT_IN, type KnownScopes } from '../store/apis/known-scopes.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import { BUILT_IN_CLIENT_IDS } from '../store/clients/built-in-clients.ts'
import { hasSecret } from '../store/clients/client-metadata.ts'
import { wantedScopes } from './api-changes.ts'
import { assertionFaults } from './declared-assertions.ts'
import { exchangeFaults } from './declared-exchange.ts'
import { profileFaults } from './declared-profile.ts'
import { providerFaults } from './declared-provider.ts'
import { repeatedKeys, sectionFaults, togetherFaults, within } from './sections.ts'
import type { Declaration, DeclaredClient, DeclaredTable, DeclaredUser, DeclaredView } from './shape.ts'

const names = (declared: readonly { readonly name: string }[]): readonly string[] => declared.map(({ name }) => name)

/** The APIs in the database, to whose scopes the file may refer, and whether clients can provision users. */
export interface KnownApis {
  readonly apis?: readonly Api[]
  readonly provisioning?: boolean
}

/** `existingRoles` and `existingAttributes` are those in the database, to which the file may refer; `taken` are names of controllers. */
export function checkMeaning(
  declaration: Declaration,
  existingRoles: Iterable<string>,
  taken: TakenNames = takenNames(),
  existingAttributes: Iterable<AttributeDefinition> = [],
  { apis: existingApis = [], provisioning = false }: KnownApis = {},
): Fault[] {
  const known = wantedScopes(declaration, existingApis, { provisioning })
  const {
    roles = [],
    attributes = [],
    users = [],
    clients = [],
    tables = [],
    views = [],
    feeds = [],
    controllers = [],
    providers = [],
  } = declaration
  const roleNames = new Set([...existingRoles, ...roles.map(({ name }) => name)])
  const definitions = new Map(
    [...existingAttributes, ...attributes.map(ATTRIBUTES.toItem)].map((definition) => [definition.name, definition]),
  )
  const all = { scopes: known, roles: roleNames, attributes: definitions, controllers: taken }
  return [
    ...listResources().flatMap((resource) => repeatedKeys(resource, declaration)),
    ...duplicates('users', 'username', users, ({ username }) => usernameKey(username)),
    ...duplicates('clients', 'client_id', clients),
    ...duplicates('tables', 'name', tables, ({ name }) => name.toLowerCase()),
    ...duplicates('views', 'name', views, ({ name }) => name.toLowerCase()),
    ...duplicates('providers', 'id', providers),
    ...sharedNames('feeds', feeds, names(controllers)),
    ...listResources().flatMap((resource) => sectionFaults(resource, declaration, all)),
    ...togetherFaults(APIS, declaration, byKey(APIS, existingApis)),
    ...users.flatMap((user, index) => within(`users[${index}]`, userFaults(user, roleNames))),
    ...users.flatMap((user, index) => within(`users[${index}]`, valueFaults(user.attributes, definitions))),
    ...clients.flatMap((client, index) => within(`clients[${index}]`, clientFaults(client, known))),
    ...clients.flatMap((client, index) => within(`clients[${index}]`, valueFaults(client.attributes, definitions))),
    ...tables.flatMap((table, index) => within(`tables[${index}]`, tableFaults(table, known))),
    ...views.flatMap((view, index) => within(`views[${index}]`, viewFaults(view, tables, known))),
    ...providers.flatMap((each, index) => within(`providers[${index}]`, providerFaults(each, roleNames, definitions))),
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

/** Rules of client registration (OpenID Connect Registration §2, RFC 7591 §2.1, RFC 9700). */
function clientFaults(client: DeclaredClient, known: KnownScopes): Fault[] {
  const grants = client.grant_types ?? ['authorization_code']
  const isPublic = client.token_endpoint_auth_method === 'none'
  const faults: Fault[] = []
  const fault = (path: string, text: string) => faults.push({ path, text })

  if (client.client_id.startsWith(USER_ID_PREFIX))
    fault('client_id', `must not begin with ${USER_ID_PREFIX}, the prefix of user ids`)
  if (BUILT_IN_CLIENT_IDS.has(client.client_id)) fault('client_id', `${client.client_id} is built in: choose another`)
  if (isPublic && client.client_secret !== undefined)
    fault('client_secret', 'a client with token_endpoint_auth_method none has no secret')
  if (hasSecret(client) && client.client_secret === undefined)
    fault(
      'client_secret',
      'is missing; for a client without a secret set token_endpoint_auth_method to none or private_key_jwt',
    )
  if (isPublic && grants.includes('client_credentials'))
    fault(`grant_types[${grants.indexOf('client_credentials')}]`, 'client_credentials requires a client secret')

  for (const [index, type] of (client.response_types ?? []).entries()) {
    const needed = type.split(' ').includes('code') ? 'authorization_code' : 'implicit'
    if (!grants.includes(needed)) fault(`response_types[${index}]`, `"${type}" requires ${needed} in grant_types`)
  }
  const redirects = grants.includes('authorization_code') || grants.includes('implicit')
  if (redirects && (client.redirect_uris ?? []).length === 0)
    fault('redirect_uris', `needs at least one URI for the grant_types ${grants.join(', ')}`)

  const scopes = new Set<string>()
  for (const scope of client.scope?.split(' ') ?? []) {
    if (scope === '') fault('scope', 'scopes must be separated by single spaces')
    else if (!known.has(scope)) fault('scope', unknownName('scope', scope, known.scopes(), faults.length))
    else if (scopes.has(scope)) fault('scope', `"${scope}" is listed twice`)
    scopes.add(scope)
  }
  faults.push(
    ...repeated('redirect_uris', client.redirect_uris),
    ...repeated('grant_types', client.grant_types),
    ...repeated('response_types', client.response_types),
    ...ADDRESSES.flatMap(([name, faultOf]) => addressFaults(name, client[name], faultOf)),
    ...assertionFaults(client),
    ...exchangeFaults(client, known),
    ...profileFaults(client),
    ...(client.jwks?.keys ?? []).flatMap((key, index) =>
      'd' in key || 'k' in key
        ? [{ path: `jwks.keys[${index}]`, text: 'contains a private key; give only the public key' }]
        : [],
    ),
  )
  return faults
}

const ADDRESSES = [
  ['redirect_uris', redirectUriFault],
  ['post_logout_redirect_uris', redirectUriFault],
  ['frontchannel_logout_uri', webAddressFault],
  ['backchannel_logout_uri', webAddressFault],
  ['initiate_login_uri', secureAddressFault],
  ['jwks_uri', webAddressFault],
  ['client_uri', webAddressFault],
  ['logo_uri', webAddressFault],
  ['policy_uri', webAddressFault],
  ['tos_uri', webAddressFault],
  ['allowed_origins', originFault],
] as const satisfies readonly (readonly [keyof DeclaredClient, (text: string) => string | undefined])[]

function addressFaults(
  name: string,
  value: string | readonly string[] | undefined,
  faultOf: (text: string) => string | undefined,
): Fault[] {
  if (value === undefined) return []
  const entries =
    typeof value === 'string'
      ? [[name, value] as const]
      : value.map((text, index) => [`${name}[${index}]`, text] as const)
  return entries.flatMap(([path, address]) => {
    const text = faultOf(address)
    return text === undefined ? [] : [{ path, text: `"${address}": ${text}` }]
  })
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
  const builtIn = known.scopes().filter((name) => known.findTarget(name) === BUILT_IN)
  if (builtIn.includes(scope)) return []
  const api = known.findApi(scope)?.resource
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

function repeated(
  list: string,
  items: readonly string[] = [],
  fold: (item: string) => string = (item) => item,
): Fault[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    if (seen.has(fold(item))) return [{ path: `${list}[${index}]`, text: `"${item}" is listed twice` }]
    seen.add(fold(item))
    return []
  })
}
