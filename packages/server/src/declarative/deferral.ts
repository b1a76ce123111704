/**
 * What a start leaves out of the declarative file while nodes of an earlier version run, which would not respect it: sections of the file,
 * and what refers to them. The whole file has been checked by then, and is applied when these nodes are gone.
 */

import type { DeclaredClient } from '../resources/client-shape.ts'
import type { AnyResource, AnySection } from '../resources/define-resource.ts'
import { listResources } from '../resources/resources.ts'
import { namesScope } from '../resources/scope-uses.ts'
import { TABLES } from '../resources/tables.ts'
import { VIEWS } from '../resources/views.ts'
import { TOKEN_EXCHANGE } from '../store/clients/client-metadata.ts'
import { declaredIn } from './sections.ts'
import type { Declaration } from './shape.ts'

interface DeferrableSection {
  readonly section: string
  /** Whether the declaration has something that must wait. */
  isIn(declaration: Declaration): boolean
  /** The declaration without the section and what depends on it. */
  without(declaration: Declaration, resources: readonly AnyResource[]): Declaration
}

/** Kinds to which others refer, and those of which only some must wait. */
const SECTIONS: readonly DeferrableSection[] = [
  { section: 'apis', isIn: ({ apis = [] }) => apis.length > 0, without: withoutApis },
  { section: 'attributes', isIn: ({ attributes = [] }) => attributes.length > 0, without: withoutAttributes },
  { section: 'clients', isIn: ({ clients = [] }) => clients.some(isNewClient), without: withoutNewClients },
  {
    section: 'roles',
    isIn: ({ roles = [] }) => roles.some(({ provisioned }) => provisioned === true),
    without: ({ roles = [], ...rest }) => ({ ...rest, roles: roles.map(({ provisioned, ...role }) => role) }),
  },
  {
    // Another view may read one of them.
    section: 'views',
    isIn: ({ views = [] }) => views.some(({ materialized }) => materialized === true),
    without: ({ views, ...rest }) => rest,
  },
]

export interface Deferred {
  readonly declaration: Declaration
  readonly sections: readonly string[]
}

/** Any other kind waits as a whole. */
function otherSections(resources: readonly AnyResource[]): readonly DeferrableSection[] {
  const others = resources.filter(({ section }) => !SECTIONS.some((each) => each.section === section))
  return others.map((resource) => ({
    section: resource.section,
    isIn: (declaration) =>
      (declaredIn(declaration, resource) ?? []).some((each) => resource.isNewerThanNodes?.({ ...each }) === true),
    without: (declaration) =>
      Object.fromEntries(Object.entries(declaration).filter(([name]) => name !== resource.section)),
  }))
}

/** Undefined where nothing must wait. Nothing is pruned from what is left, because it is not all that the file lists. */
export function defer(
  declaration: Declaration,
  resources: readonly AnyResource[] = listResources(),
): Deferred | undefined {
  const waiting = [...SECTIONS, ...otherSections(resources)].filter(({ isIn }) => isIn(declaration))
  if (waiting.length === 0) return undefined
  const { prune, ...left } = waiting.reduce((whole, { without }) => without(whole, resources), declaration)
  return { declaration: left, sections: waiting.map(({ section }) => section) }
}

/** Roles and clients come without custom scopes; what is protected by such a scope does not come without its protection. */
function withoutApis({ apis = [], ...rest }: Declaration, resources: readonly AnyResource[]): Declaration {
  const own = new Set(apis.flatMap(({ scopes = [] }) => scopes.map(({ name }) => name)))
  const { roles, clients } = rest
  const lists = [...resources, TABLES, VIEWS].map((resource: AnySection) => [
    resource.section,
    declaredIn(rest, resource)?.filter((each) => !namesScope(resource, resource.toItem(each), own)),
  ])
  return {
    ...rest,
    ...Object.fromEntries(lists.filter(([, list]) => list !== undefined)),
    ...(roles && {
      roles: roles.map((role) => ({ ...role, scopes: (role.scopes ?? []).filter((scope) => !own.has(scope)) })),
    }),
    ...(clients && {
      clients: clients.map((client) => {
        const scopes = client.scope?.split(' ').filter((scope) => !own.has(scope))
        return scopes === undefined ? client : { ...client, scope: scopes.length === 0 ? 'openid' : scopes.join(' ') }
      }),
    }),
  }
}

function isNewClient({
  token_endpoint_auth_method: method,
  federated,
  api,
  exchange_scope: scope,
  agent,
}: DeclaredClient) {
  return (
    method === 'private_key_jwt' || agent === true || [federated, api, scope].some((member) => member !== undefined)
  )
}

/** Clients without a secret wait, and agents, which would get tokens for everything; others are applied without what is new. */
function withoutNewClients({ clients = [], ...rest }: Declaration): Declaration {
  return {
    ...rest,
    clients: clients
      .filter(({ token_endpoint_auth_method: method, agent }) => method !== 'private_key_jwt' && agent !== true)
      .map(({ federated, api, exchange_scope, grant_types: grants, ...client }) => ({
        ...client,
        ...(grants && { grant_types: grants.filter((grant) => grant !== TOKEN_EXCHANGE) }),
      })),
  }
}

/** A table whose row filter names an attribute waits too. */
function withoutAttributes({ attributes, ...rest }: Declaration): Declaration {
  const { users, clients, tables } = rest
  const isFiltered = (filter: string | null | undefined) => filter?.toLowerCase().includes(':attribute.') === true
  return {
    ...rest,
    ...(users && { users: users.map(({ attributes: values, ...user }) => user) }),
    ...(clients && { clients: clients.map(({ attributes: values, ...client }) => client) }),
    ...(tables && { tables: tables.filter(({ row_filter: filter }) => !isFiltered(filter)) }),
  }
}
