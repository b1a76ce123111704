/** Request bodies of the administration API, with the schema, rules and faults of the declarative file. */

import { Refusal } from 'gatehouse-protocol'
import { checkMeaning, type KnownApis } from '../../declarative/check-meaning.ts'
import { checkShape } from '../../declarative/check-shape.ts'
import { DECLARATION, type Declaration, type DeclaredUser } from '../../declarative/shape.ts'
import type { JsonSchema } from '../../http/openapi.ts'
import { languageTag } from '../../lib/language-tags.ts'
import { isTimeZone } from '../../lib/time-zones.ts'
import type { TakenNames } from '../../resources/controller-names.ts'
import type { JsonObject } from '../../resources/define-resource.ts'
import type { Fault } from '../../schema/check-schema.ts'
import type { AttributeDefinition } from '../../store/attributes/attributes.ts'

export type { JsonObject }

const { users } = DECLARATION.properties

export const USER_SCHEMA = without(users.items, ['password_hash', 'reset_password'], { password: { type: 'string' } })
/** A new user without a password, or another recipient of a one-time link. */
export const INVITED_SCHEMA: JsonSchema = {
  ...without(users.items, ['password', 'password_hash', 'reset_password', 'must_change_password'], {
    user: { type: 'string', description: 'An existing user, by name or id; then there are no members of a new user.' },
    first_administrator: { type: 'boolean', description: 'Allowed as long as there is no administrator.' },
    send: {
      type: 'boolean',
      description: 'Mail the link to the address of the user; the reply then does not contain it. Needs mail_url.',
    },
    expires_in: { type: 'integer', minimum: 60, maximum: 2_592_000, description: 'Seconds. Default: three days.' },
  }),
  required: [],
}

/** A time in a response. */
export function instant(milliseconds: number): string
export function instant(milliseconds: number | undefined): string | null
export function instant(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : new Date(milliseconds).toISOString()
}

export function readObject(body: unknown): JsonObject {
  if (!isObject(body)) throw badBody([{ path: '', text: 'a JSON object is required' }])
  return { ...body }
}

const MOST_FAULTS = 100

/** A misspelled member must not count as absent. */
export function refuseUnknown(body: JsonObject, known: readonly string[]): void {
  const faults = Object.keys(body)
    .filter((name) => !known.includes(name))
    .slice(0, MOST_FAULTS)
  if (faults.length > 0) throw badBody(faults.map((path) => ({ path, text: 'unknown member' })))
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a user or client may refer to. */
export interface KnownNames {
  readonly roles: readonly string[]
  readonly attributes: readonly AttributeDefinition[]
}

/** Without the password, which is read separately. What a user has `before` stays allowed. */
export function readUser(
  value: JsonObject,
  { roles: existingRoles, attributes: declared }: KnownNames,
  before: JsonObject = {},
): Omit<DeclaredUser, 'password'> {
  const { password, ...user } = one('users', check({ users: [value] }, existingRoles, undefined, declared).users)
  const faults = KNOWN_NAMES.filter(({ member, isKnown }) => {
    const text = user[member]
    return text !== undefined && text !== '' && text !== before[member] && !isKnown(text)
  })
  if (faults.length > 0) throw badBody(faults.map(({ member, text }) => ({ path: member, text })))
  return user
}

/** A declarative file accepted by an earlier version may contain others. */
const KNOWN_NAMES = [
  { member: 'zoneinfo', isKnown: isTimeZone, text: 'is not a known time zone; an example is Europe/Paris' },
  {
    member: 'locale',
    isKnown: (text: string) => languageTag(text) !== undefined,
    text: 'is not the tag of a known language; an example is en-GB',
  },
] as const

/** The member Faults has them all. */
const MOST_SHOWN = 5

export function badBody(faults: readonly Fault[]): Refusal {
  const shown = faults.slice(0, MOST_SHOWN).map(({ path, text }) => (path === '' ? text : `${path}: ${text}`))
  const more = faults.length > MOST_SHOWN ? [`and ${faults.length - MOST_SHOWN} more`] : []
  const detail = [...shown, ...more].join('; ') || 'The body is invalid'
  return new Refusal('admin.bad_body', 422, detail, { members: { Faults: faults } })
}

function check(
  value: unknown,
  existingRoles: Iterable<string>,
  taken?: TakenNames,
  declared?: readonly AttributeDefinition[],
  known?: KnownApis,
): Declaration {
  const shaped = checkShape(value)
  const faults =
    'faults' in shaped ? shaped.faults : checkMeaning(shaped.declaration, existingRoles, taken, declared, known)
  if (faults.length > 0)
    throw badBody(faults.map(({ path, text }) => ({ path: path.replace(/^\w+\[0\]\.?/, ''), text })))
  if ('faults' in shaped) throw new Error('unreachable: a shape without faults has a declaration')
  return shaped.declaration
}

function one<Item>(list: string, items: readonly Item[] | undefined): Item {
  const [item] = items ?? []
  if (item === undefined) throw new Error(`unreachable: the declaration has no ${list}`)
  return item
}

/** The schema without some members, or with others in their place. */
export function without(
  schema: { readonly properties: object },
  omitted: readonly string[],
  others: JsonSchema = {},
): JsonSchema {
  const properties = Object.entries(schema.properties).filter(([member]) => !omitted.includes(member))
  return { ...schema, properties: { ...Object.fromEntries(properties), ...others } }
}
