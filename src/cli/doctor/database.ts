/** The databases: they answer, are whole, have the schema that this program knows, and share our idea of the time. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import type { Config } from '../../config.ts'
import { type Database, openUnmigrated } from '../../store/database.ts'
import { sql } from '../../store/kysely.ts'
import { MIGRATIONS } from '../../store/migrations/list.ts'
import { schemaVersion } from '../../store/rehearse.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const CLOCK_TOLERANCE_MS = 2_000

export interface OpenedDatabase {
  readonly findings: readonly Finding[]
  /** Only when it answers and has the current schema. */
  readonly database: Database | undefined
}

export async function examineDatabase(config: Config, now: () => number): Promise<OpenedDatabase> {
  if (config.databaseUrl === '') {
    const damaged = sqliteFindings(config.data)
    if (damaged.length > 0) return { findings: damaged, database: undefined }
  }
  const database = openUnmigrated({ dataFolder: config.data, url: config.databaseUrl, poolSize: 2 })
  try {
    const version = await schemaVersion(database)
    const findings = [...versionFindings(version), ...(await clockFindings(database, now))]
    if (version === MIGRATIONS.length)
      return {
        findings: [...findings, ok('database', `The database ${database.location} answers, schema ${version}`)],
        database,
      }
    await database.close()
    return { findings, database: undefined }
  } catch (error) {
    await database.close()
    return {
      findings: [
        fault(
          'database.unreachable',
          `The database ${database.location} does not answer (${reasonOf(error)})`,
          'Start it, or mend GATEHOUSE_DATABASE_URL: address, name, user, password.',
        ),
      ],
      database: undefined,
    }
  }
}

function sqliteFindings(folder: string): Finding[] {
  if (!existsSync(join(folder, 'identity.db')))
    return [
      fault(
        'database.missing',
        `There is no identity.db in ${folder}`,
        'The first "gatehouse serve" makes it; a folder that had one must be restored from a backup.',
      ),
    ]
  return readdirSync(folder)
    .filter((name) => name.endsWith('.db'))
    .flatMap((name) => damage(join(folder, name)))
}

function damage(file: string): Finding[] {
  const mend = 'Stop the server, move the data folder away and restore the latest backup.'
  try {
    const database = new SqliteDatabase(file, { readonly: true, timeout: 5_000 })
    try {
      const verdict = database.pragma('quick_check(1)', { simple: true })
      return verdict === 'ok' ? [] : [fault('database.damaged', `${file} is damaged: ${String(verdict)}`, mend)]
    } finally {
      database.close()
    }
  } catch (error) {
    return [fault('database.damaged', `${file} cannot be read as a database (${reasonOf(error)})`, mend)]
  }
}

function versionFindings(version: number): Finding[] {
  if (version > MIGRATIONS.length)
    return [
      fault(
        'database.too_new',
        `The database has schema ${version}, this program knows up to ${MIGRATIONS.length}`,
        'Run the newer gatehouse that wrote it, or restore the backup from before the upgrade.',
      ),
    ]
  if (version < MIGRATIONS.length)
    return [
      warning(
        'database.behind',
        `The database has schema ${version}, this program brings ${MIGRATIONS.length}`,
        'Take a backup, try "gatehouse migrate --dry-run", then start: the start migrates.',
      ),
    ]
  return []
}

/** Tokens are cut by time: nodes and their database must agree on it. */
async function clockFindings({ db, engine }: Database, now: () => number): Promise<Finding[]> {
  if (engine === 'sqlite') return []
  const before = now()
  const { rows } = await sql<{ at: number }>`select extract(epoch from clock_timestamp()) * 1000 as at`.execute(db)
  const middle = (before + now()) / 2
  const difference = Math.round(Number(rows[0]?.at ?? middle) - middle)
  if (Math.abs(difference) <= CLOCK_TOLERANCE_MS) return []
  return [
    fault(
      'clock.differs',
      `The clocks of this machine and of the database differ by ${Math.abs(difference) / 1000} s`,
      'Run a time service (chrony, systemd-timesyncd) on both.',
    ),
  ]
}
