/** Rate-limit counts of busy callers per node, so that a limit applies to all nodes together. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const rateCounts = {
  name: 'rate counts',
  async up(db: Kysely<Schema>) {
    await db.schema
      .createTable('rate_counts')
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('window_start', 'bigint', (column) => column.notNull())
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('count', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('rate_counts_key', ['key', 'window_start', 'node'])
      .execute()
    await db.schema.createIndex('rate_counts_by_expires_at').on('rate_counts').columns(['expires_at']).execute()
  },
}
