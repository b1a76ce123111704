/** Restores the schemas of a backup into a PostgreSQL database that has none of them, in one transaction. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import type pg from 'pg'
import { POSTGRES_SCHEMA } from '../database/database.ts'
import { withoutCredentials } from '../database/servers/addresses.ts'
import { type PostgresPlace, withConnection } from '../database/servers/one-connection.ts'
import { BadBackup } from './manifest.ts'
import { LAYOUT_FILE, tableFile } from './postgres-dump.ts'
import type { Layout, TableLayout } from './postgres-layout.ts'
import { DELIVERIES, dropWaiting } from './restored-deliveries.ts'

const ROWS_AT_ONCE = 1_000

export async function loadPostgres(place: PostgresPlace, folder: string): Promise<void> {
  const layout: Layout = JSON.parse(await readFile(join(folder, LAYOUT_FILE), 'utf8'))
  await withConnection(place, { application_name: 'gatehouse restore' }, async (client) => {
    await client.query('begin')
    await client.query("set local search_path = ''; set local timezone = 'UTC'")
    await refuseOccupied(client, layout, withoutCredentials(place.url))
    for (const schema of layout.schemas)
      await client.query(`create schema if not exists ${client.escapeIdentifier(schema)}`)
    for (const { create } of layout.sequences) if (create !== '') await client.query(create)
    for (const table of layout.tables) {
      await client.query(table.create)
      // What waited then was sent or given up since, and its links may be void.
      if (table.schema !== POSTGRES_SCHEMA || table.name !== 'mail_queue') await loadTable(client, table, folder)
    }
    for (const table of layout.tables) for (const statement of table.after) await client.query(statement)
    for (const table of layout.tables)
      if (table.name === DELIVERIES) await client.query(dropWaiting(qualify(client, table), '$1'), [Date.now()])
    for (const { set } of layout.sequences) if (set !== '') await client.query(set)
    await client.query('commit')
  })
}

async function refuseOccupied(client: pg.ClientBase, { schemas }: Layout, location: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = any($1) limit 1`,
    [schemas],
  )
  const [table] = rows
  if (table !== undefined)
    throw new BadBackup(
      `The database ${location} is not empty (it has ${table.name}): name an empty one with --database-url or GATEHOUSE_DATABASE_URL. To replace what is in this one, drop its schemas ${schemas.join(', ')} first; what they contain is lost`,
    )
}

async function loadTable(client: pg.ClientBase, table: TableLayout, folder: string): Promise<void> {
  const qualified = qualify(client, table)
  const columns = table.columns.join(', ')
  const insert = `insert into ${qualified} (${columns}) overriding system value
    select ${columns} from json_populate_recordset(null::${qualified}, $1::json)`
  let batch: string[] = []
  for await (const line of readLines(join(folder, tableFile(table)))) {
    batch.push(line)
    if (batch.length < ROWS_AT_ONCE) continue
    await client.query(insert, [`[${batch.join(',')}]`])
    batch = []
  }
  if (batch.length > 0) await client.query(insert, [`[${batch.join(',')}]`])
}

function qualify(client: pg.ClientBase, { schema, name }: TableLayout): string {
  return `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)}`
}

/** Not readline, which treats U+2028 inside a string as a line break. */
async function* readLines(file: string): AsyncGenerator<string> {
  let rest = ''
  const text = createReadStream(file).pipe(createGunzip()).setEncoding('utf8')
  for await (const chunk of text) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
