/** Everything that an installation keeps, as text: the rows and definitions of both databases, and the files of the data folder. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import type { TestPlace } from './engines.ts'

/** One line for each thing that is kept, so that a difference says what has changed. */
export async function takeSnapshot({ dataFolder, databaseUrl }: TestPlace): Promise<string[]> {
  const stored = databaseUrl === '' ? [] : await postgresLines(databaseUrl)
  return [...folderLines(dataFolder), ...stored]
}

function folderLines(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const file = join(folder, name)
      if (/-(wal|shm)$/.test(name)) return []
      const lines = name.endsWith('.db') ? sqliteLines(file) : undefined
      return (lines ?? [createHash('sha256').update(readFileSync(file)).digest('hex')]).map((line) => `${name} ${line}`)
    })
}

/** Undefined for a damaged database. */
function sqliteLines(file: string): string[] | undefined {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const objects = database
      .prepare<[], { type: string; name: string; sql: string | null }>('select type, name, sql from sqlite_schema')
      .all()
    const tables = objects.filter(({ type, sql }) => type === 'table' && !sql?.startsWith('CREATE VIRTUAL'))
    return [
      ...objects.map(({ name, sql }) => `definition ${name} ${sql}`),
      ...tables.flatMap(({ name }) =>
        database
          .prepare<[], object>(`select * from "${name}"`)
          .safeIntegers()
          .all()
          .map(
            (row) =>
              `row ${name} ${JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}` : value))}`,
          ),
      ),
    ].sort()
  } catch (error) {
    if (error instanceof SqliteDatabase.SqliteError && error.code === 'SQLITE_NOTADB') return undefined
    throw error
  } finally {
    database.close()
  }
}

async function postgresLines(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    const { rows: definitions } = await client.query<{ line: string }>(
      `select format('schema %s %s %s', nspname, nspowner::regrole, nspacl) as line from pg_namespace where nspname !~ '^pg_(toast|temp)'
       union all select format('function %s %s %s', p.oid::regprocedure, md5(case p.prokind when 'a' then p.prosrc else pg_get_functiondef(p.oid) end), p.proacl) from pg_proc p
         join pg_namespace n on n.oid = p.pronamespace where n.nspname like 'gatehouse%'
       union all select format('column %s.%s %s %s', attrelid::regclass, attname, atttypid::regtype, attnotnull) from pg_attribute
         join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = c.relnamespace where n.nspname like 'gatehouse%' and attnum > 0`,
    )
    const lines = definitions.map(({ line }) => line)
    for (const { name } of tables) {
      const { rows } = await client.query<{ line: string }>(`select row_to_json(t)::text as line from ${name} t`)
      lines.push(`table ${name}`, ...rows.map(({ line }) => `row ${name} ${line}`))
    }
    return lines.sort()
  } finally {
    await client.end()
  }
}
