/** Bodies of the administration: what comes in follows the shapes and rules of the declarative file, named by the same faults. */
import type { Fault } from '../declarative/bad-declaration.ts'
import { checkMeaning } from '../declarative/check-meaning.ts'
import { checkShape } from '../declarative/check-shape.ts'
import type { Declaration, DeclaredClient, DeclaredRole, DeclaredUser } from '../declarative/shape.ts'
import { Refusal } from '../protocol/refusal.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** A time as answers write it. */
export function instant(milliseconds: number): string
export function instant(milliseconds: number | undefined): string | null
export function instant(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : new Date(milliseconds).toISOString()
}

export function readObject(body: unknown): JsonObject {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badBody([{ path: '', text: 'a JSON object is needed' }])
  return { ...body }
}

/** A misspelled member must not pass for one that was left out. */
export function refuseUnknown(body: JsonObject, known: readonly string[]): void {
  const faults = Object.keys(body).filter((name) => !known.includes(name))
  if (faults.length > 0) throw badBody(faults.map((path) => ({ path, text: 'unknown member' })))
}

/** RFC 7396: what is null goes, what is there replaces; here no member holds an object of its own but `jwks`. */
export function merged(target: JsonObject, patch: JsonObject): JsonObject {
  const result = new Map(Object.entries(target))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, value)
  }
  return Object.fromEntries(result)
}

/** Without the password, which is read apart and never kept with the rest. */
export function readUser(value: unknown, existingRoles: Iterable<string>): Omit<DeclaredUser, 'password'> {
  const { password, ...user } = one('users', check({ users: [value] }, existingRoles).users)
  return user
}

export function readClient(value: unknown): Omit<DeclaredClient, 'client_secret'> {
  const { client_secret, ...client } = one('clients', check({ clients: [value] }, []).clients)
  return client
}

export function readRole(value: unknown): DeclaredRole {
  return one('roles', check({ roles: [value] }, []).roles)
}

export function badBody(faults: readonly Fault[]): Refusal {
  const [first] = faults
  const detail =
    first === undefined ? 'The body cannot be used' : `${first.path === '' ? '' : `${first.path}: `}${first.text}`
  return new Refusal('admin.bad_body', 422, detail, { members: { Faults: faults } })
}

/** One row for each query parameter that is a number. */
export function readCount(text: string | undefined, name: string, fallback: number, most: number): number {
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1 || Number(text) > most)
    throw new Refusal('admin.bad_parameter', 400, `${name} is a number from 1 to ${most}`)
  return Number(text)
}

function check(value: unknown, existingRoles: Iterable<string>): Declaration {
  const shaped = checkShape(value)
  const faults = 'faults' in shaped ? shaped.faults : checkMeaning(shaped.declaration, existingRoles)
  if (faults.length > 0)
    throw badBody(faults.map(({ path, text }) => ({ path: path.replace(/^\w+\[0\]\.?/, ''), text })))
  if ('faults' in shaped) throw new Error('unreachable: a shape without faults has a declaration')
  return shaped.declaration
}

function one<Item>(list: string, items: readonly Item[] | undefined): Item {
  const [item] = items ?? []
  if (item === undefined) throw new Error(`The declaration has lost its ${list}`)
  return item
}
