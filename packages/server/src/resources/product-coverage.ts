/** What products cover: feeds, tables and controllers of this server, and resources of other programs. */
import { BUILT_IN_CONTROLLERS, CONTROLLER_NAME } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { writeDuration } from '../lib/duration.ts'
import { closed, either, flag, number, oneOf, shortList, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import { type Coverage, delaysByName } from '../store/licences/coverage.ts'
import type { Product } from '../store/licences/products.ts'
import type { JsonObject, Known, KnownTables } from './define-resource.ts'
import { repeated } from './names.ts'

export type DeclaredCoverage = XStatic<typeof COVERAGE>

/** Types of resources that have a meaning of their own in decisions. */
const OWN_TYPES: readonly string[] = ['user', 'client', 'product', 'feed', 'table', 'controller']
const OTHER_TYPE = /^[A-Za-z][A-Za-z0-9._:-]{0,63}$/
const PROPERTY = /^(?:action\.)?[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** A topic, or a pattern: `*`, or a prefix that ends in `/`, followed by `*`. */
const TOPIC = /^(?:[^\p{Cc}*]+|(?:[^\p{Cc}*]*\/)?\*)$/u

const OTHERS = 'others'
/** Each names one of the first four; the rest belongs to it. */
export const COVERAGE = closed([], {
  feed: text({ pattern: CONTROLLER_NAME.source, maxLength: 64, description: 'A feed. It need not exist yet.' }),
  controller: text({
    pattern: CONTROLLER_NAME.source,
    maxLength: 64,
    description: 'A controller of streams: real-time access, or none.',
  }),
  table: text({ minLength: 1, maxLength: 128, description: 'A table. It need not exist yet.' }),
  resource: text({
    pattern: OTHER_TYPE.source,
    description: 'The type of resources of another program, such as instrument, which asks for decisions (AuthZEN).',
  }),
  topics: {
    ...either(shortList(text({ minLength: 1, maxLength: 256 })), oneOf([OTHERS])),
    description:
      'Topics and patterns of the feed or controller, such as NYSE/*; others: those that no coverage names. Default: all.',
  },
  column: text({
    minLength: 1,
    maxLength: 128,
    description: 'The column of the table that says which rows it covers.',
  }),
  values: {
    ...either(shortList(either(text({ maxLength: 256 }), number('number'))), oneOf([OTHERS])),
    description: 'The values of the column; others: those that no coverage names.',
  },
  ids: shortList(
    text({ minLength: 1, maxLength: 256 }),
    'The ids of the resources; * stands for any characters. Default: all.',
  ),
  actions: shortList(
    text({ minLength: 1, maxLength: 64 }),
    'Actions on the resources that real-time access allows, besides realtime. Default: none.',
  ),
  where: {
    type: 'object',
    propertyNames: { pattern: PROPERTY.source },
    additionalProperties: {
      type: 'array',
      items: either(text({ maxLength: 256 }), number('number'), flag()),
      minItems: 1,
      maxItems: 1000,
    },
    description:
      'The values that properties of the resource must have, such as {"status": ["active"]}; action.NAME is a property of the action.',
  },
})

export const COVERAGE_PATTERNS: readonly (readonly [string, string])[] = [
  [OTHER_TYPE.source, 'must consist of up to 64 letters, digits and the characters . _ : -, and begin with a letter'],
  [PROPERTY.source, 'must be the name of a property, or action. and the name of one'],
]

/** The members of each kind besides its name. */
const MEMBERS = {
  feed: ['topics'],
  controller: ['topics'],
  table: ['column', 'values'],
  resource: ['ids', 'actions', 'where'],
} as const
type Kind = keyof typeof MEMBERS
const KINDS: readonly Kind[] = ['feed', 'controller', 'table', 'resource']

export function coverageFaults(
  covers: readonly DeclaredCoverage[],
  hasDelay: boolean,
  tables: KnownTables | undefined,
): Fault[] {
  return covers.flatMap((coverage, index) => [
    ...faultsOfOne(coverage, `covers[${index}]`),
    ...tableFaults(coverage, `covers[${index}]`, hasDelay, tables),
  ])
}

/** Columns whose values can say which rows are covered. */
const COVERING_TYPES: readonly string[] = ['Text', 'Integer', 'Boolean', 'Uuid', 'Date']

/** Of a table that is there. */
function tableFaults(
  { table: name = '', column }: DeclaredCoverage,
  path: string,
  hasDelay: boolean,
  { tables, views }: KnownTables = { tables: [], views: [] },
): Fault[] {
  const isNamed = (known: { readonly name: string }): boolean => known.name.toLowerCase() === name.toLowerCase()
  if (views.some(isNamed)) return [{ path: `${path}.table`, text: `${name} is a view: cover the tables that it reads` }]
  const table = tables.find(isNamed)
  if (table === undefined) return []
  const faults: Fault[] = []
  if (hasDelay && !table.columns.some(({ primaryKey }) => primaryKey))
    faults.push({ path: `${path}.table`, text: `a product with a delay needs a primary key, and ${name} has none` })
  if (hasDelay && !table.live)
    faults.push({
      path: `${path}.table`,
      text: `a product with a delay needs the changes of ${name}, which is live = off`,
    })
  if (column === undefined) return faults
  const found = table.columns.find((known) => known.name.toLowerCase() === column.toLowerCase())
  const fault = (text: string): number => faults.push({ path: `${path}.column`, text })
  if (found === undefined) fault(`${name} has no column ${column}`)
  else if (found.nullable) fault(`${column} of ${name} may be NULL`)
  else if (!COVERING_TYPES.includes(found.type))
    fault(`${column} of ${name} has none of the types ${COVERING_TYPES.join(', ')}`)
  return faults
}

/** Each takes a copy of what it shows. */
const MOST_DELAYS = 3

function faultsOfOne(coverage: DeclaredCoverage, path: string): Fault[] {
  const named = KINDS.filter((kind) => coverage[kind] !== undefined)
  const [kind] = named
  if (kind === undefined || named.length > 1)
    return [{ path, text: `one of ${KINDS.join(', ')} is needed, not ${named.join(' and ') || 'none'}` }]
  const faults: Fault[] = []
  const allowed: readonly string[] = MEMBERS[kind]
  for (const member of Object.values(MEMBERS).flat())
    if (
      coverage[member] !== undefined &&
      !allowed.includes(member) &&
      faults.every((fault) => fault.path !== `${path}.${member}`)
    )
      faults.push({ path: `${path}.${member}`, text: `is no member of the coverage of a ${kind}` })
  if (coverage.controller !== undefined && BUILT_IN_CONTROLLERS.includes(coverage.controller))
    faults.push({ path: `${path}.controller`, text: `${coverage.controller} is a built-in controller` })
  const { resource, topics, column, values, ids, actions } = coverage
  if (resource !== undefined && OWN_TYPES.includes(resource))
    faults.push({ path: `${path}.resource`, text: `"${resource}" is a type of this server: choose another` })
  if ((column === undefined) !== (values === undefined))
    faults.push({ path: `${path}.${column === undefined ? 'column' : 'values'}`, text: 'is missing' })
  if (typeof topics === 'object') {
    if (topics.length === 0) faults.push({ path: `${path}.topics`, text: 'needs at least one' })
    for (const [at, topic] of topics.entries())
      if (!TOPIC.test(topic))
        faults.push({ path: `${path}.topics[${at}]`, text: 'is neither a topic nor a pattern such as NYSE/*' })
    faults.push(...repeated(`${path}.topics`, topics))
  }
  if (typeof values === 'object') {
    if (values.length === 0) faults.push({ path: `${path}.values`, text: 'needs at least one' })
    faults.push(...repeated(`${path}.values`, values.map(String)))
  }
  return [...faults, ...repeated(`${path}.ids`, ids), ...repeated(`${path}.actions`, actions)]
}

/** The rows of a table are told apart by one column. */
export function columnFaults(products: readonly Pick<Product, 'name' | 'covers'>[]): Fault[] {
  const columns = new Map<string, { readonly column: string; readonly product: string }>()
  return products.flatMap(({ name, covers }) =>
    covers.flatMap((coverage): Fault[] => {
      if (!('table' in coverage) || coverage.column === undefined) return []
      const { table, column } = coverage
      const known = columns.get(table.toLowerCase())
      if (known === undefined) columns.set(table.toLowerCase(), { column, product: name })
      if (known === undefined || known.column.toLowerCase() === column.toLowerCase()) return []
      const text = `${known.product} covers the table ${table} by its column ${known.column}, and ${name} by ${column}: use one`
      return [{ path: '', text }]
    }),
  )
}

/** Whether a feed keeps what readers with a delay need. */
export function heldFeedFaults(covers: readonly DeclaredCoverage[], feeds: Known['feeds']): Fault[] {
  return covers.flatMap(({ feed: name = '' }, index) => {
    const feed = feeds?.get(name)
    const text = feed && unheldText(feed)
    return text === undefined ? [] : [{ path: `covers[${index}].feed`, text: `the feed ${name} ${text}` }]
  })
}

/** Why nobody can read a feed with a delay. */
export function unheldText({ keep, history, natsSubject }: FeedDefinition): string | undefined {
  if (natsSubject !== undefined) return 'offers a subject of NATS, which cannot be read with a delay'
  return keep === 'all' && history === undefined
    ? 'keeps nothing: to be read with a delay it needs keep latest, or a history'
    : undefined
}

/** What these products cover, and the others do not: once nothing covers any part of it, all of it is free. */
export function lostNames(products: readonly Product[], others: readonly Product[]): string[] {
  const left = new Set(others.flatMap(({ covers }) => covers.flatMap((each) => coveredThing(each) ?? [])))
  const names = products.flatMap(({ covers }) => covers.flatMap((each) => coveredThing(each) ?? []))
  return [...new Set(names)].filter((name) => !left.has(name))
}

/** Other programs decide about resources. */
function coveredThing(coverage: Coverage): string | undefined {
  if ('feed' in coverage) return `the feed ${coverage.feed}`
  if ('controller' in coverage) return `the controller ${coverage.controller}`
  return 'table' in coverage ? `the table ${coverage.table.toLowerCase()}` : undefined
}

/** Of all products together. */
export function delayFaults(products: readonly Product[]): Fault[] {
  return (['feed', 'table'] as const).flatMap((kind) =>
    Array.from(delaysByName(products, kind), ([name, delays]) => ({ name, delays }))
      .filter(({ delays }) => delays.length > MOST_DELAYS)
      .map(({ name, delays }) => {
        const texts = delays.map(writeDuration).join(', ')
        return { path: '', text: `the ${kind} ${name} can have ${MOST_DELAYS} delays at most, not ${texts}` }
      }),
  )
}

/** Of one that has no faults. */
export function toCoverage(declared: DeclaredCoverage): Coverage {
  const { feed, controller, table, resource = '', topics, column, values, ids, actions = [], where = {} } = declared
  if (feed !== undefined) return { feed, topics }
  if (controller !== undefined) return { controller, topics }
  if (table !== undefined) return { table, column, values }
  return { resource, ids, actions, where }
}

export function declareCoverage(coverage: Coverage): JsonObject {
  if (!('resource' in coverage))
    return Object.fromEntries(Object.entries(coverage).filter(([, value]) => value !== undefined))
  const { resource, ids, actions, where } = coverage
  return {
    resource,
    ...(ids !== undefined && { ids }),
    ...(actions.length > 0 && { actions }),
    ...(Object.keys(where).length > 0 && { where }),
  }
}
