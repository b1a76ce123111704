/** Groups: the roles that SCIM clients see. A group has a name for display; the role's own name never changes. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { foldText } from '../database/search-keys.ts'
import { newId } from '../keys/opaque.ts'

export interface ScimGroup {
  readonly id: string
  readonly role: string
  readonly displayName: string
  /** The SCIM client that made the role; undefined for a role of an operator. */
  readonly madeBy: string | undefined
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
}

export const GROUP_ID_PREFIX = 'grp_'

export function createGroups(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Whether there are any. */
    async exist(): Promise<boolean> {
      return (await db.selectFrom('scim_groups').select('id').limit(1).executeTakeFirst()) !== undefined
    },

    /** One that the client made, or an operator. Those of other clients do not exist for it. */
    async find(id: string, clientId: string): Promise<ScimGroup | undefined> {
      const row = await selectVisible(clientId).where('id', '=', id).executeTakeFirst()
      return row && toGroup(row)
    },

    /** All of them that meet the condition, ordered by id; `limit` at most. */
    async list(clientId: string, limit: number, condition: GroupCondition = {}): Promise<ScimGroup[]> {
      if (condition.ids?.length === 0) return []
      let query = selectVisible(clientId).orderBy('id').limit(limit)
      if (condition.ids !== undefined) query = query.where('id', 'in', condition.ids)
      if (condition.displayName !== undefined)
        query = query.where('display_key', '=', displayKey(condition.displayName))
      return (await query.execute()).map(toGroup)
    },

    /** A role other than `own` that has this name, or is shown under it; upper and lower case are the same. */
    async roleNamed(name: string, own: string | undefined): Promise<string | undefined> {
      const key = displayKey(name)
      const shown = await db.selectFrom('scim_groups').select('role').where('display_key', '=', key).execute()
      const named = (await db.selectFrom('roles').select('name').execute()).filter(
        (role) => displayKey(role.name) === key,
      )
      return [...shown.map(({ role }) => role), ...named.map((role) => role.name)].find((role) => role !== own)
    },

    /** Makes a group of a role. */
    async mark(role: string, { displayName = role, madeBy }: { displayName?: string; madeBy?: string } = {}) {
      const now = clock()
      const values = {
        role,
        id: GROUP_ID_PREFIX + newId(),
        display_name: displayName,
        display_key: displayKey(displayName),
        made_by: madeBy ?? null,
        revision: 1,
        created_at: now,
        updated_at: now,
      }
      const insert = db.insertInto('scim_groups').values(values)
      await insert.onConflict((conflict) => conflict.column('role').doNothing()).execute()
      return values.id
    },

    /** The role is no group any more. */
    async unmark(role: string): Promise<void> {
      const ids = db.selectFrom('scim_groups').select('id').where('role', '=', role)
      await db.deleteFrom('scim_external_ids').where('resource_id', 'in', ids).execute()
      await db.deleteFrom('scim_groups').where('role', '=', role).execute()
    },

    /** The roles that the client has made groups of. */
    async madeBy(clientId: string): Promise<string[]> {
      const rows = await db.selectFrom('scim_groups').select('role').where('made_by', '=', clientId).execute()
      return rows.map(({ role }) => role)
    },

    /** Changes the name for display, or only notes that something about the group has changed. */
    async touch(id: string, displayName?: string): Promise<void> {
      await db
        .updateTable('scim_groups')
        .set((eb) => ({
          revision: eb('revision', '+', 1),
          updated_at: clock(),
          ...(displayName === undefined ? {} : { display_name: displayName, display_key: displayKey(displayName) }),
        }))
        .where('id', '=', id)
        .execute()
    },
  }

  function selectVisible(clientId: string) {
    return db
      .selectFrom('scim_groups')
      .selectAll()
      .where((eb) => eb.or([eb('made_by', 'is', null), eb('made_by', '=', clientId)]))
  }
}

export interface GroupCondition {
  readonly ids?: readonly string[]
  readonly displayName?: string
}

/** How the names of groups are compared. */
function displayKey(name: string): string {
  return foldText(name) ?? ''
}

function toGroup(row: Selectable<Schema['scim_groups']>): ScimGroup {
  return {
    id: row.id,
    role: row.role,
    displayName: row.display_name,
    madeBy: row.made_by ?? undefined,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
