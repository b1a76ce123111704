/** What a declarative file cannot do with attributes: change their types, or remove those that something else still names. */
import { filterAttributes } from 'gatehouse-iql'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import { wantedApis } from './api-changes.ts'
import { attributesFaults, attributeTarget } from './declared-attribute.ts'
import type { CurrentState } from './plan.ts'
import type { Declaration } from './shape.ts'

type Known = Pick<CurrentState, 'attributes'>

/** Those in the database that pruning does not remove. */
export function keptAttributes(
  { prune, attributes }: Declaration,
  existing: Known['attributes'],
): AttributeDefinition[] {
  return prune === true && attributes !== undefined ? [] : [...existing.values()]
}

/** The attributes as they will be, by name. */
export function wantedAttributes(
  declaration: Declaration,
  existing: Known['attributes'],
): ReadonlyMap<string, AttributeDefinition> {
  const all = [...keptAttributes(declaration, existing), ...(declaration.attributes ?? []).map(attributeTarget)]
  return new Map(all.map((attribute) => [attribute.name, attribute]))
}

export function attributeChangeFaults(declaration: Declaration, state: CurrentState): Fault[] {
  const wanted = wantedAttributes(declaration, state.attributes)
  const index = new Map((declaration.attributes ?? []).map(({ name }, at) => [name, at]))
  const pathOf = (name: string) => (index.has(name) ? `attributes[${index.get(name)}].` : 'attributes.')
  const faults = attributesFaults([...wanted.values()], state.attributes, pathOf).map(({ path, text }) => ({
    path: path === '' ? 'attributes' : path,
    text,
  }))
  const removed = [...state.attributes.keys()].filter((name) => !wanted.has(name))
  return [
    ...faults,
    ...removed.flatMap((name) => removalFaults(name, declaration, state)),
    ...claimFaults(wanted, declaration, state),
  ]
}

/** Claims that APIs list, and that no attribute has any longer. The APIs of the file are checked as it declares them. */
function claimFaults(
  wanted: ReadonlyMap<string, AttributeDefinition>,
  declaration: Declaration,
  state: CurrentState,
): Fault[] {
  const claims = new Set([...wanted.values()].map(({ claim }) => claim))
  const declared = new Set(declaration.apis?.map(({ resource }) => resource))
  const others = [...wantedApis(declaration, state.apis.values()).values()].filter((api) => !declared.has(api.resource))
  return [...state.attributes.values()].flatMap(({ name, claim }) => {
    if (claim === undefined || claims.has(claim)) return []
    const users = apisWithClaim(claim, others)
    if (users.length === 0) return []
    return [{ path: 'attributes', text: `the claim of the attribute ${name} is used by ${users.join(', ')}` }]
  })
}

/** The APIs whose access tokens have the claim, in words. */
export function apisWithClaim(claim: string, apis: Iterable<Api>): string[] {
  return [...apis].filter(({ claims }) => claims.includes(claim)).map(({ resource }) => `the API ${resource}`)
}

/** Tables and clients that the file lists are checked as it declares them, and it removes the others. */
function removalFaults(name: string, { tables, clients }: Declaration, state: CurrentState): Fault[] {
  const filters = [...state.tables.values()].filter(
    ({ rowFilter }) => tables === undefined && rowFilter !== null && filterAttributes(rowFilter).has(name),
  )
  const holders = [...state.clients.values()].filter(
    ({ target }) => clients === undefined && Object.hasOwn(target.attributes ?? {}, name),
  )
  const users = [
    ...filters.map((table) => `the row filter of ${table.name}`),
    ...holders.map(({ target }) => `the client ${target.client_id}`),
  ]
  if (users.length === 0) return []
  return [{ path: 'prune', text: `the attribute ${name} cannot be removed: it is used by ${users.join(', ')}` }]
}
