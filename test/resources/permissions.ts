/** A kind of resource that no release has yet: what a user or client may use of a product, and when. Its key has three members. */
import type { XStatic } from 'typebox/schema'
import { SECRET } from '../../packages/server/src/resources/declared-secret.ts'
import type { JsonObject, Resource } from '../../packages/server/src/resources/define-resource.ts'
import { unknownName } from '../../packages/server/src/resources/names.ts'
import { closed, flag, number, shortList, text, words } from '../../packages/server/src/schema/builders.ts'
import type { Stores } from '../../packages/server/src/store/stores.ts'

type Declared = XStatic<typeof PERMISSION>

interface Permission {
  readonly product: string
  readonly who: string
  readonly from: string
  readonly seats: number
  readonly note: string
  readonly paused: boolean
  /** Of the licence key, which is shown only once. */
  readonly digest: string | undefined
}

const DAY = /^\d{4}-\d{2}-\d{2}$/.source
const MOST_SEATS = 1_000

const PERMISSION = closed(['product', 'who', 'from'], {
  product: text({ minLength: 1, maxLength: 64, description: 'The product.' }),
  who: text({ minLength: 1, maxLength: 128, description: 'A role.' }),
  from: text({ pattern: DAY, description: 'The first day.' }),
  seats: number('integer', { minimum: 1, description: 'How many may use it at once. Default: 1.' }),
  note: words('Why it was given.'),
  paused: flag('Nobody can use it now. Default: false.'),
  licence_key: SECRET,
})

/** The table of audit events has no permissions yet: a release adds three lines there. */
const NOUN: Resource<Permission, Declared>['noun'] = JSON.parse('"permission"')

export const TABLE = `create table permissions (
  product text not null, who text not null, "from" text not null, definition text not null,
  created_at bigint not null, updated_at bigint not null, primary key (product, who, "from"))`

const store = ({ definitions }: Stores) =>
  definitions<Permission>({
    table: 'permissions',
    key: ['product', 'who', 'from'],
    absent: { digest: undefined },
  })

export const PERMISSIONS: Resource<Permission, Declared> = {
  noun: NOUN,
  section: 'permissions',
  key: ['product', 'who', 'from'],
  scope: 'Platform/Admin',
  list: shortList(PERMISSION, 'What roles may use of products.'),
  patterns: [[DAY, 'must be a day such as 2026-01-31']],
  toItem: ({ product, who, from, seats = 1, note = '', paused = false }, before) => ({
    ...{ product, who, from, seats, note, paused },
    digest: before?.digest,
  }),
  present: (permission) => ({ ...declare(permission), seats: permission.seats, paused: permission.paused }),
  declare,
  namedScopes: 'none',
  refersTo: ['roles'],
  faults: ({ who }, { roles }) => (roles.has(who) ? [] : [{ path: 'who', text: unknownName('role', who, roles) }]),
  faultsTogether(after, _before, buildPath) {
    const seats = after.reduce((sum, each) => sum + each.seats, 0)
    const [last] = after.slice(-1).map(({ product, who, from }) => [product, who, from].join('/'))
    return seats > MOST_SEATS
      ? [{ path: `${buildPath(last ?? '')}seats`, text: `all together are more than ${MOST_SEATS}` }]
      : []
  },
  secret: {
    member: 'licence_key',
    body: { type: 'string', description: 'Stored as a digest, and never shown.' },
    fault: (isGiven, { note }) => (isGiven && note === 'trial' ? 'is not for trials' : undefined),
    plan({ product, licence_key: value }, before, { passwordDigest }) {
      if (typeof value !== 'string') return undefined
      const digest = passwordDigest(product, value)
      return digest === before?.digest ? undefined : { value, digest }
    },
  },
  isExportedIfAny: true,
  store,
  async put(permission, { stores, before, secret }) {
    const digest = secret === undefined ? before?.digest : (secret.digest ?? `digest of ${secret.value}`)
    await store(stores).put({ ...permission, digest })
    return before === undefined && secret === undefined ? { licence_key: 'a-key-that-is-shown-once' } : undefined
  },
  refusal: async (before, after) =>
    after === undefined && before.seats > 100 ? 'It has more than 100 seats: change it first' : undefined,
  auditDetails: () => ({}),
  routes: {
    list: 'Lists permissions page by page.',
    pages: { things: 'Permissions', filters: { product: 'Only those of this product.' } },
    create: 'Gives a permission.',
    show: 'Shows a permission.',
    change: 'Changes a permission (JSON merge patch).',
    remove: 'Takes a permission away.',
    instead: 'give another',
  },
  actions: [
    {
      name: 'pause',
      summary: 'Pauses a permission.',
      reply: 'The permission.',
      body: closed([], { note: words('Why.') }),
      async run(permission, { stores }, { note = permission.note }) {
        await store(stores).put({ ...permission, paused: true, note: String(note) })
        return { audit: { event: 'declaration.applied' }, once: { paused_by: 'an operator' } }
      },
      command: {
        summary: 'Pauses a permission.',
        options: { '--note': { value: 'TEXT', help: 'why' } },
        examples: ['permission pause news trader 2026-01-01 --note "not paid"'],
        confirm: (key) => `Pause ${key}?`,
      },
    },
  ],
  commands: {
    argument: ['PRODUCT', 'WHO', 'FROM'],
    options: {
      '--seats': { value: 'COUNT', help: 'how many may use it at once' },
      '--note': { value: 'TEXT', help: 'why it was given' },
      '--default': { resets: true, value: 'MEMBER', help: 'return to the default of a member; repeatable' },
    },
    columns: ['product', 'who', 'from', 'seats', 'paused'],
    filters: { '--product': { filter: 'product', value: 'PRODUCT', help: 'only those of this product' } },
    list: { summary: 'Lists permissions.', examples: ['permission list --product news'] },
    show: { summary: 'Shows a permission.', examples: ['permission show news trader 2026-01-01'] },
    add: { summary: 'Gives a permission.', examples: ['permission add news trader 2026-01-01 --seats 5'] },
    set: { summary: 'Changes a permission.', examples: ['permission set news trader 2026-01-01 --seats 6'] },
    remove: {
      summary: 'Takes a permission away.',
      examples: ['permission remove news trader 2026-01-01 --yes'],
      confirm: (key) => `Take ${key} away?`,
      done: (key) => `The permission to ${key} was taken away.`,
    },
  },
}

function declare({ product, who, from, seats, note, paused }: Permission): JsonObject {
  return {
    ...{ product, who, from },
    ...(seats !== 1 && { seats }),
    ...(note !== '' && { note }),
    ...(paused && { paused }),
  }
}
