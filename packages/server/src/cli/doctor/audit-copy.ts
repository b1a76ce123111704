/** Checks that the copy of the audit log that queries read has the same rows as the log. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import type { Config } from '../../config/config.ts'
import type { Database } from '../../store/database/database.ts'
import type { AuditRow } from '../../store/database/schema.ts'
import { type Checked, fault, ok } from './finding.ts'

export async function checkAuditCopy(config: Config, database: Database): Promise<Checked> {
  const copy = config.databaseUrl === '' ? inSqlite(config.data) : await inPostgres(database)
  if (copy === undefined) return undefined
  try {
    const { rows, different } = await compare(copy, database)
    const [first] = different
    if (first === undefined)
      return rows === 0 ? undefined : ok('audit.copy', `The query copy of the audit log matches the log (${rows} rows)`)
    return fault(
      'audit.copy_differs',
      `${different.length} rows in the query copy of the audit log differ from the log; the first is ${first}`,
      `Find out who can write to the query database, then delete all rows of ${copy.table}: the next query on auditlog copies the log again.`,
    )
  } finally {
    copy.close()
  }
}

interface Copy {
  readonly table: string
  /** With times in milliseconds, as in the log. */
  read(after: number): Promise<readonly AuditRow[]>
  close(): void
}

const BATCH_ROWS = 2_000

function inSqlite(folder: string): Copy | undefined {
  const file = join(folder, 'query.db')
  if (!existsSync(file)) return undefined
  const database = new SqliteDatabase(file, { readonly: true, timeout: 5_000 })
  const hasTable = database.prepare("select 1 from sqlite_schema where name = '_gh_auditlog'").get() !== undefined
  const rows = hasTable
    ? database.prepare<[number, number], AuditRow>(
        `select seq, at / 1000 as at, event, outcome, actor, client, target, address, request_id, node, details, hash
          from _gh_auditlog where seq > ? order by seq limit ?`,
      )
    : undefined
  return {
    table: `_gh_auditlog in ${file}`,
    read: async (after) => rows?.all(after, BATCH_ROWS) ?? [],
    close: () => database.close(),
  }
}

async function inPostgres({ db }: Database): Promise<Copy | undefined> {
  const table = 'gatehouse_data._gh_auditlog'
  const { rows: found } = await sql<{ place: string | null }>`select to_regclass(${table})::text as place`.execute(db)
  if ((found[0]?.place ?? null) === null) return undefined
  return {
    table,
    async read(after) {
      const { rows } =
        await sql<AuditRow>`select seq, (extract(epoch from at) * 1000)::bigint as at, event, outcome, actor,
          client, target, address, request_id, node, details, hash
        from ${sql.table(table)} where seq > ${after} order by seq limit ${BATCH_ROWS}`.execute(db)
      return rows
    },
    close() {},
  }
}

/** The copy may lag behind the log and contain rows that the log has pruned: the next query updates it. */
async function compare(copy: Copy, { db }: Database): Promise<{ rows: number; different: readonly number[] }> {
  let rows = 0
  const different: number[] = []
  for (let after = 0; ; ) {
    const copied = await copy.read(after)
    const last = copied.at(-1)
    if (last === undefined) return { rows, different }
    const log = await db
      .selectFrom('audit_log')
      .selectAll()
      .where('seq', '>', after)
      .where('seq', '<=', last.seq)
      .orderBy('seq')
      .execute()
    const oldest = await db.selectFrom('audit_log').select('seq').orderBy('seq').limit(1).executeTakeFirst()
    const logged = new Map(log.map((row) => [row.seq, serialize(row)]))
    const seen = new Map(copied.map((row) => [row.seq, serialize(row)]))
    for (const seq of new Set([...logged.keys(), ...seen.keys()]))
      if (seq >= (oldest?.seq ?? 0) && logged.get(seq) !== seen.get(seq)) different.push(seq)
    rows += copied.length
    after = last.seq
  }
}

function serialize(row: AuditRow): string {
  return JSON.stringify(Object.entries(row).sort())
}
