/** Request bodies of the administration API, and what is wrong with them. */

import { Refusal } from 'gatehouse-protocol'
import type { JsonSchema } from '../../http/openapi.ts'
import type { JsonObject } from '../../resources/define-resource.ts'
import { USERS } from '../../resources/users.ts'
import type { Fault } from '../../schema/check-schema.ts'

export type { JsonObject }

/** A new user without a password, or another recipient of a one-time link. */
export const INVITED_SCHEMA: JsonSchema = {
  ...without(USERS.list.items, ['password', 'password_hash', 'reset_password', 'must_change_password'], {
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

/** The member Faults has them all. */
const MOST_SHOWN = 5

export function badBody(faults: readonly Fault[]): Refusal {
  const shown = faults.slice(0, MOST_SHOWN).map(({ path, text }) => (path === '' ? text : `${path}: ${text}`))
  const more = faults.length > MOST_SHOWN ? [`and ${faults.length - MOST_SHOWN} more`] : []
  const detail = [...shown, ...more].join('; ') || 'The body is invalid'
  return new Refusal('admin.bad_body', 422, detail, { members: { Faults: faults } })
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
