/** Products of market data: what they cover, and what those may use of it to whom no entitlement says more. */
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { closed, flag, number, oneOf, shortList, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Product } from '../store/licences/products.ts'
import { DURATION_PATTERN } from './controller-names.ts'
import type { JsonObject, Known, Resource } from './define-resource.ts'
import { unknownName } from './names.ts'
import {
  COVERAGE,
  COVERAGE_PATTERNS,
  columnFaults,
  coverageFaults,
  declareCoverage,
  delayFaults,
  heldFeedFaults,
  lostNames,
  toCoverage,
} from './product-coverage.ts'

export type DeclaredProduct = XStatic<typeof PRODUCT>

export const PRODUCT_NAME = /^[A-Za-z0-9._-]{1,64}$/
const [SECOND, DAY] = [1_000, 86_400_000]
const LONGEST_TRIAL = 366 * DAY
const MOST_PRODUCTS = 1_000
const MOST_COVERAGES = 100

export const ACCESSES = ['none', 'delayed', 'realtime'] as const

const PRODUCT = closed(['name'], {
  name: text({ pattern: PRODUCT_NAME.source, description: 'Such as NYSE.L1. It stays.' }),
  delay: text({
    pattern: DURATION.source,
    examples: ['15 minutes'],
    description: 'What delayed access means, from 1 second to 24 hours. Default: nobody has delayed access.',
  }),
  default: oneOf(ACCESSES, 'What all have whom no entitlement serves: none, delayed or realtime. Default: none.'),
  agreement: text({
    minLength: 1,
    maxLength: 64,
    description: 'The id of the agreement that must be accepted before an entitlement counts. Default: none.',
  }),
  trial: text({
    pattern: DURATION.source,
    examples: ['30 days'],
    description: 'How long the trial is that each user can begin once, up to 366 days. Default: no trial.',
  }),
  warn: text({
    pattern: DURATION.source,
    examples: ['14 days'],
    description:
      'How long before the end of an entitlement by name, or of a trial, its user is told by mail, up to 366 days. Default: not at all.',
  }),
  simultaneous: number('integer', {
    minimum: 1,
    maximum: 10_000,
    description: 'How many places of one user or client may have real-time access at once. Default: any number.',
  }),
  when_full: oneOf(
    ['refuse', 'displace', 'delay'],
    'What happens to one place more: it is refused, it displaces the oldest one, or it has delayed access. Default: refuse.',
  ),
  count: oneOf(
    ['user', 'place'],
    'What the usage report counts: each user or client, or its most places. Default: user.',
  ),
  enabled: flag('Whether anybody has access. Default: true.'),
  free: flag(
    'Whether what it alone covers may become free, when the product or a coverage is removed. Default: false: that is refused.',
  ),
  covers: { ...shortList(COVERAGE, 'What the product covers.'), maxItems: MOST_COVERAGES },
})

export const PRODUCTS = {
  noun: 'product',
  section: 'products',
  key: 'name',
  scope: 'Platform/Admin',
  list: shortList(PRODUCT, 'Products of market data, which people are entitled to.'),
  patterns: [
    [PRODUCT_NAME.source, 'must consist of 1 to 64 letters, digits and the characters . _ -'],
    DURATION_PATTERN,
    ...COVERAGE_PATTERNS,
  ],
  toItem: toProduct,
  present: presentProduct,
  declare: declareProduct,
  compare: presentProduct,
  namedScopes: 'none',
  refersTo: ['agreements', 'feeds', 'tables'],
  faults: productFaults,
  faultsTogether: (after) =>
    after.length > MOST_PRODUCTS
      ? [{ path: '', text: `there can be at most ${MOST_PRODUCTS} products, not ${after.length}` }]
      : [...columnFaults(after), ...delayFaults(after)],
  lossFaults,
  release: {
    flag: 'free',
    help: 'true: what the product alone covers may become free.',
    option: 'what it alone covers may become free',
    async find(before, after, { licences }) {
      if (before.free === true || after?.free === true) return undefined
      const others = (await licences.products.list()).filter(({ name }) => name !== before.name)
      const lost = lostNames([before], after === undefined ? others : [...others, after])
      return lost.length === 0
        ? undefined
        : `${lost.join(', ')} would be free for all whose scopes allow it: no other product covers it. To agree, repeat it with free=true (--free)`
    },
  },
  isNewerThanNodes: () => true,
  store: ({ licences }) => licences.products,
  async remove({ name }, { stores }) {
    await stores.licences.entitlements.removeProduct(name)
    await stores.licences.products.remove(name)
  },
  changedEvent: 'licences-changed',
  isExportedIfAny: true,
  routes: {
    list: 'Lists products page by page, ordered by name.',
    pages: { things: 'Products' },
    create: 'Declares a product.',
    show: 'Shows a product.',
    change: 'Changes a product (JSON merge patch). `enabled` false takes all access to it away at once.',
    remove: 'Removes a product with all entitlements to it.',
    instead: 'declare another product',
    replies: { create: 'The product, with its defaults.' },
  },
  commands: {
    argument: 'PRODUCT',
    options: {
      '--delay': { value: 'TIME', help: 'what delayed access means, such as "15 minutes"' },
      '--default': {
        value: 'none|delayed|realtime',
        help: 'what all have whom no entitlement serves (default none)',
      },
      '--agreement': { value: 'ID', help: 'the agreement that must be accepted' },
      '--trial': { value: 'TIME', help: 'how long a trial is, such as "30 days"' },
      '--warn': { value: 'TIME', help: 'how long before the end of their access users are told by mail' },
      '--simultaneous': { value: 'COUNT', help: 'places of one user or client at once (default: any number)' },
      '--when-full': { value: 'refuse|displace|delay', help: 'what happens to one place more (default refuse)' },
      '--count': { value: 'user|place', help: 'what the usage report counts (default user)' },
      '--free': { value: 'true|false', help: 'whether what it alone covers may become free (default false)' },
      '--enabled': { value: 'true|false', help: 'whether anybody has access (default true)' },
      '--set': { isJson: true, value: 'MEMBER=JSON', repeatable: true, help: 'any member, such as covers; repeatable' },
      '--without': { resets: true, value: 'MEMBER', help: 'remove delay, agreement or another member; repeatable' },
    },
    columns: ['name', 'default', 'delay', 'agreement', 'trial', 'enabled'],
    list: { summary: 'Lists products of market data.', examples: ['product list'] },
    show: { summary: 'Shows a product and what it covers.', examples: ['product show NYSE.L1'] },
    add: {
      summary: 'Declares a product of market data.',
      examples: [
        'product add NYSE.L1 --delay "15 minutes" --default delayed --set \'covers=[{"resource":"instrument","ids":["*.N"]}]\'',
      ],
    },
    set: {
      summary: 'Changes a product, with immediate effect.',
      examples: ['product set NYSE.L1 --enabled false', 'product set NYSE.L1 --without agreement'],
    },
    remove: {
      summary: 'Removes a product with all entitlements to it.',
      examples: ['product remove NYSE.L1 --yes', 'product remove NYSE.L1 --free'],
      confirm: (product) => `Remove the product ${product} with all entitlements to it?`,
      done: (product) => `The product ${product} was removed.`,
    },
  },
} as const satisfies Resource<Product, DeclaredProduct>

