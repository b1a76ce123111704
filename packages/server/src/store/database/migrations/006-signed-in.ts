/** Indexes for the lists of who is signed in: open sessions and valid grants, of everybody and of one user, newest first. */
import { type Kysely, sql } from 'kysely'
import type { Schema } from '../schema.ts'

const LISTS = [
  { table: 'sessions', open: 'ended_at' },
  { table: 'grants', open: 'revoked_at' },
] as const

export const signedIn = {
  name: 'signed in',
  async up(db: Kysely<Schema>) {
    for (const { table, open } of LISTS) {
      await db.schema
        .createIndex(`${table}_open`)
        .on(table)
        .columns(['created_at', 'id'])
        .where(sql.ref(open), 'is', null)
        .execute()
      // It serves what the index on the user alone did.
      await db.schema
        .createIndex(`${table}_by_user_id_created_at`)
        .on(table)
        .columns(['user_id', 'created_at', 'id'])
        .execute()
      await db.schema.dropIndex(`${table}_by_user_id`).execute()
    }
  },
}
