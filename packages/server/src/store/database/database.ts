/** Opens the identity database, SQLite in the data folder or PostgreSQL by URL, and migrates it to the current schema. */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely, type Logger, sql } from 'kysely'
import { Availability, type AvailabilityChange } from '../../lib/availability.ts'
import { BadDataFolder } from './data-folder.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS } from './migrations.ts'
import { loadPg } from './pg.ts'
import { createPostgresDialect } from './postgres-dialect.ts'
import type { Schema } from './schema.ts'
import { withoutCredentials } from './servers/addresses.ts'
import { BRIEF_TRANSACTIONS } from './servers/client.ts'
import { DatabaseServers } from './servers/servers.ts'
import type { SharedFile } from './shared-file.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'

export type Engine = 'sqlite' | 'postgres'

export interface Database {
  readonly engine: Engine
  readonly db: Kysely<Schema>
  /** The file or URL without credentials, for banners, logs and errors. */
  readonly location: string
  /** State of the connection pool; undefined for SQLite. */
  pool(): { busy: number; idle: number; waiting: number } | undefined
  /** Rejects when the database does not respond, or nothing can be written. Leaves no rows. */
  check(): Promise<void>
  /** From now on, statements that take longer fail. Until this is called, migrations and locks may take any time. */
  limitStatements(milliseconds: number): void
  close(): Promise<void>
}

export interface DataLocation {
  readonly dataFolder: string
  /** Empty for SQLite. */
  readonly url: string
  /** Those of the URL, where several connections share what is known of them. */
  readonly servers?: DatabaseServers | undefined
}

export interface DatabaseOptions extends DataLocation {
  readonly poolSize?: number
  /** Called after every statement. */
  readonly onStatement?: ((run: StatementRun) => void) | undefined
  readonly onAvailability?: ((change: AvailabilityChange) => void) | undefined
  /** Called once the schema has changed. */
  readonly onMigrated?: ((run: MigrationRun) => void) | undefined
  /** Set for workers that share one SQLite file. */
  readonly shared?: SharedFile | undefined
}

export interface StatementRun {
  /** With placeholders; the values are not included. */
  readonly sql: string
  readonly milliseconds: number
  readonly isFailed: boolean
}

export interface MigrationRun {
  /** The schema version before; 0 for a database that was created. */
  readonly from: number
  readonly to: number
  readonly milliseconds: number
}

export const POSTGRES_SCHEMA = 'gatehouse'
const INT8 = 20
/** Nodes that start at the same time must not migrate at the same time. */
const ADVISORY_LOCK = 7_203_519_001

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = openUnmigrated(options)
  const start = performance.now()
  try {
    const from = await migrate(database)
    const milliseconds = Math.round(performance.now() - start)
    if (from < MIGRATIONS.length) options.onMigrated?.({ from, to: MIGRATIONS.length, milliseconds })
  } catch (error) {
    await database.close().catch(() => {})
    throw explainDamage(error, database.location)
  }
  return database
}

/** Does not migrate it; any schema version is accepted. */
export function openUnmigrated(options: DatabaseOptions): Database {
  const log = options.onStatement && logTo(options.onStatement)
  const availability = new Availability(options.onAvailability ?? (() => {}))
  return options.url === ''
    ? openSqlite(options, availability, log)
    : openPostgres(options, options.poolSize ?? POOL_SIZE, availability, log)
}

function logTo(onStatement: (run: StatementRun) => void): Logger {
  return ({ query: { sql }, queryDurationMillis: milliseconds, level }) =>
    onStatement({ sql, milliseconds, isFailed: level === 'error' })
}

