/** The PostgreSQL engine of feeds: the suite of all engines on two nodes, and what only this engine does. */
import { after } from 'node:test'
import type { FeedEngine } from '../../packages/server/src/feeds/engine.ts'
import { openPostgresFeeds } from '../../packages/server/src/feeds/postgres/engine.ts'
import { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { createTestClock } from '../support/server.ts'
import { engineSuite } from './engine-suite.ts'

after(stopOwnPostgres)

engineSuite('postgres', async () => {
  const database = await createPostgresDatabase()
  const clock = createTestClock()
  const all: DatabaseServers[] = []
  const open = async (): Promise<FeedEngine> => {
    const servers = new DatabaseServers(database.url)
    all.push(servers)
    return openPostgresFeeds({ servers, clock, sweepMs: 50, onError: (error) => console.error(error) })
  }
  return {
    engine: await open(),
    second: open,
    advance: (milliseconds) => clock.advance(milliseconds),
    async close() {
      for (const servers of all) await servers.close()
      await database.drop()
    },
  }
})
