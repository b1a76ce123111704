/** Roles: named sets of scopes, assigned to users. */
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'

export interface Role {
  readonly name: string
  readonly scopes: readonly string[]
  readonly description: string
  readonly requireSecondFactor: boolean
  /** Whether SCIM clients see it as a group, and may give it to users. Absent in a change that leaves it as it is. */
  readonly provisioned?: boolean
}

export type Roles = ReturnType<typeof createRoles>

export function createRoles(db: Kysely<Schema>) {
  const rows = () =>
    db
      .selectFrom('roles')
      .leftJoin('scim_groups', 'scim_groups.role', 'roles.name')
      .selectAll('roles')
      .select('scim_groups.id as group_id')
  return {
    /** All, or one page; ordered by name. */
    async list({ after, limit }: { after?: string; limit?: number } = {}): Promise<Role[]> {
      let query = rows().orderBy('name')
      if (after !== undefined) query = query.where('name', '>', after)
      if (limit !== undefined) query = query.limit(limit)
      return (await query.execute()).map(readRow)
    },

    async find(name: string): Promise<Role | undefined> {
      const row = await rows().where('name', '=', name).executeTakeFirst()
      return row && readRow(row)
    },

    /** Whether the role is provisioned is written elsewhere: see scim/groups.ts. */
    async put(role: Pick<Role, 'name' | 'scopes'> & Partial<Role>): Promise<void> {
      const values = {
        scopes: JSON.stringify(role.scopes),
        description: role.description ?? '',
        require_second_factor: Number(role.requireSecondFactor ?? false),
      }
      await db
        .insertInto('roles')
        .values({ name: role.name, ...values })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
        .execute()
    },

    async remove(name: string): Promise<void> {
      await db.deleteFrom('user_roles').where('role', '=', name).execute()
      await db
        .deleteFrom('scim_external_ids')
        .where('resource_id', 'in', db.selectFrom('scim_groups').select('id').where('role', '=', name))
        .execute()
      await db.deleteFrom('scim_groups').where('role', '=', name).execute()
      await db.deleteFrom('roles').where('name', '=', name).execute()
    },

    /** The ids of the users who have the role. */
    async holders(name: string): Promise<string[]> {
      const rows = await db.selectFrom('user_roles').select('user_id').where('role', '=', name).execute()
      return rows.map(({ user_id }) => user_id)
    },
  }
}

function readRow(row: Selectable<Schema['roles']> & { readonly group_id: string | null }): Role {
  return {
    name: row.name,
    scopes: JSON.parse(row.scopes),
    description: row.description,
    requireSecondFactor: row.require_second_factor === 1,
    ...(row.group_id !== null && { provisioned: true }),
  }
}
