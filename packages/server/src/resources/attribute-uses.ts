/** What uses an attribute: row filters, clients, the access tokens of APIs, rules of providers. */
import { filterAttributes } from 'gatehouse-iql'
import type { Api } from '../store/apis/apis.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { World } from './define-resource.ts'

/** Users of an attribute that a refusal names. */
const MOST_NAMED = 20

/** An attribute that is used stays, and so does a claim that APIs list. */
export async function refuseUsed(
  before: AttributeDefinition,
  after: AttributeDefinition | undefined,
  { stores, tables }: World,
): Promise<string | undefined> {
  const { name, claim } = before
  const apis = claim === undefined || claim === after?.claim ? [] : apisWithClaim(claim, await stores.apis.list())
  if (after !== undefined) return usedBy(name, apis)
  const products = await stores.licences.entitlements.productsFor('attribute', name, MOST_NAMED)
  const clients = await stores.attributes.clientsWith(name, MOST_NAMED)
  const providers = (await stores.providers.list()).filter(({ rules }) =>
    rules.some((rule) => 'attribute' in rule && rule.attribute === name),
  )
  return usedBy(name, [
    ...tables.filter((table) => isFilteredBy(name, table)).map((table) => `the row filter of ${table.name}`),
    ...clients.map((client) => `the client ${client}`),
    ...apis,
    ...providers.map(({ id }) => `the provider ${id}`),
    ...products.map((product) => `entitlements to ${product}`),
  ])
}

function usedBy(name: string, users: readonly string[]): string | undefined {
  if (users.length === 0) return undefined
  const named = [...users.slice(0, MOST_NAMED), ...(users.length > MOST_NAMED ? ['others'] : [])].join(', ')
  return `The attribute ${name} is used by ${named}: change these first`
}

export function isFilteredBy(attribute: string, { rowFilter = null }: { readonly rowFilter?: string | null }): boolean {
  return rowFilter !== null && filterAttributes(rowFilter).has(attribute)
}

/** The APIs whose access tokens have the claim, in words. */
export function apisWithClaim(claim: string, apis: Iterable<Api>): string[] {
  return [...apis].filter(({ claims }) => claims.includes(claim)).map(({ resource }) => `the API ${resource}`)
}
