/** Columns by which users are found besides their username: the display name, the family name and the e-mail address, folded and indexed. */
import { type Kysely, sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { searchKeys } from '../search-keys.ts'
import { isSqlite } from './is-sqlite.ts'

const COLUMNS = ['name_key', 'family_key', 'email_key'] as const
const ROWS_AT_ONCE = 1000

export const userSearch = {
  name: 'user search',
  async up(db: Kysely<Schema>) {
    // Prefixes are ranges of an index only where text is ordered by its bytes, as SQLite orders it.
    const type = isSqlite(db) ? sql`text` : sql`text collate "C"`
    for (const column of COLUMNS) await db.schema.alterTable('users').addColumn(column, type).execute()
    if (!isSqlite(db)) await sql`alter table users alter column username_key type text collate "C"`.execute(db)
    await fill(db)
    for (const column of COLUMNS)
      await db.schema.createIndex(`users_by_${column}`).on('users').columns([column, 'id']).execute()
  },
}

async function fill(db: Kysely<Schema>): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('users')
      .select(['id', 'profile'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    const values = rows.map(({ id, profile }) => {
      const keys = searchKeys(JSON.parse(profile))
      return sql`(${id}, ${keys.name_key}, ${keys.family_key}, ${keys.email_key})`
    })
    if (values.length > 0)
      await sql`with filled (id, name_key, family_key, email_key) as (values ${sql.join(values)})
        update users set name_key = filled.name_key, family_key = filled.family_key, email_key = filled.email_key
        from filled where users.id = filled.id`.execute(db)
    if (rows.length < ROWS_AT_ONCE) return
    after = rows.at(-1)?.id ?? ''
  }
}