/** The error itself, or what to do about a damaged file. */
export function explainDamage(error: unknown, location: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return ['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(code)
    ? new BadDataFolder(`The database ${location} is damaged: restore the data folder from a backup.`)
    : error
}

/** The size of a row that needs several pages. A small row might fit into the existing pages of a full file. */
export const SEVERAL_PAGES = 20_000

function openSqlite(
  { dataFolder, shared }: DatabaseOptions,
  availability: Availability,
  log: Logger | undefined,
): Database {
  const file = join(dataFolder, 'identity.db')
  // Created here with mode 600, because SQLite would make it readable for all users; its journals inherit the mode.
  closeSync(openSync(file, 'a', 0o600))
  const dialect = createSqliteDialect(file, availability, shared)
  const db = new Kysely<Schema>({ dialect, ...(log && { log }) })
  return {
    engine: 'sqlite',
    db,
    location: file,
    pool: () => undefined,
    async check() {
      dialect.checkWrites()
      await tryWrite(db, ' '.repeat(SEVERAL_PAGES))
    },
    limitStatements() {},
    close: () => db.destroy(),
  }
}

/** The connections of a node to PostgreSQL for identity. */
export const POOL_SIZE = 10

/** The time to connect, or to wait for a connection of the pool. */
const CONNECT_MS = 5_000

function openPostgres(
  { url, dataFolder, servers: shared }: DataLocation,
  poolSize: number,
  availability: Availability,
  log: Logger | undefined,
): Database {
  const pg = loadPg()
  const servers = shared ?? new DatabaseServers(url, { dataFolder })
  /** Our bigint columns hold milliseconds and counters, all below 2^53. */
  const findParser = (oid: number, format?: 'text' | 'binary'): ((value: string) => unknown) =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format === 'binary' ? 'text' : format)
  const pool = servers.createPool({
    max: poolSize,
    settings: { search_path: POSTGRES_SCHEMA, ...BRIEF_TRANSACTIONS },
    types: { getTypeParser: findParser },
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'gatehouse',
  })
  // A broken idle connection is replaced on next use; without a listener the error would end the process.
  pool.on('error', () => {})
  let deadlineMs: number | undefined
  const dialect = createPostgresDialect(pool, {
    availability,
    deadlineMs: () => deadlineMs,
    acknowledged: () => servers.acknowledged(),
  })
  const db = new Kysely<Schema>({ dialect, ...(log && { log }) })
  return {
    engine: 'postgres',
    db,
    location: withoutCredentials(url),
    pool: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    check: () => tryWrite(db),
    limitStatements(milliseconds) {
      deadlineMs = milliseconds
    },
    async close() {
      await db.destroy()
      if (shared === undefined) await servers.close()
    },
  }
}

/** A write that reaches the disk when it commits: a rollback would not notice that the disk is full. */
async function tryWrite(db: Kysely<Schema>, padding = ''): Promise<void> {
  const key = `readiness ${randomUUID()}${padding}`
  await db.transaction().execute(async (tx) => {
    await tx.insertInto('throttles').values({ key, failures: 0, until: 0, updated_at: 0 }).execute()
    await tx.deleteFrom('throttles').where('key', '=', key).execute()
  })
}

export class SchemaTooNew extends Error {
  constructor(found: number, known: number, location: string) {
    super(
      `The database ${location} has schema version ${found}, but this version supports up to ${known}: start the newer gatehouse that wrote it, or restore a backup.`,
    )
    this.name = 'SchemaTooNew'
  }
}

export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/** Returns the schema version before. */
async function migrate({ db, engine, location }: Database): Promise<number> {
  return db.transaction().execute(async (tx) => {
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCK)})`.execute(tx)
    await createVersionTable(tx, engine)
    const found = await currentVersion(tx)
    if (found > MIGRATIONS.length) throw new SchemaTooNew(found, MIGRATIONS.length, location)
    for (const { version, name, isCompatible } of await runMigrations(tx, found, location))
      await tx
        .insertInto('schema_version')
        .values({ version, name, applied_at: Date.now(), compatible: isCompatible ? 1 : 0 })
        .execute()
    return found
  })
}

/** In a database that does not have it yet. Migrations add to it. */
export async function createVersionTable(tx: Kysely<Schema>, engine: Engine): Promise<void> {
  if (engine === 'postgres') await sql`create schema if not exists gatehouse`.execute(tx)
  await tx.schema
    .createTable('schema_version')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute()
}

/**
 * For a database that has the table schema_version. Migrations of newer versions do not count where this one can live with them: a
 * version above that of this program means that it must not serve the database.
 */
export async function currentVersion(db: Kysely<Schema>): Promise<number> {
  // The column `compatible` is missing before migration 11.
  const rows: readonly { version: number; compatible?: number }[] = await db
    .selectFrom('schema_version')
    .selectAll()
    .execute()
  const versions = rows.filter(({ version, compatible }) => version <= MIGRATIONS.length || compatible !== 1)
  return Math.max(0, ...versions.map(({ version }) => version))
}

/** Runs those after the version `found` in a transaction, which a failure rolls back. */
export async function runMigrations(tx: Kysely<Schema>, found: number, location: string) {
  const done: { version: number; name: string; milliseconds: number; isCompatible: boolean }[] = []
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < found) continue
    const start = performance.now()
    await runMigration(tx, index + 1, migration, location)
    const milliseconds = Math.round(performance.now() - start)
    const { name, isCompatible = false } = migration
    done.push({ version: index + 1, name, milliseconds, isCompatible })
  }
  return done
}

async function runMigration(
  tx: Kysely<Schema>,
  version: number,
  { name, up }: Migration,
  location: string,
): Promise<void> {
  try {
    await up(tx)
  } catch (error) {
    const damage = explainDamage(error, location)
    if (damage !== error) throw damage
    const reason = error instanceof Error ? error.message : String(error)
    throw new MigrationFailed(
      `The migration ${version} (${name}) of the database ${location} failed: ${reason}. Nothing was changed. Remove the cause and try again, or run the version that was installed before, and report this.`,
      { cause: error },
    )
  }
}
