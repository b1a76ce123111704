/** The demonstration: its market in real time for those who had it so, and late for a visitor, side by side. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, type LicenceLabel, name, password, type Statement, sql } from '../../packages/client/src/index.ts'
import { DEMO_LICENCES, VISITOR } from '../../packages/server/src/declarative/demo-licences.ts'
import { findDeclared } from '../../packages/server/src/declarative/reconcile.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const DELAY = 30
const NEWEST = sql`select max(quoted_at) as newest from quotes`

onSqlite('the demonstration', (place) => {
  let server: TestServer
  const gates: Gatehouse[] = []
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--demo-market': 'true' } })
  })
  after(async () => {
    for (const gate of gates) gate.close()
    await server.stop()
  })

  const open = ({ username, password: secret }: typeof ALICE): Gatehouse => {
    const gate = new Gatehouse(server.issuer, {
      auth: password({ clientId: 'demo-cli', username, password: secret }),
    })
    gates.push(gate)
    return gate
  }

  /** Processes for statements that read whole tables start with the server, and copies open when they are old enough. */
  async function readSoon<Row extends object>(gate: Gatehouse, statement: Statement) {
    let result: { readonly rows: readonly Row[]; readonly licences: readonly LicenceLabel[] } = {
      rows: [],
      licences: [],
    }
    await until('there are rows', 90_000, async () => {
      try {
        result = await gate.query<Row>`${statement}`.result()
      } catch (error) {
        const { code = '' } = error as { code?: string }
        assert.ok(['Licence.NotReady', 'Limit.Time', 'Data.Building'].includes(code), code)
      }
      return result.rows.length > 0
    })
    return result
  }

  test('alice and admin see the market in real time, by tables and by the feed, and may do all that they could', async () => {
    for (const user of [ALICE, ADMIN]) {
      const gate = open(user)
      const { rows, licences } = await readSoon<{ newest: string }>(gate, NEWEST)
      assert.deepEqual(licences, [])
      assert.ok(Date.now() - Date.parse(rows[0]?.newest ?? '') < DELAY * 1_000)
      const prices = gate.feed('Ticker').subscribe('Price/ACME')
      for await (const { delay } of prices) {
        assert.equal(delay, undefined)
        break
      }
      const [licence] = await gate.licences.list()
      assert.deepEqual([licence?.product, licence?.access, licence?.reason], ['DEMO.L1', 'realtime', 'role'])
    }
    const admin = open(ADMIN)
    await admin.query`create table mine read scope 'Platform/Market' as select symbol, bid from quotes limit 1`
    assert.equal((await admin.query`select * from mine`).length, 1)
    const quote = ['MINE', new Date().toISOString(), 1, 2, 3, 4]
    await open(ALICE)
      .query`insert into quotes (symbol, quoted_at, bid, ask, bid_size, ask_size) values (${quote[0]}, ${quote[1]}, ${quote[2]}, ${quote[3]}, ${quote[4]}, ${quote[5]})`
    await open(ALICE).query`delete from quotes where symbol = 'MINE'`
  })

  test('the visitor sees both half a minute late, and nothing before that', async () => {
    const gate = open(VISITOR)
    await readSoon(gate, sql`select symbol from quotes limit 1`)
    const { rows, licences } = await readSoon<{ newest: string }>(gate, NEWEST)
    const horizon = Date.now() - DELAY * 1_000
    assert.deepEqual(
      licences.map(({ product, table, delay }) => [product, table, delay]),
      [['DEMO.L1', 'quotes', DELAY]],
    )
    assert.ok(Date.parse(rows[0]?.newest ?? '') <= horizon)
    const prices = gate.feed<{ Time: string }>('Ticker').subscribe('Price/ACME')
    for await (const { data, delay } of prices) {
      assert.equal(delay, DELAY)
      assert.ok(Date.parse(data?.Time ?? '') <= Date.now() - DELAY * 1_000)
      break
    }
    assert.equal((await gate.query`select count(*) as n from instruments`.result()).licences.length, 0)
  })

  test('materialized views of the market are as late for the visitor as their tables', async () => {
    const gate = open(VISITOR)
    for (const view of ['bars_1h', 'bars_1m']) {
      const traded = sql`select sum(volume) as volume from ${name(view)}`
      const { rows, licences } = await readSoon<{ volume: string }>(gate, traded)
      assert.deepEqual(
        licences.map(({ product, table, delay }) => [product, table, delay]),
        [['DEMO.L1', view, DELAY]],
      )
      // In half a minute there are about sixty trades, and none of the first ten thousand is deleted.
      const now = await readSoon<{ volume: string }>(open(ALICE), traded)
      assert.deepEqual(now.licences, [])
      const [late, all] = [rows, now.rows].map(([row]) => Number(row?.volume))
      assert.ok(Number(late) > 0 && Number(late) < Number(all), `${view}: ${late} ${all}`)
    }
  })

  test('a program that somebody adds sees the market as it is', async () => {
    const headers = { authorization: `Bearer ${await open(ADMIN).auth.token()}`, 'content-type': 'application/json' }
    const made = await fetch(`${server.issuer}/admin/clients`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({
        ...{ client_id: 'mine', grant_types: ['client_credentials'], response_types: [], scope: 'Platform/Market' },
      }),
    })
    const { client_secret: secret } = (await made.json()) as { client_secret: string }
    const token = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'mine', client_secret: secret }),
    })
    const { access_token: bearer } = (await token.json()) as { access_token: string }
    const reply = await fetch(`${server.issuer}/query`, {
      ...{ method: 'POST', body: 'select symbol from quotes limit 1' },
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'text/plain; charset=utf-8' },
    })
    assert.deepEqual([reply.status, reply.headers.get('licence')], [200, null])
  })
})

test('the product is there only where the market of the demonstration trades in its own tables', async () => {
  const declared = await findDeclared({ config: '', demo: true, demoMarket: true })
  assert.deepEqual(declared?.declaration.products, DEMO_LICENCES.products)
  const still = await findDeclared({ config: '', demo: true, demoMarket: false })
  assert.equal(still?.declaration.products, undefined)
  assert.equal(still?.declaration.users?.length, 2)
  const taken = await findDeclared({ config: '', demo: true, demoMarket: true }, ['Ticker'])
  assert.equal(taken?.declaration.products, undefined)
})
