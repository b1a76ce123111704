/** What a declarative file cannot do with attributes: remove those that something else still names. */
import { APIS } from '../resources/apis.ts'
import { apisWithClaim, isFilteredBy } from '../resources/attribute-uses.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { CurrentState } from './plan.ts'
import { undeclaredItems, wantedItems } from './sections.ts'
import type { Declaration } from './shape.ts'

export function attributeChangeFaults(declaration: Declaration, state: CurrentState): Fault[] {
  const wanted = wantedItems(ATTRIBUTES, declaration, state.attributes.values())
  const removed = [...state.attributes.keys()].filter((name) => !wanted.has(name))
  return [
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
  const others = undeclaredItems(APIS, declaration, state.apis.values())
  return [...state.attributes.values()].flatMap(({ name, claim }) => {
    if (claim === undefined || claims.has(claim)) return []
    const users = apisWithClaim(claim, others)
    if (users.length === 0) return []
    return [{ path: 'attributes', text: `the claim of the attribute ${name} is used by ${users.join(', ')}` }]
  })
}

/** Tables and clients that the file lists are checked as it declares them, and it removes the others. */
function removalFaults(name: string, { tables, clients }: Declaration, state: CurrentState): Fault[] {
  const filters = [...state.tables.values()].filter((table) => tables === undefined && isFilteredBy(name, table))
  const holders = [...state.clients.values()].filter(
    ({ attributes }) => clients === undefined && Object.hasOwn(attributes ?? {}, name),
  )
  const users = [
    ...filters.map((table) => `the row filter of ${table.name}`),
    ...holders.map((client) => `the client ${client.client_id}`),
  ]
  if (users.length === 0) return []
  return [{ path: 'prune', text: `the attribute ${name} cannot be removed: it is used by ${users.join(', ')}` }]
}
