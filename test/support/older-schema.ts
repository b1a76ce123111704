/** Replaces the identity database of a test by an empty one of an earlier schema version. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createVersionTable, openUnmigrated } from '../../packages/server/src/store/database/database.ts'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { changeDatabase } from './change-database.ts'
import type { TestPlace } from './engines.ts'

export async function createOlderSchema(place: TestPlace, version: number): Promise<void> {
  const { dataFolder, databaseUrl, engine } = place
  if (engine === 'postgres') await changeDatabase(place, 'drop schema gatehouse cascade')
  else for (const end of ['', '-wal', '-shm']) await rm(join(dataFolder, `identity.db${end}`), { force: true })
  const { db, close } = openUnmigrated({ dataFolder, url: databaseUrl })
  await createVersionTable(db, engine)
  for (const [index, { name, up }] of MIGRATIONS.slice(0, version).entries()) {
    await up(db)
    await sql`insert into schema_version (version, name, applied_at) values (${index + 1}, ${name}, 0)`.execute(db)
  }
  await close()
}
