/** Run by scripts/test.ts before the tests: makes the databases and data folders that their servers start from. Since it loads the server, the compile
 *  cache has the server when the first tests load it: each of them would compile it otherwise, where nobody has worked before. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../packages/server/src/store/database/database.ts'
import { startTestServer } from '../test/support/server.ts'
import { makeTemplates } from '../test/support/sqlite-template.ts'

/** The URL of an empty database, and a folder for the templates of SQLite, if they are wanted. */
const [url = '', folder] = process.argv.slice(2)

const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-template-'))
await (await openDatabase({ dataFolder, url })).close()
await rm(dataFolder, { recursive: true })
if (folder !== undefined)
  await makeTemplates(folder, async (place, flags) => {
    const server = await startTestServer(
      { engine: 'sqlite', dataFolder: place, databaseUrl: '' },
      { flags, isFirstStart: true },
    )
    await server.stop()
  })
