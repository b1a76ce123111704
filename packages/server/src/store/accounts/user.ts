/** A user with roles and the rights that these give, as rows of the database. */
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'

/** The standard claims by their registered names (OpenID Connect Core §5.1). */
export type Profile = Readonly<Record<string, unknown>>

/** The values of a user's or client's attributes by name, each in the form of its type (Date as `2026-11-17`); several only where the attribute may have many. */
export type AttributeValues = Readonly<Record<string, readonly AttributeValue[]>>
export type AttributeValue = string | number | boolean

/** Who gives a role: an operator, a provider at a sign-in through it, or a SCIM client. */
export type RoleSource = 'operator' | `provider:${string}` | `scim:${string}`

export interface User {
  readonly id: string
  readonly username: string
  readonly passwordHash: string | undefined
  readonly passwordChangedAt: number
  /** Digest of the password set by a declarative file, so that only a change in the file sets it again. */
  readonly declaredDigest: string | undefined
  readonly profile: Profile
  readonly roles: readonly string[]
  /** Who gives each role; at least one source. */
  readonly roleSources: ReadonlyMap<string, readonly RoleSource[]>
  readonly attributes: AttributeValues
  /** Whether the user may sign in with a password where only other providers are used otherwise. */
  readonly breakGlass: boolean
  /** The scopes of the roles. */
  readonly rights: ReadonlySet<string>
  /** By a role, or because the user is one for emergencies. */
  readonly requiresSecondFactor: boolean
  readonly hasSecondFactor: boolean
  readonly disabled: boolean
  /** At the next sign-in, before anything is issued. */
  readonly mustChangePassword: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** No client_id may begin with it: it distinguishes users from clients in the subject of a token (RFC 9068 §5). */
export const USER_ID_PREFIX = 'usr_'

/** Usernames are compared in NFKC and case-insensitively. */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').trim().toLowerCase()
}

/** One row per role of the user. */
export function selectUsers(db: Kysely<Schema>) {
  return db
    .selectFrom('users')
    .leftJoin('user_roles', 'user_roles.user_id', 'users.id')
    .leftJoin('roles', 'roles.name', 'user_roles.role')
    .selectAll('users')
    .select([
      'user_roles.role as role',
      'user_roles.sources as role_sources',
      'roles.scopes as role_scopes',
      'roles.require_second_factor as role_factor',
    ])
    .select((eb) =>
      eb
        .selectFrom('factors')
        .whereRef('factors.user_id', '=', 'users.id')
        .where('factors.kind', '!=', 'recovery')
        .select((inner) => inner.fn.countAll<number>().as('count'))
        .as('factors'),
    )
}

type Row = Selectable<Schema['users']> & {
  role: string | null
  role_sources: string | null
  role_scopes: string | null
  role_factor: number | null
  factors: number | null
}

/** The users of rows that `selectUsers` has read, in their order. */
export function toUsers(rows: readonly Row[]): User[] {
  const byId = new Map<string, Row[]>()
  for (const row of rows) {
    const same = byId.get(row.id)
    if (same === undefined) byId.set(row.id, [row])
    else same.push(row)
  }
  return [...byId.values()].flatMap((same) => (same[0] === undefined ? [] : [toUser(same[0], same)]))
}

/** The roles that an operator gives, by hand or in the declarative file. */
export function rolesByOperator(user: Pick<User, 'roles' | 'roleSources'>): string[] {
  return rolesBySource(user, 'operator')
}

export function rolesBySource(
  { roles, roleSources }: Pick<User, 'roles' | 'roleSources'>,
  source: RoleSource,
): string[] {
  return roles.filter((role) => roleSources.get(role)?.includes(source))
}

export function readRoleSources(text: string | null): readonly RoleSource[] {
  return text === null ? [] : JSON.parse(text)
}

function toUser(row: Row, rows: readonly Row[]): User {
  const profile: Profile = JSON.parse(row.profile)
  const rights = new Set<string>()
  for (const { role_scopes } of rows) {
    const scopes: string[] = role_scopes === null ? [] : JSON.parse(role_scopes)
    for (const scope of scopes) rights.add(scope)
  }
  return {
    id: row.id,
    username: row.username,
    passwordHash: row.password_hash ?? undefined,
    passwordChangedAt: row.password_changed_at,
    declaredDigest: row.declared_digest ?? undefined,
    profile,
    roles: rows.flatMap(({ role }) => role ?? []).sort(),
    roleSources: new Map(
      rows.flatMap(({ role, role_sources }) => (role === null ? [] : [[role, readRoleSources(role_sources)] as const])),
    ),
    attributes: JSON.parse(row.attributes),
    breakGlass: row.break_glass === 1,
    rights,
    requiresSecondFactor: row.break_glass === 1 || rows.some(({ role_factor }) => role_factor === 1),
    hasSecondFactor: Number(row.factors ?? 0) > 0,
    disabled: row.disabled === 1,
    mustChangePassword: row.must_change_password === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
