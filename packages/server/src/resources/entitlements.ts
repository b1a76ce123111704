/** Entitlements: what a user, client, role or attribute may use of a product, and when. */
import { Refusal } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, list, number, oneOf, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { usernameKey } from '../store/accounts/user.ts'
import { parseAttributeValues } from '../store/attributes/attribute-values.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import { attributeHolder, type Entitlement, type Level } from '../store/licences/entitlements.ts'
import type { Stores } from '../store/stores.ts'
import { readPages } from './all-pages.ts'
import type { ItemChange, JsonObject, Known, Resource } from './define-resource.ts'
import { unknownName } from './names.ts'
import { ACCESSES, PRODUCT_NAME } from './products.ts'

export type DeclaredEntitlement = XStatic<typeof ENTITLEMENT>

/** A UTC date, or an instant (RFC 3339). */
const WHEN = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?(?:Z|[+-]\d{2}:\d{2}))?$/
const IDENTIFYING = ['product', 'level', 'who', 'from'] as const satisfies readonly (keyof Entitlement)[]
const LEVELS = ['user', 'client', 'role', 'attribute'] as const satisfies readonly Level[]

const ENTITLEMENT = closed(['product', 'access'], {
  product: text({ pattern: PRODUCT_NAME.source, description: 'The product.' }),
  user: text({ minLength: 1, maxLength: 256, description: 'A username.' }),
  client: text({ minLength: 1, maxLength: 256, description: 'A client, for its tokens without a user.' }),
  role: text({ minLength: 1, maxLength: 256, description: 'A role of users.' }),
  attribute: {
    type: 'object',
    additionalProperties: either(text(), number('number'), flag()),
    minProperties: 1,
    maxProperties: 1,
    description: 'An attribute with a value, such as {"firm": "ACME"}.',
  },
  access: oneOf(ACCESSES, 'none, delayed or realtime. none takes away what a role or attribute gives.'),
  from: text({ pattern: WHEN.source, description: 'The first instant, or a UTC date. Default: always.' }),
  until: text({ pattern: WHEN.source, description: 'The first instant without it, or a UTC date. Default: for ever.' }),
  kind: oneOf(
    ['billable', 'trial', 'exempt'],
    'How the report counts it: billable, trial, or exempt such as a system of your own. Default: billable.',
  ),
  note: words('Why it was given.'),
})

export const ENTITLEMENTS = {
  noun: 'entitlement',
  section: 'entitlements',
  key: 'id',
  makeKey: entitlementKey,
  scope: 'Identity/Admin',
  list: list(ENTITLEMENT, 'What users, clients, roles and attributes may use of products, and when.'),
  patterns: [
    [PRODUCT_NAME.source, 'must consist of 1 to 64 letters, digits and the characters . _ -'],
    [WHEN.source, 'must be a date such as 2026-01-31, or an instant such as 2026-01-31T08:00:00Z'],
  ],
  toItem: toEntitlement,
  present: (entitlement) => ({
    id: entitlement.id,
    ...declareEntitlement(entitlement),
    kind: entitlement.kind,
  }),
  declare: declareEntitlement,
  compare: (entitlement) => declareEntitlement(entitlement),
  namedScopes: 'none',
  refersTo: ['roles', 'attributes', 'products'],
  faults: entitlementFaults,
  isLarge: true,
  refusal: async (before, after) =>
    after === undefined || IDENTIFYING.every((member) => before[member] === after[member])
      ? undefined
      : 'The product, who has it and from do not change: take it away and give another',
  isNewerThanNodes: () => true,
  store: storeEntitlements,
  put: putEntitlement,
  changedEvent: 'licences-changed',
  isExportedIfAny: true,
  auditDetails: ({ product, access }) => ({ product, access }),
  routes: {
    list: 'Lists entitlements page by page, ordered by id.',
    pages: {
      things: 'Entitlements',
      filters: { product: 'Only those to this product.', user: 'Only those of this user, by id or username.' },
    },
    create: 'Gives an entitlement.',
    taken: (id) => `The entitlement ${id} exists already: change it, or give one from another time`,
    show: 'Shows an entitlement.',
    change: 'Changes an entitlement (JSON merge patch): its access, end, kind or note.',
    remove: 'Takes an entitlement away.',
    replies: { create: 'The entitlement, with its id.' },
  },
  commands: {
    argument: 'ENTITLEMENT',
    others: { product: 'PRODUCT' },
    options: {
      '--access': { value: 'none|delayed|realtime', help: 'what may be used' },
      '--user': { value: 'USER', help: 'a username', only: 'add' },
      '--client': { value: 'CLIENT', help: 'a client, for its tokens without a user', only: 'add' },
      '--role': { value: 'ROLE', help: 'a role', only: 'add' },
      '--attribute': { isRead: true, value: 'NAME=VALUE', help: 'an attribute with a value', only: 'add' },
      '--from': { value: 'TIME', help: 'the first instant, or a UTC date (default: always)', only: 'add' },
      '--until': { value: 'TIME', help: 'the first instant without it, or a UTC date (default: for ever)' },
      '--kind': { value: 'billable|trial|exempt', help: 'how the report counts it (default billable)' },
      '--note': { value: 'TEXT', help: 'why it was given' },
      '--without': { resets: true, value: 'MEMBER', help: 'remove until, kind or note; repeatable' },
    },
    columns: ['id', 'product', 'access', 'from', 'until', 'kind'],
    filters: {
      '--product': { filter: 'product', value: 'PRODUCT', help: 'only those to this product' },
      '--user': { filter: 'user', value: 'USER', help: 'only those of this user' },
    },
    list: { summary: 'Lists entitlements to products.', examples: ['entitlement list --product NYSE.L1'] },
    show: { summary: 'Shows an entitlement.', examples: ['entitlement show NYSE.L1:role:trader:2026-01-01'] },
    add: {
      argument: [],
      summary: 'Gives a user, client, role or attribute access to a product.',
      examples: [
        'entitlement add NYSE.L1 --role trader --access realtime --from 2026-01-01 --until 2027-01-01',
        'entitlement add NYSE.L1 --client handler --access realtime --kind exempt --note "internal system"',
      ],
    },
    set: {
      summary: 'Changes an entitlement, with immediate effect.',
      examples: ['entitlement set NYSE.L1:role:trader:2026-01-01 --until 2026-07-01'],
    },
    remove: {
      summary: 'Takes an entitlement away, with immediate effect.',
      examples: ['entitlement remove NYSE.L1:user:bob --yes'],
      confirm: (id) => `Take the entitlement ${id} away?`,
      done: (id) => `The entitlement ${id} was taken away.`,
    },
  },
} as const satisfies Resource<Entitlement, DeclaredEntitlement>

