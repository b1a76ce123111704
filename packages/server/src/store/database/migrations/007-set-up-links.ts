/** One-time links with which a person chooses a password, and users who must change theirs. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const setUpLinks = {
  name: 'set-up links',
  async up(db: Kysely<Schema>) {
    await db.schema
      .alterTable('users')
      .addColumn('must_change_password', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .createTable('set_up_links')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text')
      .addColumn('created_by', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .addColumn('revoked_at', 'bigint')
      .execute()
    await db.schema.createIndex('set_up_links_by_digest').unique().on('set_up_links').column('digest').execute()
    for (const columns of [['created_at', 'id'], ['user_id', 'created_at', 'id'], ['expires_at']])
      await db.schema.createIndex(`set_up_links_by_${columns[0]}`).on('set_up_links').columns(columns).execute()
  },
}
