/** Opens the identity database, SQLite in the data folder or PostgreSQL by its address, migrated to this program's schema. */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'kysely'
import { BadDataFolder } from './data-folder.ts'
import { Kysely, sql } from './kysely.ts'
import { migrate } from './migrate.ts'
import { loadPg } from './pg.ts'
import { createPostgresDialect } from './postgres-dialect.ts'
import type { Schema } from './schema.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'

export type Engine = 'sqlite' | 'postgres'

export interface Database {
  readonly engine: Engine
  readonly db: Kysely<Schema>
  /** Where it is, without credentials: for banners, logs and errors. */
  readonly location: string
  /** Connections of the pool and those who wait for one; none for SQLite. */
  pool(): { busy: number; idle: number; waiting: number } | undefined
  /** Rejects when it does not answer, or takes no writes until a restart. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly dataFolder: string
  /** Empty for SQLite. */
  readonly url: string
  readonly poolSize?: number
  /** Hears of every statement after it ran. */
  readonly onStatement?: ((run: StatementRun) => void) | undefined
}

export interface StatementRun {
  /** With places for its values, which are not told. */
  readonly sql: string
  readonly milliseconds: number
  readonly isFailed: boolean
}

const POSTGRES_SCHEMA = 'gatehouse'
const INT8 = 20

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = openUnmigrated(options)
  try {
    await migrate(database)
  } catch (error) {
    await database.close().catch(() => {})
    throw isDamage(error)
      ? new BadDataFolder(`The database ${database.location} is damaged: restore the data folder from a backup.`)
      : error
  }
  return database
}

/** As it is, whatever its version: for those who look before they change. */
export function openUnmigrated(options: DatabaseOptions): Database {
  const log = options.onStatement && logTo(options.onStatement)
  return options.url === ''
    ? openSqlite(options.dataFolder, log)
    : openPostgres(options.url, options.poolSize ?? 10, log)
}

function logTo(onStatement: (run: StatementRun) => void): Logger {
  return ({ query: { sql }, queryDurationMillis: milliseconds, level }) =>
    onStatement({ sql, milliseconds, isFailed: level === 'error' })
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(String(error.code))
}

function openSqlite(dataFolder: string, log: Logger | undefined): Database {
  const file = join(dataFolder, 'identity.db')
  // Made before SQLite makes it for everybody to read; its journals take their mode from it.
  closeSync(openSync(file, 'a', 0o600))
  const dialect = createSqliteDialect(file)
  const db = new Kysely<Schema>({ dialect, ...(log && { log }) })
  return {
    engine: 'sqlite',
    db,
    location: file,
    pool: () => undefined,
    async check() {
      dialect.checkWrites()
      await answer(db)
    },
    close: () => db.destroy(),
  }
}

function openPostgres(url: string, poolSize: number, log: Logger | undefined): Database {
  const pg = loadPg()
  /** Our 64-bit columns hold milliseconds and counters, all below 2^53. */
  const parserOf = (oid: number, format?: 'text' | 'binary'): ((value: string) => unknown) =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format === 'binary' ? 'text' : format)
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    options: `-c search_path=${POSTGRES_SCHEMA}`,
    types: { getTypeParser: parserOf },
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse',
  })
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => {})
  const db = new Kysely<Schema>({ dialect: createPostgresDialect(pool), ...(log && { log }) })
  return {
    engine: 'postgres',
    db,
    location: withoutCredentials(url),
    pool: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    check: () => answer(db),
    close: () => db.destroy(),
  }
}

async function answer(db: Kysely<Schema>): Promise<void> {
  await sql`select 1`.execute(db)
}

function withoutCredentials(url: string): string {
  const address = new URL(url)
  return `${address.protocol}//${address.host}${address.pathname}`
}
