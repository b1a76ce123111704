/** Dumps our PostgreSQL schemas from one snapshot: the layout, and each table as one JSON object per line. */
import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { type PostgresPlace, withConnection } from '../database/servers/one-connection.ts'
import { type BackupFile, describeFile } from './manifest.ts'
import { readLayout, type TableLayout } from './postgres-layout.ts'

export const LAYOUT_FILE = 'postgres.json'
const ROWS_AT_ONCE = 1_000

export function dumpPostgres(place: PostgresPlace, folder: string): Promise<BackupFile[]> {
  return withConnection(place, { application_name: 'gatehouse backup' }, async (client) => {
    // One snapshot for all tables, so that the dump is consistent.
    await client.query('begin transaction isolation level repeatable read read only')
    await client.query("set local search_path = ''; set local timezone = 'UTC'; set local extra_float_digits = 1")
    const layout = await readLayout(client)
    await writeFile(join(folder, LAYOUT_FILE), `${JSON.stringify(layout, null, 2)}\n`, { mode: 0o600 })
    const files = [await describeFile(folder, LAYOUT_FILE)]
    for (const table of layout.tables) files.push(await dumpTable(client, table, folder))
    await client.query('commit')
    return files
  })
}

export function tableFile({ schema, name }: Pick<TableLayout, 'schema' | 'name'>): string {
  return `${encodeURIComponent(schema)}.${encodeURIComponent(name)}.ndjson.gz`
}

/** PostgreSQL itself writes the JSON and reads it on restore, so no value passes through a JavaScript number. */
async function dumpTable(client: pg.ClientBase, table: TableLayout, folder: string): Promise<BackupFile> {
  const { schema, name, columns } = table
  const qualified = `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)}`
  await client.query(
    `declare dump no scroll cursor for
     select row_to_json(r)::text as line from (select ${columns.join(', ')} from ${qualified}) r`,
  )
  let rows = 0
  async function* lines(): AsyncGenerator<string> {
    for (;;) {
      const batch = await client.query<{ line: string }>(`fetch ${ROWS_AT_ONCE} from dump`)
      if (batch.rows.length === 0) return
      rows += batch.rows.length
      yield batch.rows.map(({ line }) => `${line.replaceAll('\n', ' ')}\n`).join('')
    }
  }
  const file = tableFile(table)
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(join(folder, file), { mode: 0o600 }))
  await client.query('close dump')
  return describeFile(folder, file, rows)
}
