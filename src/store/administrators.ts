/** Whether anybody can administer, and the role that the first administrator gets. */
import type { Kysely } from 'kysely'
import type { Role, Roles } from './roles.ts'
import type { Schema } from './schema.ts'

const RIGHTS = ['Identity/Admin', 'Platform/Admin'] as const

/** An enabled user with the right to administer users, who can sign in: one who was invited and has no password cannot. */
export async function hasAdministrator(db: Kysely<Schema>, roles: Pick<Roles, 'list'>): Promise<boolean> {
  const names = (await roles.list()).filter(({ scopes }) => scopes.includes('Identity/Admin')).map(({ name }) => name)
  if (names.length === 0) return false
  const row = await db
    .selectFrom('user_roles')
    .innerJoin('users', 'users.id', 'user_roles.user_id')
    .select('users.id')
    .where('user_roles.role', 'in', names)
    .where('users.disabled', '=', 0)
    .where((eb) =>
      eb.or([
        eb('users.password_hash', 'is not', null),
        eb.exists(
          eb
            .selectFrom('factors')
            .select('factors.id')
            .whereRef('factors.user_id', '=', 'users.id')
            .where('factors.kind', '=', 'passkey'),
        ),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** A role that gives all administration rights, and whether it has to be created. */
export function administratorRole(existing: readonly Role[]): { role: Role; isNew: boolean } {
  const fitting = existing.find(({ scopes }) => RIGHTS.every((right) => scopes.includes(right)))
  if (fitting !== undefined) return { role: fitting, isNew: false }
  const taken = new Set(existing.map(({ name }) => name))
  let name = 'admin'
  for (let count = 2; taken.has(name); count++) name = `admin-${count}`
  return { role: { name, scopes: RIGHTS, description: 'Administers', requireSecondFactor: false }, isNew: true }
}
