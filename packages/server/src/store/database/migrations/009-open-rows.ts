/** The origin of interactions and device codes, so that their number can be limited by browser and by network. */
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { isSqlite } from './is-sqlite.ts'

export const openRows = {
  name: 'open rows',
  async up(db: Kysely<Schema>) {
    for (const table of ['interactions', 'device_codes'])
      await db.schema
        .alterTable(table)
        .addColumn('network', 'text', (column) => column.notNull().defaultTo(''))
        .execute()
    await db.schema.alterTable('interactions').addColumn('browser', 'text').execute()
    const browser = isSqlite(db) ? sql`details ->> 'browser'` : sql`details::json ->> 'browser'`
    await sql`update interactions set browser = ${browser}`.execute(db)
    await db.schema
      .createIndex('interactions_by_network')
      .on('interactions')
      .columns(['network', 'created_at', 'browser'])
      .execute()
    await db.schema
      .createIndex('device_codes_by_network')
      .on('device_codes')
      .columns(['network', 'created_at'])
      .execute()
  },
}
