/** The running nodes, and their replies to calls that go to all of them. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const nodes = {
  name: 'nodes',
  async up(db: Kysely<Schema>) {
    await db.schema
      .createTable('nodes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('node_answers')
      .addColumn('question', 'text', (column) => column.notNull())
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('node_answers_key', ['question', 'node'])
      .execute()
    await db.schema.createIndex('node_answers_by_expires_at').on('node_answers').columns(['expires_at']).execute()
  },
}
