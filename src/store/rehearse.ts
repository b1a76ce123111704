/** Says which migrations a database still needs, and tries them without keeping anything. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import { type Database, openUnmigrated } from './database.ts'
import { sql } from './kysely.ts'
import { SchemaTooNew } from './migrate.ts'
import { MIGRATIONS } from './migrations/list.ts'
import type { Schema } from './schema.ts'

export interface MigrationPlan {
  /** The version the database has; 0 when it is empty. */
  readonly found: number
  readonly known: number
  readonly pending: readonly { readonly version: number; readonly name: string; readonly milliseconds?: number }[]
}

export interface PlanOptions {
  readonly dataFolder: string
  readonly url: string
  /** Run them, on the real data, and roll everything back. */
  readonly rehearse: boolean
}

export async function planMigrations({ dataFolder, url, rehearse }: PlanOptions): Promise<MigrationPlan> {
  if (url === '' && !existsSync(join(dataFolder, 'identity.db')))
    return { found: 0, known: MIGRATIONS.length, pending: named(0) }
  const database = openUnmigrated({ dataFolder, url })
  try {
    const found = await schemaVersion(database)
    if (found > MIGRATIONS.length) throw new SchemaTooNew(found, MIGRATIONS.length, database.location)
    const pending = named(found)
    return {
      found,
      known: MIGRATIONS.length,
      pending: rehearse && pending.length > 0 ? await tryAll(database, found) : pending,
    }
  } finally {
    await database.close()
  }
}

function named(found: number): { version: number; name: string }[] {
  return MIGRATIONS.map(({ name }, index) => ({ version: index + 1, name })).slice(found)
}

/** 0 when the database has never been migrated. */
export async function schemaVersion({ db, engine }: Pick<Database, 'db' | 'engine'>): Promise<number> {
  const { rows } =
    engine === 'postgres'
      ? await sql<{ found: number }>`select count(*)::int as found from pg_tables
          where schemaname = 'gatehouse' and tablename = 'schema_version'`.execute(db)
      : await sql<{ found: number }>`select count(*) as found from sqlite_schema where name = 'schema_version'`.execute(
          db,
        )
  if ((rows[0]?.found ?? 0) === 0) return 0
  const row = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return row?.version ?? 0
}

class Rehearsed extends Error {}

async function tryAll({ db, engine }: Database, found: number): Promise<MigrationPlan['pending']> {
  const done: { version: number; name: string; milliseconds: number }[] = []
  try {
    await db.transaction().execute(async (tx: Kysely<Schema>) => {
      if (engine === 'postgres') await sql`create schema if not exists gatehouse`.execute(tx)
      for (const [index, migration] of MIGRATIONS.entries()) {
        if (index < found) continue
        const start = performance.now()
        await migration.up(tx)
        done.push({ version: index + 1, name: migration.name, milliseconds: Math.round(performance.now() - start) })
      }
      throw new Rehearsed()
    })
  } catch (error) {
    if (!(error instanceof Rehearsed)) throw error
  }
  return done
}
