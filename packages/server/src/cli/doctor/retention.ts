/** Checks that nothing keeps the retention of tables from its work: the clock, and the triggers that keep closed and held rows as they are. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import type { Config } from '../../config/config.ts'
import type { Database } from '../../store/database/database.ts'
import { type Checked, type Finding, fault, ok, warning } from './finding.ts'

interface Stored {
  readonly name: string
  readonly fault: string | null
  /** Whether rows may be closed, or are held. */
  readonly guarded: number
}

interface Found {
  readonly tables: readonly Stored[]
  /** How many tables have triggers. */
  readonly withTriggers: number
  /** By the clock of the database, in milliseconds. */
  readonly now: number
}

const MAX_DIFFERENCE_MS = 60_000
const TABLES = 'select name, fault, case when held = 1 or horizon is not null then 1 else 0 end as guarded from'

export async function checkRetention(config: Config, database: Database, now: number): Promise<Checked> {
  const found = config.databaseUrl === '' ? inSqlite(config.data, now) : await inPostgres(database)
  if (found === undefined || found.tables.length === 0) return undefined
  return (
    checkClock(found, now) ?? checkTriggers(found) ?? ok('retention', `${countTables(found.tables.length)} or held`)
  )
}

function checkClock({ tables, now: theirs }: Found, now: number): Finding | undefined {
  const difference = Math.abs(theirs - now)
  if (difference > MAX_DIFFERENCE_MS)
    return fault(
      'retention.clock',
      `The clock of the database differs from that of this machine by ${Math.round(difference / 1000)} s, so that no old row is deleted`,
      'Correct the clocks; retention goes on by itself.',
    )
  const standing = tables.filter((table) => table.fault !== null)
  const [first] = standing
  if (first === undefined) return undefined
  return warning(
    'retention.stands_still',
    `Retention stands still for ${standing.length} tables, such as ${first.name}: ${first.fault}`,
    `If the clock is right now, run "gatehouse retention run ${first.name}".`,
  )
}

function checkTriggers({ tables, withTriggers }: Found): Finding | undefined {
  const guarded = tables.reduce((sum, table) => sum + Number(table.guarded), 0)
  if (withTriggers >= guarded) return undefined
  return fault(
    'retention.unguarded',
    `${countTables(guarded)} or held, and only ${withTriggers} have the triggers that refuse changes of closed and held rows`,
    'Find out who can change the schema of the query database, and restart the server, which creates them again.',
  )
}

function countTables(count: number): string {
  return count === 1 ? '1 table has a retention' : `${count} tables have a retention`
}

function inSqlite(folder: string, now: number): Found | undefined {
  const file = join(folder, 'query.db')
  if (!existsSync(file)) return undefined
  const database = new SqliteDatabase(file, { readonly: true, timeout: 5_000 })
  try {
    if (database.prepare("select 1 from sqlite_schema where name = '_gh_retention'").get() === undefined)
      return undefined
    const [withTriggers = 0] = database
      .prepare<[], number>(
        "select count(distinct tbl_name) from sqlite_schema where type = 'trigger' and name like '\\_gh\\_retention\\_of\\_%' escape '\\'",
      )
      .pluck()
      .all()
    return { tables: database.prepare<[], Stored>(`${TABLES} _gh_retention`).all(), withTriggers, now }
  } finally {
    database.close()
  }
}

async function inPostgres({ db }: Database): Promise<Found | undefined> {
  const { rows: present } = await sql<{
    place: string | null
  }>`select to_regclass('gatehouse_data._gh_retention')::text as place`.execute(db)
  if ((present[0]?.place ?? null) === null) return undefined
  const { rows: tables } = await sql.raw<Stored>(`${TABLES} gatehouse_data._gh_retention`).execute(db)
  const { rows } = await sql<{ triggers: number; now: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as now, (
      select count(distinct t.tgrelid) from pg_trigger as t join pg_proc as p on p.oid = t.tgfoid
      where p.pronamespace = 'gatehouse_data'::regnamespace and starts_with(p.proname, '_gh_retention_of_') and t.tgenabled = 'O'
    ) as triggers`.execute(db)
  return { tables, withTriggers: Number(rows[0]?.triggers ?? 0), now: Number(rows[0]?.now ?? 0) }
}
