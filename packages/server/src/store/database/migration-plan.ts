/** Lists the migrations that a database still needs, and can run them in a transaction that is rolled back. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import {
  createVersionTable,
  currentVersion,
  type Database,
  type DataLocation,
  openUnmigrated,
  runMigrations,
  SchemaTooNew,
} from './database.ts'
import { MIGRATIONS } from './migrations.ts'
import { noDatabaseIn, noTablesIn } from './unfit-database.ts'

export interface MigrationPlan {
  /** The schema version of the database; 0 when it is empty. */
  readonly found: number
  readonly known: number
  /** The file or URL without credentials. */
  readonly location: string
  readonly pending: readonly { readonly version: number; readonly name: string; readonly milliseconds?: number }[]
}

export interface PlanOptions extends DataLocation {
  /** Run them on the real data and roll back. */
  readonly dryRun: boolean
  /** Whether the database may be missing. */
  readonly mayCreate: boolean
}

export async function planMigrations({ dataFolder, url, dryRun, mayCreate }: PlanOptions): Promise<MigrationPlan> {
  const file = join(dataFolder, 'identity.db')
  if (url === '' && !existsSync(file)) {
    if (!mayCreate) throw noDatabaseIn(dataFolder)
    return { found: 0, known: MIGRATIONS.length, location: file, pending: named(0) }
  }
  const database = openUnmigrated({ dataFolder, url })
  try {
    const found = await schemaVersion(database)
    if (found === 0 && !mayCreate) throw noTablesIn(database.location)
    if (found > MIGRATIONS.length) throw new SchemaTooNew(found, MIGRATIONS.length, database.location)
    const pending = named(found)
    return {
      found,
      known: MIGRATIONS.length,
      location: database.location,
      pending: dryRun && pending.length > 0 ? await runAndRollBack(database, found) : pending,
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
  return (rows[0]?.found ?? 0) === 0 ? 0 : currentVersion(db)
}

class RollBack extends Error {}

async function runAndRollBack({ db, engine, location }: Database, found: number): Promise<MigrationPlan['pending']> {
  let done: MigrationPlan['pending'] = []
  try {
    await db.transaction().execute(async (tx) => {
      await createVersionTable(tx, engine)
      done = await runMigrations(tx, found, location)
      throw new RollBack()
    })
  } catch (error) {
    if (!(error instanceof RollBack)) throw error
  }
  return done
}
