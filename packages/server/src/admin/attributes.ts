/** Administration of attributes: what users and clients can have besides the standard claims. */
import { filterAttributes } from 'gatehouse-iql'
import { apisWithClaim } from '../declarative/attribute-changes.ts'
import { attributesFaults, attributeTarget, presentAttribute } from '../declarative/declared-attribute.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { Stores } from '../store/stores.ts'
import { ATTRIBUTE_SCHEMA, badBody, merged, readAttribute, readObject } from './request/body.ts'
import { change, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { type AdminEnv, type AdminRoute, conflict, knownApis, notFound, part } from './route.ts'

export const attributeRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/attributes',
    scope: 'Identity/Admin',
    summary: 'Lists the attributes, ordered by name.',
    reply: '{"items": […]}',
    async run(_call, { stores }) {
      return { body: { items: (await stores.attributes.list()).map(presentAttribute) } }
    },
  },
  {
    method: 'POST',
    path: '/admin/attributes',
    scope: 'Identity/Admin',
    summary: 'Declares an attribute. All nodes have it at once.',
    body: ATTRIBUTE_SCHEMA,
    reply: 'The attribute.',
    status: 201,
    async run(call, env) {
      const body = readObject(call.body)
      await requireUpgraded(env)
      const attribute = await change(env, async (stores, { publish }) => {
        const { attributes } = stores
        const attribute = attributeTarget(readAttribute(body, await knownApis(env, stores)))
        const all = await attributes.list()
        if (all.some(({ name }) => name === attribute.name))
          throw conflict(`The attribute ${attribute.name} exists already`)
        refuseFaults([...all, attribute], all)
        await attributes.put(attribute)
        await publish({ kind: 'attributes-changed' })
        return attribute
      })
      record(env, call, { event: 'attribute.created', target: attribute.name, details: { source: 'admin' } })
      await env.attributesChanged()
      return created(presentAttribute(attribute), `/admin/attributes/${attribute.name}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/attributes/{attribute}',
    scope: 'Identity/Admin',
    summary: 'Shows an attribute.',
    reply: 'The attribute.',
    async run(call, { stores }) {
      return tagged(presentAttribute(await findAttribute(stores, part(call, 'attribute'))))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/attributes/{attribute}',
    scope: 'Identity/Admin',
    summary: 'Changes an attribute (JSON merge patch): its claim, scope or SCIM path. The name, type and `many` stay.',
    body: ATTRIBUTE_SCHEMA,
    reply: 'The changed attribute.',
    async run(call, env) {
      const name = part(call, 'attribute')
      const patch = readObject(call.body)
      if (patch.name !== undefined && patch.name !== name)
        throw badBody([{ path: 'name', text: 'cannot be changed: declare another attribute' }])
      // A null removes a member, so that the check of the result would not see it.
      const unknown = Object.keys(patch).filter((member) => !Object.hasOwn(ATTRIBUTE_SCHEMA.properties ?? {}, member))
      if (unknown.length > 0) throw badBody(unknown.map((path) => ({ path, text: 'is unknown' })))
      await requireUpgraded(env)
      const attribute = await change(env, async (stores, { publish }) => {
        const { attributes } = stores
        const before = await findAttribute(stores, name)
        requireMatch(call, presentAttribute(before))
        const after = attributeTarget(
          readAttribute(merged(presentAttribute(before), patch), await knownApis(env, stores)),
        )
        if (after.claim !== before.claim) refuseUsed(name, await apisOf(before, stores))
        const all = await attributes.list()
        refuseFaults([...all.filter((other) => other.name !== name), after], all)
        await attributes.put(after)
        await publish({ kind: 'attributes-changed' })
        return after
      })
      record(env, call, {
        event: 'attribute.changed',
        target: name,
        details: { changed: Object.keys(patch), source: 'admin' },
      })
      await env.attributesChanged()
      return tagged(presentAttribute(attribute))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/attributes/{attribute}',
    scope: 'Identity/Admin',
    summary:
      'Removes an attribute with the values of all users. One that row filters, clients, APIs or providers use is not removed: the reply names them.',
    async run(call, env) {
      const name = part(call, 'attribute')
      const filters = await filtersWith(name, env)
      await change(env, async (stores, { publish }) => {
        const before = await findAttribute(stores, name)
        checkMatch(call, presentAttribute(before))
        const clients = await stores.attributes.clientsWith(name, MOST_NAMED)
        refuseUsed(name, [
          ...filters.map((table) => `the row filter of ${table}`),
          ...clients.map((client) => `the client ${client}`),
          ...(await apisOf(before, stores)),
          ...(await providersWith(name, stores)),
        ])
        await stores.attributes.remove(name)
        await publish({ kind: 'attributes-changed' })
      })
      record(env, call, { event: 'attribute.deleted', target: name, details: { source: 'admin' } })
      await env.attributesChanged()
    },
  },
]

/** Users of an attribute that a refusal names. */
const MOST_NAMED = 20

function refuseUsed(name: string, users: readonly string[]): void {
  if (users.length === 0) return
  const named = [...users.slice(0, MOST_NAMED), ...(users.length > MOST_NAMED ? ['others'] : [])].join(', ')
  throw conflict(`The attribute ${name} is used by ${named}: change these first`)
}

/** The APIs whose access tokens have the claim of the attribute. */
async function apisOf({ claim }: AttributeDefinition, { apis }: Stores): Promise<readonly string[]> {
  return claim === undefined ? [] : apisWithClaim(claim, await apis.list())
}

/** The providers whose rules write the attribute. */
async function providersWith(name: string, { providers }: Stores): Promise<readonly string[]> {
  const all = await providers.list()
  return all
    .filter(({ rules }) => rules.some((rule) => 'attribute' in rule && rule.attribute === name))
    .map(({ id }) => `the provider ${id}`)
}

function refuseFaults(after: readonly AttributeDefinition[], before: readonly AttributeDefinition[]): void {
  const known = new Map(before.map((attribute) => [attribute.name, attribute]))
  const faults = attributesFaults(after, known, () => '')
  if (faults.length > 0) throw badBody(faults)
}

/** The tables whose row filters use the attribute. Where no node runs the query service, none does. */
async function filtersWith(name: string, { definitions }: AdminEnv): Promise<readonly string[]> {
  const { tables = [] } = (await definitions()) ?? {}
  return tables
    .filter(({ rowFilter }) => rowFilter !== null && filterAttributes(rowFilter).has(name))
    .map((table) => table.name)
}

async function findAttribute({ attributes }: Pick<Stores, 'attributes'>, name: string): Promise<AttributeDefinition> {
  const attribute = await attributes.find(name)
  if (attribute === undefined) throw notFound('attribute', name)
  return attribute
}
