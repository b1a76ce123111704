/** The copy of the audit log that queries read: of the rows that both have, it says what the log says. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import type { Config } from '../../config.ts'
import type { Database } from '../../store/database.ts'
import { sql } from '../../store/kysely.ts'
import type { AuditRow } from '../../store/schema.ts'
import { type Finding, fault, ok } from './finding.ts'

export async function examineAuditCopy(config: Config, database: Database): Promise<Finding[]> {
  const copy = config.databaseUrl === '' ? inSqlite(config.data) : await inPostgres(database)
  if (copy === undefined) return []
  try {
    const { rows, different } = await compare(copy, database)
    const [first] = different
    if (first === undefined)
      return rows === 0 ? [] : [ok('audit.copy', `Queries see the audit log as it is (${rows} rows)`)]
    return [
      fault(
        'audit.copy_differs',
        `Queries do not see the audit log as it is: ${different.length} rows of the copy differ, the first is ${first}`,
        `Find out who can write to the query database, then delete every row of ${copy.table}: the next query of auditlog copies the log anew.`,
      ),
    ]
  } finally {
    copy.close()
  }
}

interface Copy {
  readonly table: string
  /** With times as the log has them. */
  read(after: number): Promise<readonly AuditRow[]>
  close(): void
}

const ROWS_AT_ONCE = 2_000

function inSqlite(folder: string): Copy | undefined {
  const file = join(folder, 'query.db')
  if (!existsSync(file)) return undefined
  const database = new SqliteDatabase(file, { readonly: true, timeout: 5_000 })
  const isThere = database.prepare("select 1 from sqlite_schema where name = '_gh_auditlog'").get() !== undefined
  const rows = isThere
    ? database.prepare<[number, number], AuditRow>(
        `select seq, at / 1000 as at, event, outcome, actor, client, target, address, request_id, node, details, hash
          from _gh_auditlog where seq > ? order by seq limit ?`,
      )
    : undefined
  return {
    table: `_gh_auditlog in ${file}`,
    read: async (after) => rows?.all(after, ROWS_AT_ONCE) ?? [],
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
        from ${sql.table(table)} where seq > ${after} order by seq limit ${ROWS_AT_ONCE}`.execute(db)
      return rows
    },
    close() {},
  }
}

/** The copy may end before the log does, and still hold what the log has pruned: it is brought up to date when it is next read. */
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
    const logged = new Map(log.map((row) => [row.seq, told(row)]))
    const seen = new Map(copied.map((row) => [row.seq, told(row)]))
    for (const seq of new Set([...logged.keys(), ...seen.keys()]))
      if (seq >= (oldest?.seq ?? 0) && logged.get(seq) !== seen.get(seq)) different.push(seq)
    rows += copied.length
    after = last.seq
  }
}

function told({ seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash }: AuditRow) {
  return JSON.stringify([seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash])
}
