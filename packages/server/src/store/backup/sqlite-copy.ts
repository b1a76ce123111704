/** Copies a SQLite database that is in use, and checks the integrity of the copy. */
import { chmodSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'
import { BadBackup } from './manifest.ts'

const ALL_PAGES = 0x7fff_ffff

/** Returns the number of rows in the copy. */
export async function copySqlite(from: string, to: string): Promise<number> {
  const source = new SqliteDatabase(from, { readonly: true, timeout: 5_000 })
  try {
    // All pages in one step: a write between two steps restarts the copy, which under load would never finish.
    await source.backup(to, { progress: () => ALL_PAGES })
  } finally {
    source.close()
  }
  chmodSync(to, 0o600)
  return checkSqlite(to)
}

export function checkSqlite(file: string): number {
  const copy = new SqliteDatabase(file, { fileMustExist: true })
  try {
    // Leaves a single file without a WAL.
    copy.pragma('journal_mode = delete')
    const verdict = copy.pragma('quick_check(1)', { simple: true })
    if (verdict !== 'ok') throw new BadBackup(`${file} is damaged: ${String(verdict)}`)
    return countRows(copy)
  } finally {
    copy.close()
  }
}

function countRows(database: SqliteDatabase.Database): number {
  const tables = database
    .prepare<[], { name: string }>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all()
  let rows = 0
  for (const { name } of tables) {
    const count = database
      .prepare<[], { count: number }>(`select count(*) as count from "${name.replaceAll('"', '""')}"`)
      .get()
    rows += count?.count ?? 0
  }
  return rows
}
