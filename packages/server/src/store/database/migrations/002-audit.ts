/** The audit log: rows chained by hash, and the head to which the next row is chained. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const audit = {
  name: 'audit',
  async up(db: Kysely<Schema>) {
    await db.schema
      .createTable('audit_log')
      .addColumn('seq', 'bigint', (column) => column.primaryKey())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('event', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('client', 'text')
      .addColumn('target', 'text')
      .addColumn('address', 'text')
      .addColumn('request_id', 'text')
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('details', 'text', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('audit_log_by_at').on('audit_log').columns(['at']).execute()
    await db.schema.createIndex('audit_log_by_event_seq').on('audit_log').columns(['event', 'seq']).execute()
    await db.schema.createIndex('audit_log_by_actor_seq').on('audit_log').columns(['actor', 'seq']).execute()
    await db.schema
      .createTable('audit_head')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .execute()
    await db.insertInto('audit_head').values({ id: 1, seq: 0, hash: '' }).execute()
  },
}
