/** Members of groups: who has a role because a SCIM client gave it. A role that another source gives too stays. */
import type { Kysely } from 'kysely'
import { type RoleSource, readRoleSources } from '../accounts/user.ts'
import type { Schema } from '../database/schema.ts'

/** Rows of one statement. SQLite takes at most 32,766 parameters. */
const BATCH = 500

export function scimSource(clientId: string): RoleSource {
  return `scim:${clientId}`
}

export function createMembers(db: Kysely<Schema>) {
  return {
    /** The ids of the users to whom the source gives the role, in order. */
    async list(role: string, source: RoleSource): Promise<string[]> {
      const rows = await db
        .selectFrom('user_roles')
        .select(['user_id', 'sources'])
        .where('role', '=', role)
        .orderBy('user_id')
        .execute()
      return rows.filter(({ sources }) => givenBy(sources, source)).map(({ user_id }) => user_id)
    },

    /** Of these users, those to whom the source gives the role. */
    async givenAmong(role: string, userIds: readonly string[], source: RoleSource): Promise<string[]> {
      const given: string[] = []
      for (const ids of batches(userIds))
        for (const [id, sources] of await loadSources(role, ids)) if (sources.includes(source)) given.push(id)
      return given
    },

    /** The groups that the source gave to these users, by user. */
    async findGroups(
      userIds: readonly string[],
      source: RoleSource,
    ): Promise<ReadonlyMap<string, readonly GroupName[]>> {
      if (userIds.length === 0) return new Map()
      const rows = await db
        .selectFrom('user_roles')
        .innerJoin('scim_groups', 'scim_groups.role', 'user_roles.role')
        .select(['user_roles.user_id', 'user_roles.sources', 'scim_groups.id', 'scim_groups.display_name'])
        .where('user_roles.user_id', 'in', userIds)
        .orderBy('scim_groups.id')
        .execute()
      const given = rows.filter(({ sources }) => givenBy(sources, source))
      const named = given.map(({ user_id, id, display_name }) => ({ userId: user_id, id, displayName: display_name }))
      return Map.groupBy(named, ({ userId }) => userId)
    },

    /** From now on the source gives the role to these users too. Returns those who did not have it. */
    async add(role: string, userIds: readonly string[], source: RoleSource): Promise<string[]> {
      const added: string[] = []
      for (const ids of batches(userIds)) {
        const held = await loadSources(role, ids)
        const others = ids.filter((id) => !held.has(id))
        if (others.length > 0)
          await db
            .insertInto('user_roles')
            .values(others.map((user_id) => ({ user_id, role, sources: JSON.stringify([source]) })))
            .onConflict((conflict) => conflict.doNothing())
            .execute()
        for (const [id, sources] of held)
          if (!sources.includes(source)) await setSources(role, id, [...sources, source])
        added.push(...others)
      }
      return added
    },

    /** Ends what these sources give: one role, or all. Returns those who no longer have a role. */
    async removeAllBy(matches: (source: RoleSource) => boolean, role?: string): Promise<string[]> {
      const given = await bySource(matches, role)
      const lost = new Set<string>()
      for (const same of Map.groupBy(given, (each) => JSON.stringify([each.role, each.source])).values()) {
        const [first] = same
        if (first === undefined) continue
        const ids = same.map(({ userId }) => userId)
        for (const id of await remove(first.role, ids, first.source)) lost.add(id)
      }
      return [...lost]
    },

    bySource,
    remove,

    /** Of these, the ids of users who exist. */
    async existing(userIds: readonly string[]): Promise<ReadonlySet<string>> {
      const found = new Set<string>()
      for (const ids of batches(userIds)) {
        const rows = await db.selectFrom('users').select('id').where('id', 'in', ids).execute()
        for (const { id } of rows) found.add(id)
      }
      return found
    },

    /** Of these, the ids of users whom no SCIM client may change. */
    async breakGlass(userIds: readonly string[]): Promise<string[]> {
      const found: string[] = []
      for (const ids of batches(userIds)) {
        const rows = await db
          .selectFrom('users')
          .select('id')
          .where('id', 'in', ids)
          .where('break_glass', '=', 1)
          .execute()
        found.push(...rows.map(({ id }) => id))
      }
      return found
    },
  }

  /** From now on the source does not give the role to these users. Returns those who no longer have it. */
  async function remove(role: string, userIds: readonly string[], source: RoleSource): Promise<string[]> {
    const removed: string[] = []
    for (const ids of batches(userIds)) {
      const held = [...(await loadSources(role, ids))].filter(([, sources]) => sources.includes(source))
      const lost = held.filter(([, sources]) => sources.length === 1).map(([id]) => id)
      if (lost.length > 0)
        await db.deleteFrom('user_roles').where('role', '=', role).where('user_id', 'in', lost).execute()
      for (const [id, sources] of held) {
        const others = sources.filter((other) => other !== source)
        if (others.length > 0) await setSources(role, id, others)
      }
      removed.push(...lost)
    }
    return removed
  }

  /** The roles that a source gives to anybody, with those users. */
  async function bySource(matches: (source: RoleSource) => boolean, role?: string): Promise<Given[]> {
    let query = db.selectFrom('user_roles').selectAll().where('sources', 'like', '%"scim:%')
    if (role !== undefined) query = query.where('role', '=', role)
    return (await query.execute()).flatMap((row) =>
      readRoleSources(row.sources)
        .filter(matches)
        .map((source) => ({ userId: row.user_id, role: row.role, source })),
    )
  }

  async function loadSources(role: string, ids: readonly string[]): Promise<Map<string, readonly RoleSource[]>> {
    const rows = await db
      .selectFrom('user_roles')
      .select(['user_id', 'sources'])
      .where('role', '=', role)
      .where('user_id', 'in', ids)
      .execute()
    return new Map(rows.map(({ user_id, sources }) => [user_id, readRoleSources(sources)]))
  }

  async function setSources(role: string, userId: string, sources: readonly RoleSource[]): Promise<void> {
    await db
      .updateTable('user_roles')
      .set({ sources: JSON.stringify(sources) })
      .where('user_id', '=', userId)
      .where('role', '=', role)
      .execute()
  }
}

export interface GroupName {
  readonly id: string
  readonly displayName: string
}

export interface Given {
  readonly userId: string
  readonly role: string
  readonly source: RoleSource
}

export function* batches<Item>(items: readonly Item[], size = BATCH): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

/** Most rows have one source, whose text is compared without parsing it. */
function givenBy(text: string, source: RoleSource): boolean {
  return text === JSON.stringify([source]) || (text.includes('scim:') && readRoleSources(text).includes(source))
}
