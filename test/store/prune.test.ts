/** Pruning deletes expired rows in batches. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { EXPIRING, prune } from '../../packages/server/src/store/prune.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createTestClock } from '../support/server.ts'

const DAY = 24 * 3_600_000

onEveryEngine('pruning', (place) => {
  let database: Database
  const clock = createTestClock()
  before(async () => {
    database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
  })
  after(() => database.close())

  const addCodes = (prefix: string, count: number, expiresAt: number) =>
    database.db
      .insertInto('codes')
      .values(
        Array.from({ length: count }, (_value, index) => ({
          digest: `${prefix}-${index}`,
          grant_id: 'g',
          details: '{}',
          expires_at: expiresAt,
          spent_at: null,
        })),
      )
      .execute()

  test('codes are deleted in batches, a day after they expired', async () => {
    await addCodes('old', 250, clock() - 2 * DAY)
    await addCodes('late', 3, clock() - 1000)
    await addCodes('good', 3, clock() + 60_000)
    const pruned: string[] = []
    await prune(database, {
      clock,
      node: 'n',
      auditKept: undefined,
      rowsAtOnce: 100,
      onPruned: (table, rows) => pruned.push(`${table} ${rows}`),
    })
    assert.deepEqual(pruned, ['codes 250'])
    const left = await database.db.selectFrom('codes').select('digest').execute()
    assert.equal(left.length, 6)
  })

  test('every table in the list has its column, and a session that has not ended is kept', async () => {
    await database.db
      .insertInto('sessions')
      .values([session('alive', null), session('ended', clock() - 2 * DAY)])
      .execute()
    await database.db
      .insertInto('session_clients')
      .values(['alive', 'ended'].map((id) => ({ session_id: id, client_id: 'c', created_at: 0 })))
      .execute()
    await prune(database, { clock, node: 'n', auditKept: 400 * DAY })
    const clients = await database.db.selectFrom('session_clients').select('session_id').execute()
    assert.deepEqual(clients, [{ session_id: 'alive' }])
    assert.deepEqual(await database.db.selectFrom('sessions').select('id').execute(), [{ id: 'alive' }])
    assert.ok(EXPIRING.length > 5)
  })

  function session(id: string, endedAt: number | null) {
    const common = { amr: 'pwd', browser_state: '', user_agent: '', address: '', user_id: 'u', auth_time: 0 }
    return { id, digest: id, ...common, created_at: 0, seen_at: 0, expires_at: 0, ended_at: endedAt }
  }
})
