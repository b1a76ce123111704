/** Checks the databases: reachable, undamaged, with a known schema and the same time as this machine. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import type { Config } from '../../config/config.ts'
import { type Database, openUnmigrated } from '../../store/database/database.ts'
import { schemaVersion } from '../../store/database/migration-plan.ts'
import { MIGRATIONS } from '../../store/database/migrations.ts'
import { describeMark, readMoveMark } from '../../store/database/move-mark.ts'
import { readTempFileLimit } from '../../store/database/temp-files.ts'
import { type Checked, collect, errorReason, type Finding, fault, ok, warning } from './finding.ts'

const CLOCK_TOLERANCE_MS = 2_000

export interface OpenedDatabase {
  readonly findings: readonly Finding[]
  /** Only if it is reachable and has the current schema. */
  readonly database: Database | undefined
}

export async function checkDatabase(config: Config, now: () => number): Promise<OpenedDatabase> {
  if (config.databaseUrl === '') {
    const damaged = checkFiles(config.data)
    if (damaged.length > 0) return { findings: damaged, database: undefined }
  }
  const database = openUnmigrated({ dataFolder: config.data, url: config.databaseUrl, poolSize: 2 })
  try {
    const version = await schemaVersion(database)
    const findings = collect([
      checkVersion(version, database.location),
      await checkMove(database),
      await checkClock(database, now),
      await checkTempFiles(database),
      version === MIGRATIONS.length
        ? ok('database', `The database ${database.location} is reachable and has schema ${version}`)
        : undefined,
    ])
    if (version === MIGRATIONS.length) return { findings, database }
    await database.close()
    return { findings, database: undefined }
  } catch (error) {
    await database.close()
    const unreachable = fault(
      'database.unreachable',
      `The database ${database.location} does not answer (${errorReason(error)})`,
      'Start it, or correct the address, name, user or password in GATEHOUSE_DATABASE_URL.',
    )
    return { findings: [unreachable], database: undefined }
  }
}

/** Created by a command without the URL, in an earlier version that created databases, or left from before a move to PostgreSQL. */
export function checkUnused({ data, databaseUrl }: Config): Checked {
  if (databaseUrl === '') return undefined
  const unused = ['identity.db', 'query.db', 'feeds.db'].filter((name) => existsSync(join(data, name)))
  if (unused.length === 0) return undefined
  const changed = new Date(Math.max(...unused.map((name) => statSync(join(data, name)).mtimeMs))).toISOString()
  return warning(
    'database.unused',
    `The data folder ${data} has a SQLite database (${unused.join(', ')}, last changed ${changed}), which the server does not use: GATEHOUSE_DATABASE_URL is set`,
    'If changes were made there by mistake, make them again in PostgreSQL. Then move these files away.',
  )
}

function checkFiles(folder: string): readonly Finding[] {
  if (!existsSync(join(folder, 'identity.db')))
    return [
      fault(
        'database.missing',
        `There is no identity.db in ${folder}`,
        'The first "gatehouse serve" creates it. If the folder had one before, restore a backup.',
      ),
    ]
  const databases = readdirSync(folder).filter((name) => name.endsWith('.db'))
  return collect(databases.map((name) => checkFile(join(folder, name))))
}

function checkFile(file: string): Checked {
  const fix = 'Stop the server, move the data folder away and restore the latest backup.'
  try {
    const database = new SqliteDatabase(file, { readonly: true, timeout: 5_000 })
    try {
      const verdict = database.pragma('quick_check(1)', { simple: true })
      return verdict === 'ok' ? undefined : fault('database.damaged', `${file} is damaged: ${String(verdict)}`, fix)
    } finally {
      database.close()
    }
  } catch (error) {
    return fault('database.damaged', `${file} cannot be read as a database (${errorReason(error)})`, fix)
  }
}

function checkVersion(version: number, location: string): Checked {
  if (version === 0)
    return fault(
      'database.empty',
      `The database ${location} has no Gatehouse tables`,
      'Set GATEHOUSE_DATABASE_URL or GATEHOUSE_DATA to the same value as for the server. The first "gatehouse serve" or "gatehouse migrate --create" creates them.',
    )
  if (version > MIGRATIONS.length)
    return fault(
      'database.too_new',
      `The database has schema ${version}, but the latest schema that this version knows is ${MIGRATIONS.length}`,
      'Run the newer version that wrote it, or restore the backup from before the upgrade.',
    )
  if (version < MIGRATIONS.length)
    return warning(
      'database.behind',
      `The database has schema ${version}; this version uses ${MIGRATIONS.length}`,
      'Take a backup, run "gatehouse migrate --dry-run", then start the server, which migrates.',
    )
  return undefined
}

/** A server would refuse to start. */
async function checkMove(database: Database): Promise<Checked> {
  const mark = await readMoveMark(database)
  if (mark === undefined) return undefined
  const { message, mend } = describeMark(mark, database.location)
  return fault('database.moved', message, `${mend.charAt(0).toUpperCase()}${mend.slice(1)}`)
}

/** Tokens expire by time, so nodes and database must agree on it. */
async function checkClock({ db, engine }: Database, now: () => number): Promise<Checked> {
  if (engine === 'sqlite') return undefined
  const before = now()
  const { rows } = await sql<{ at: number }>`select extract(epoch from clock_timestamp()) * 1000 as at`.execute(db)
  const middle = (before + now()) / 2
  const difference = Math.round(Number(rows[0]?.at ?? middle) - middle)
  if (Math.abs(difference) <= CLOCK_TOLERANCE_MS) return undefined
  return fault(
    'clock.differs',
    `The clocks of this machine and of the database differ by ${Math.abs(difference) / 1000} s`,
    'Run a time service (chrony, systemd-timesyncd) on both.',
  )
}

/** Without a limit one query can fill the disk of the database. */
async function checkTempFiles({ db, engine }: Database): Promise<Checked> {
  if (engine === 'sqlite') return undefined
  const { current, isSettable, user } = await readTempFileLimit(
    async (statement) => (await sql.raw(statement).execute(db)).rows,
  )
  if (isSettable || current >= 0) return undefined
  return warning(
    'database.temp_files',
    'PostgreSQL does not limit the temporary files of queries, and the user of GATEHOUSE_DATABASE_URL has no permission to set a limit',
    `As a superuser: GRANT SET ON PARAMETER temp_file_limit TO ${user} (PostgreSQL 15 and later), or ALTER ROLE ${user} SET temp_file_limit = '1GB'.`,
  )
}