/** Nothing becomes free by a file that does not say so; what a file does not list is never removed by `prune` if that frees something. */
function lossFaults(
  after: readonly Product[],
  before: ReadonlyMap<string, Product>,
  memberPath: (key: string) => string,
): Fault[] {
  const kept = new Map(after.map((product) => [product.name, product]))
  return [...before.values()].flatMap((product) => {
    const now = kept.get(product.name)
    const lost = now?.free === true ? [] : lostNames([product], after)
    if (lost.length === 0) return []
    const text = `${lost.join(', ')} would be free for all whose scopes allow it: no other product covers it`
    return now === undefined
      ? [
          {
            path: 'prune',
            text: `${text}. List the product ${product.name} without coverage, and with free: true, first`,
          },
        ]
      : [{ path: `${memberPath(product.name)}covers`, text: `${text}. To agree, add free: true` }]
  })
}

function productFaults(
  product: DeclaredProduct,
  { agreements, feeds, tables }: Pick<Known, 'agreements' | 'feeds' | 'tables'>,
): Fault[] {
  const { delay, default: byDefault, agreement, trial, covers = [] } = product
  const faults: Fault[] = []
  const fault = (path: string, text: string | undefined) => text !== undefined && faults.push({ path, text })
  fault('delay', timeFault(delay, DAY))
  fault('trial', timeFault(trial, LONGEST_TRIAL))
  fault('warn', timeFault(product.warn, LONGEST_TRIAL))
  if (byDefault === 'delayed' && delay === undefined) fault('default', 'delayed needs a delay')
  if (product.when_full === 'delay' && delay === undefined) fault('when_full', 'delay needs a delay')
  if (product.when_full !== undefined && product.simultaneous === undefined) fault('when_full', 'needs simultaneous')
  if (agreement !== undefined && agreements?.has(agreement) === false)
    fault('agreement', unknownName('agreement', agreement, agreements))
  faults.push(...coverageFaults(covers, delay !== undefined, tables))
  if (delay !== undefined) faults.push(...heldFeedFaults(covers, feeds))
  return faults
}

function timeFault(given: string | undefined, longest: number): string | undefined {
  const time = given === undefined ? undefined : readDuration(given)
  if (time === undefined || (time >= SECOND && time <= longest)) return undefined
  return `must be from 1 second to ${writeDuration(longest)}`
}

function toProduct(product: DeclaredProduct): Product {
  const { name, delay, default: byDefault = 'none', agreement, trial, enabled = true, covers = [] } = product
  const { simultaneous, when_full: whenFull = 'refuse', count = 'user' } = product
  return {
    ...{ name, byDefault, agreement, enabled, simultaneous, whenFull, count },
    ...(product.free === true && { free: true }),
    delay: readDuration(delay ?? ''),
    trial: readDuration(trial ?? ''),
    warn: readDuration(product.warn ?? ''),
    covers: covers.map(toCoverage),
  }
}

function presentProduct(product: Product): JsonObject {
  return { ...declareProduct(product), default: product.byDefault, enabled: product.enabled }
}

function declareProduct(product: Product): JsonObject {
  const { name, delay, byDefault, agreement, trial, warn, enabled, covers, simultaneous, whenFull, count } = product
  return {
    name,
    ...(delay !== undefined && { delay: writeDuration(delay) }),
    ...(byDefault !== 'none' && { default: byDefault }),
    ...(agreement !== undefined && { agreement }),
    ...(trial !== undefined && { trial: writeDuration(trial) }),
    ...(warn !== undefined && { warn: writeDuration(warn) }),
    ...(simultaneous !== undefined && { simultaneous }),
    ...(whenFull !== 'refuse' && { when_full: whenFull }),
    ...(count !== 'user' && { count }),
    ...(!enabled && { enabled }),
    ...(product.free === true && { free: true }),
    ...(covers.length > 0 && { covers: covers.map(declareCoverage) }),
  }
}
