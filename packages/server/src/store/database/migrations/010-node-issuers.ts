/** The issuer of each running node, so that nodes with different issuers detect each other. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const nodeIssuers = {
  name: 'node issuers',
  async up(db: Kysely<Schema>) {
    // Empty for nodes of an earlier version, which stop serving.
    await db.schema
      .alterTable('nodes')
      .addColumn('issuer', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await db.schema
      .alterTable('nodes')
      .addColumn('started_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
