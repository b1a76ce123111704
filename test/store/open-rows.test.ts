/** Rows that anyone can cause to be stored: only the caller with the most rows loses the oldest. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { createDeviceCodes } from '../../packages/server/src/store/authorizations/device-codes.ts'
import { createInteractions } from '../../packages/server/src/store/authorizations/interactions.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

onEveryEngine('open rows', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())
  beforeEach(async () => {
    await open.database.db.deleteFrom('interactions').execute()
    await open.database.db.deleteFrom('device_codes').execute()
  })

  async function begin(address: string, browser?: string): Promise<string> {
    open.clock.advance(1)
    const origin = browser === undefined ? { address } : { address, browser }
    return (await interactions().begin({}, origin)).handle
  }
  let opened: ReturnType<typeof createInteractions<object>> | undefined
  const interactions = () => {
    opened ??= createInteractions<object>(open.database, open.clock, { browser: 3, network: 6, server: 10 })
    return opened
  }
  const alive = async (handles: readonly string[]) =>
    (await Promise.all(handles.map(async (handle) => (await interactions().find(handle)) !== undefined))).map(Number)

  test('a browser keeps its newest, and takes nothing from others in its network', async () => {
    const others = [await begin('192.0.2.1', 'other'), await begin('192.0.2.1')]
    const own = []
    for (let count = 0; count < 6; count++) own.push(await begin('192.0.2.1', 'busy'))
    assert.deepEqual(await alive(own), [0, 0, 0, 1, 1, 1])
    assert.deepEqual(await alive(others), [1, 1])
  })

  test('a network keeps its newest; an IPv6 network is one', async () => {
    const elsewhere = await begin('2001:db8:1:3::1')
    const own = []
    for (let count = 0; count < 8; count++) own.push(await begin(`2001:db8:1:2::${count}`, `browser ${count}`))
    assert.deepEqual(await alive(own), [0, 0, 1, 1, 1, 1, 1, 1])
    assert.deepEqual(await alive([elsewhere]), [1])
  })

  test('what was just begun stays, also where a clock was set back', async () => {
    for (let count = 0; count < 6; count++) await begin('192.0.2.1', 'busy')
    for (let count = 0; count < 6; count++) await begin('192.0.2.1', `browser ${count}`)
    open.clock.advance(-60_000)
    assert.deepEqual(await alive([await begin('192.0.2.1', 'busy')]), [1])
    assert.deepEqual(await alive([await begin('192.0.2.1', 'another')]), [1])
    for (let host = 2; host < 12; host++) assert.deepEqual(await alive([await begin(`192.0.2.${host}`)]), [1])
    open.clock.advance(60_000)
  })

  test('when the server is full, the networks that have most lose their oldest', async () => {
    const few = [await begin('192.0.2.1'), await begin('192.0.2.2')]
    const many: string[] = []
    for (let count = 0; count < 6; count++) many.push(await begin('192.0.2.3', `browser ${count}`))
    const some = [await begin('192.0.2.4'), await begin('192.0.2.4')]
    assert.deepEqual(await alive([...few, ...many, ...some]), Array(10).fill(1))
    const last = await begin('192.0.2.5')
    assert.deepEqual(await alive(many), [0, 1, 1, 1, 1, 1])
    assert.deepEqual(await alive([...few, ...some, last]), Array(5).fill(1))
    for (let host = 6; host < 12; host++) await begin(`192.0.2.${host}`)
    // Ten networks with one row each, and then one more.
    assert.deepEqual(await alive([...few, ...many, ...some, last]), [0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1])
  })

  test('many at once on several nodes neither fail nor wait for each other', async () => {
    const nodes = [1, 2, 3].map(() =>
      createInteractions(open.database, open.clock, { browser: 3, network: 6, server: 10 }),
    )
    const begun = Array.from({ length: 60 }, (_, index) =>
      nodes[index % 3]?.begin({}, { address: `192.0.2.${index % 2}` }),
    )
    await Promise.all(begun)
    await begin('192.0.2.9')
    const rows = await open.database.db.selectFrom('interactions').select('network').execute()
    assert.ok(rows.length <= 11, `${rows.length} rows`)
  })

  test('device codes make way too, except those that were approved', async () => {
    const codes = createDeviceCodes(open.database, open.clock, { browser: 1, network: 3, server: 10 })
    const issued = []
    for (let count = 0; count < 5; count++) {
      open.clock.advance(1)
      const request = { clientId: 'tv', scopes: [], lifetimeMs: 60_000, intervalSeconds: 5, address: '192.0.2.1' }
      issued.push(await codes.issue(request))
      const approval = { userId: 'u', sessionId: undefined, scopes: [], authTime: 0, amr: [] }
      if (count === 0) assert.ok(await codes.decide(issued[0]?.userCode ?? '', approval))
    }
    const pending = await Promise.all(issued.map(({ userCode }) => codes.findPending(userCode)))
    assert.deepEqual(
      pending.map((request) => request !== undefined),
      [false, false, true, true, true],
    )
    assert.ok(await codes.redeem(issued[0]?.deviceCode ?? ''))
  })

  test('the rows of a network are found by an index', async () => {
    // PostgreSQL reads a table of few rows as a whole.
    if (place().engine !== 'sqlite') return
    for (const table of ['interactions', 'device_codes']) {
      const plan = await sql`explain query plan select digest from ${sql.table(table)} where network = '192.0.2.1'
        order by created_at desc, digest limit 100 offset 1000`.execute(open.database.db)
      assert.match(JSON.stringify(plan.rows), new RegExp(`${table}_by_network`))
    }
  })
})
