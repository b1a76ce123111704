/** Watches of agents in the query database: when they end. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WatchStore } from '../../packages/server/src/mcp/watches/watch-store.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query/query-server.ts'
import { onEveryEngine } from '../support/engines.ts'

const MINUTE = 60_000

onEveryEngine('the store of watches', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  test('a watch ends an hour after its last use: reading it, or listening to it, is one', async () => {
    let time = Date.parse('2026-11-19T10:00:00Z')
    const store = new WatchStore(
      server.service.watches,
      () => time,
      (error) => assert.fail(String(error)),
    )
    const { admin: principal } = CALLERS
    assert.ok(principal !== undefined)
    const watched = { kind: 'statement', statement: 'SELECT 1 AS one', parameters: {}, columns: [] } as const
    const { id, since } = await store.create(principal, watched, 'a-position')
    for (let count = 0; count < 3; count++) {
      time += 50 * MINUTE
      const watch = await store.find(id, principal)
      assert.deepEqual([watch.watched, watch.position(since)], [watched, 'a-position'])
    }
    time += 61 * MINUTE
    await assert.rejects(store.find(id, principal), { code: 'mcp.no_watch' })
    store.close()
  })
})
