/** Brings a database to this program's schema, forward only, each step in one transaction. */
import type { Kysely } from 'kysely'
import type { Database } from './database.ts'
import { sql } from './kysely.ts'
import { MIGRATIONS, type Migration } from './migrations/list.ts'
import type { Schema } from './schema.ts'

/** Nodes that start together must not migrate together. */
const ADVISORY_LOCK = 7_203_519_001

export class SchemaTooNew extends Error {
  constructor(found: number, known: number, location: string) {
    super(
      `The database ${location} has schema ${found}, this program knows up to ${known}: start the newer gatehouse that wrote it, or restore a backup.`,
    )
    this.name = 'SchemaTooNew'
  }
}

export async function migrate({ db, engine, location }: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (engine === 'postgres') {
      await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCK)})`.execute(tx)
      await sql`create schema if not exists gatehouse`.execute(tx)
    }
    await tx.schema
      .createTable('schema_version')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at', 'bigint', (column) => column.notNull())
      .execute()
    const found = await currentVersion(tx)
    if (found > MIGRATIONS.length) throw new SchemaTooNew(found, MIGRATIONS.length, location)
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index >= found) await apply(tx, index + 1, migration)
    }
  })
}

async function currentVersion(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return row?.version ?? 0
}

async function apply(tx: Kysely<Schema>, version: number, migration: Migration): Promise<void> {
  await migration.up(tx)
  await tx.insertInto('schema_version').values({ version, name: migration.name, applied_at: Date.now() }).execute()
}