/** One is the product, who has it and from when: `NYSE.L1:role:trader:2026-01-01`. What is stored has its id. */
function entitlementKey(item: DeclaredEntitlement | Entitlement): string {
  if ('id' in item) return item.id
  const { level, who } = findHolder(item)
  const name = level === 'user' ? usernameKey(who) : who
  const since = item.from === undefined ? '' : `:${writeInstant(Date.parse(item.from))}`
  return `${item.product}:${level}:${name.replaceAll(/[%:/\s]/g, encodeURIComponent)}${since}`
}

/** Of the first level that is named. */
function findHolder(declared: Pick<DeclaredEntitlement, Level>): Pick<Entitlement, 'level' | 'who' | 'value'> {
  const { user, client, role, attribute = {} } = declared
  if (user !== undefined) return { level: 'user', who: user }
  if (client !== undefined) return { level: 'client', who: client }
  if (role !== undefined) return { level: 'role', who: role }
  const [[name, value] = ['', '']] = Object.entries(attribute)
  return { level: 'attribute', who: attributeHolder(name, value), value }
}

function entitlementFaults(
  entitlement: DeclaredEntitlement,
  { roles, attributes, products }: Pick<Known, 'roles' | 'attributes' | 'products'>,
): Fault[] {
  const { product, role, attribute = {}, access, from, until } = entitlement
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  const known = products?.get(product)
  if (products !== undefined && known === undefined) fault('product', unknownName('product', product, products.keys()))
  if (known !== undefined && access === 'delayed' && known.delay === undefined)
    fault('access', `delayed needs a delay of the product ${product}`)
  const named = LEVELS.filter((level) => entitlement[level] !== undefined)
  if (named.length !== 1) fault('', `one of ${LEVELS.join(', ')} is needed, not ${named.join(' and ') || 'none'}`)
  if (role !== undefined && !roles.has(role)) fault('role', unknownName('role', role, roles))
  for (const [name, value] of Object.entries(attribute)) {
    const definition = attributes.get(name)
    const parsed = definition && parseAttributeValues(definition, value)
    if (parsed === undefined) fault(`attribute.${name}`, unknownName('attribute', name, attributes.keys()))
    else if ('fault' in parsed) fault(`attribute.${name}`, parsed.fault)
  }
  for (const [path, given] of [
    ['from', from],
    ['until', until],
  ] as const)
    if (given !== undefined && Number.isNaN(Date.parse(given))) fault(path, 'is no date')
  if (from !== undefined && until !== undefined && Date.parse(until) <= Date.parse(from))
    fault('until', 'must be after from')
  return faults
}

function toEntitlement(declared: DeclaredEntitlement, before?: Entitlement): Entitlement {
  const { product, access, from, until, kind = 'billable', note = '' } = declared
  return {
    id: before?.id ?? entitlementKey(declared),
    ...{ product, access, kind, note },
    ...findHolder(declared),
    from: from === undefined ? undefined : Date.parse(from),
    until: until === undefined ? undefined : Date.parse(until),
  }
}

/** A file has them all, up to a number. */
function storeEntitlements({ licences }: Pick<Stores, 'licences'>): DefinitionStore<Entitlement> {
  const { entitlements } = licences
  return {
    ...entitlements,
    list: (page = {}) =>
      page.limit === undefined
        ? readPages((last, limit) => entitlements.list({ after: last?.id ?? '', limit }))
        : entitlements.list(page),
  }
}

async function putEntitlement(item: Entitlement, { stores, before }: ItemChange<Entitlement>): Promise<undefined> {
  const { level, who } = item
  const isKnown =
    before !== undefined ||
    (level === 'user'
      ? (await stores.users.findByUsername(who)) !== undefined
      : level !== 'client' || (await stores.clients.find(who)) !== undefined)
  if (!isKnown) throw new Refusal('admin.conflict', 409, `There is no ${level} "${who}"`)
  await stores.licences.entitlements.put({ ...item, id: before?.id ?? item.id })
}

function declareEntitlement({ product, level, who, value, access, from, until, kind, note }: Entitlement): JsonObject {
  return {
    product,
    [level]: level === 'attribute' ? { [who.slice(0, who.indexOf('='))]: value } : who,
    access,
    ...(from !== undefined && { from: writeInstant(from) }),
    ...(until !== undefined && { until: writeInstant(until) }),
    ...(kind !== 'billable' && { kind }),
    ...(note !== '' && { note }),
  }
}

/** A date where it is midnight in UTC. */
function writeInstant(time: number): string {
  if (Number.isNaN(time)) return 'never'
  return new Date(time).toISOString().replace('T00:00:00.000Z', '').replace('.000Z', 'Z')
}
