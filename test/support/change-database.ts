/** Runs a statement on the identity database of a test while servers use it. */
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import type { TestPlace } from './engines.ts'

export async function changeDatabase({ dataFolder, databaseUrl }: TestPlace, statement: string): Promise<void> {
  if (databaseUrl === '') {
    const database = new SqliteDatabase(join(dataFolder, 'identity.db'))
    database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=gatehouse' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
