/** The definitions of alerts. What the keeper knows of them is in the query database. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { Schema } from '../database/schema.ts'
import type { Alert } from './alert.ts'

export interface AlertPage {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

const OWNER_NAME = sql<string>`coalesce(users.username, alerts.owner)`

export type Alerts = ReturnType<typeof createAlerts>

/** A caller that changes a definition also publishes `alerts-changed`, in the same transaction. */
export function createAlerts(db: Kysely<Schema>, clock: Clock) {
  const rows = () =>
    db
      .selectFrom('alerts')
      .leftJoin('users', 'users.id', 'alerts.owner')
      .select([
        'alerts.id',
        'alerts.owner',
        'alerts.name',
        'alerts.version',
        'alerts.definition',
        'alerts.rights',
        'alerts.created_at',
        'alerts.updated_at',
        'users.username',
      ])
  return {
    /** Ordered by the name of the owner and its own; `after` is a key, see `find`. */
    async list({ after = '', limit }: AlertPage = {}): Promise<Alert[]> {
      let query = rows().orderBy(OWNER_NAME).orderBy('alerts.name')
      if (after !== '') {
        const [owner = '', name = ''] = after.split('/').map(decodeURIComponent)
        query = query.where(sql<boolean>`(${OWNER_NAME}, alerts.name) > (${owner}, ${name})`)
      }
      if (limit !== undefined) query = query.limit(limit)
      return (await query.execute()).map(toAlert)
    },

    /** Ordered by id, after this one. */
    async listAll({ after, limit }: { readonly after: string; readonly limit: number }): Promise<Alert[]> {
      const found = await rows().where('alerts.id', '>', after).orderBy('alerts.id').limit(limit).execute()
      return found.map(toAlert)
    },

    /** Ordered by name, after this one. */
    async listOwn(owner: string, { after, limit }: { after: string; limit: number }): Promise<Alert[]> {
      const found = await rows()
        .where('alerts.owner', '=', owner)
        .where('alerts.name', '>', after)
        .orderBy('alerts.name')
        .limit(limit)
        .execute()
      return found.map(toAlert)
    },

    /** By its id, or by the name of its owner and its own: see `alertKey`. */
    async find(key: string): Promise<Alert | undefined> {
      const [owner, name] = key.includes('/') ? key.split('/').map(decodeURIComponent) : []
      const query =
        owner === undefined || name === undefined
          ? rows().where('alerts.id', '=', key)
          : rows()
              .where('alerts.name', '=', name)
              .where((eb) => eb.or([eb('users.username', '=', owner), eb('alerts.owner', '=', owner)]))
      const row = await query.executeTakeFirst()
      return row && toAlert(row)
    },

    async findNamed(owner: string, name: string): Promise<Alert | undefined> {
      const row = await rows().where('alerts.owner', '=', owner).where('alerts.name', '=', name).executeTakeFirst()
      return row && toAlert(row)
    },

    /** All of them, or those of an owner. */
    async count(owner?: string): Promise<number> {
      let query = db.selectFrom('alerts').select((eb) => eb.fn.countAll<number>().as('count'))
      if (owner !== undefined) query = query.where('owner', '=', owner)
      return Number((await query.executeTakeFirst())?.count ?? 0)
    },

    /** False if the stored one has another version than the one before this. */
    async update(alert: Alert): Promise<boolean> {
      const row = await db
        .updateTable('alerts')
        .set({ ...toRow(alert), updated_at: clock() })
        .where('id', '=', alert.id)
        .where('version', '=', alert.version - 1)
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** With the next version, if there is one already. */
    async put(alert: Alert): Promise<void> {
      const now = clock()
      const row = { ...toRow(alert), updated_at: now }
      // Not ON CONFLICT: SQLite may find first that the owner has an alert of this name, which is the one that is to be replaced.
      const updated = await db
        .updateTable('alerts')
        .set({ ...row, version: sql<number>`version + 1` })
        .where('id', '=', alert.id)
        .returning('id')
        .executeTakeFirst()
      if (updated !== undefined) return
      await db
        .insertInto('alerts')
        .values({ id: alert.id, ...row, created_at: now })
        .execute()
    },

    async remove(key: string): Promise<void> {
      const found = await this.find(key)
      if (found !== undefined) await db.deleteFrom('alerts').where('id', '=', found.id).execute()
    },
  }
}

function toRow({ owner, name, version, definition, rights }: Alert) {
  return { owner, name, version, definition: JSON.stringify(definition), rights: JSON.stringify(rights) }
}

function toAlert(row: Selectable<Schema['alerts']> & { readonly username: string | null }): Alert {
  return {
    id: row.id,
    owner: row.owner,
    ownerName: row.username ?? row.owner,
    name: row.name,
    version: Number(row.version),
    created: Number(row.created_at),
    updated: Number(row.updated_at),
    rights: { scopes: undefined, ...JSON.parse(row.rights) },
    definition: JSON.parse(row.definition),
  }
}
