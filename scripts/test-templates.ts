/** Run by scripts/test.ts before the tests: makes the databases and data folders that their servers start from. Since it loads the server, the compile
 *  cache has the server when the first tests load it: each of them would compile it otherwise, where nobody has worked before. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { openDatabase } from '../packages/server/src/store/database/database.ts'
import { startTestServer } from '../test/support/server.ts'
import { makeTemplates } from '../test/support/sqlite-template.ts'
import { until } from '../test/support/until.ts'

/** The URL of an empty database, and a folder for the templates of SQLite, if they are wanted. */
const [url = '', folder] = process.argv.slice(2)

const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-template-'))
await (await openDatabase({ dataFolder, url })).close()
await rm(dataFolder, { recursive: true })
if (folder !== undefined) await makeTemplates(folder, startOnce)

async function startOnce(dataFolder: string, flags: Readonly<Record<string, string>>): Promise<void> {
  const server = await startTestServer({ engine: 'sqlite', dataFolder, databaseUrl: '' }, { flags, isFirstStart: true })
  // Otherwise the servers of all tests would build them.
  if (flags['--demo'] === 'true') await until('the views are built', 60_000, () => areViewsBuilt(dataFolder))
  await server.stop()
}

function areViewsBuilt(dataFolder: string): boolean {
  const database = new Sqlite(join(dataFolder, 'query.db'), { readonly: true })
  try {
    const count = 'SELECT count(*) AS waiting FROM _gh_views WHERE built = 0'
    const [row] = database.prepare<[], { waiting: number }>(count).all()
    return row?.waiting === 0
  } finally {
    database.close()
  }
}
