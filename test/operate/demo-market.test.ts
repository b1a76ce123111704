/** The market of the demonstration: it trades through the query service, pushes prices, and keeps its tables small. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { DEMO } from '../../packages/server/src/declarative/demo.ts'
import { tradedInstruments } from '../../packages/server/src/declarative/demo-market.ts'
import { createWalk } from '../../packages/server/src/declarative/demo-walk.ts'
import { findDeclared } from '../../packages/server/src/declarative/reconcile.ts'
import { createDemoMarket, type MarketOptions, startMarket } from '../../packages/server/src/demo/market.ts'
import type { Price } from '../../packages/server/src/demo/ticker.ts'
import { TABLES } from '../../packages/server/src/resources/tables.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { queryProcesses } from '../query/query-processes.ts'
import { type QueryServer, startQueryServer } from '../query/query-server.ts'
import { signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000

test('the walk is repeatable, quotes have a bid below the ask, and trades are inside them', () => {
  const walks = [7, 7, 8].map((seed) => createWalk(tradedInstruments(), seed))
  const [first = [], second = [], third = []] = walks.map((walk) => Array.from({ length: 5_000 }, () => walk.next()))
  assert.deepEqual(first, second)
  assert.notDeepEqual(first, third)
  const openings = new Map(tradedInstruments().map(({ symbol, opening }) => [symbol, opening / 100]))
  for (const { quote, trade } of first) {
    const [bid, ask, opening = 0] = [Number(quote.bid), Number(quote.ask), openings.get(quote.symbol)]
    assert.ok(0 < bid && bid < ask, JSON.stringify(quote))
    assert.ok(Math.abs(bid / opening - 1) < 0.25 && ask / bid < 1.05, JSON.stringify(quote))
    if (trade === undefined) continue
    assert.ok(bid <= Number(trade.price) && Number(trade.price) <= ask, JSON.stringify({ quote, trade }))
    assert.ok(trade.symbol === quote.symbol && trade.quantity > 0)
  }
  assert.ok(first.filter(({ trade }) => trade !== undefined).length > 2_000)
})

test('nothing is traded without the demonstration, when it is off, or in tables of a file', async () => {
  const declared = await findDeclared({ config: '', demo: true })
  assert.ok(declared)
  const market = (flags: Record<string, string>, from = declared) =>
    createDemoMarket(loadConfig({ flags }).config, from)
  assert.ok((await market({ '--demo': 'true' })) !== undefined)
  assert.equal(await market({}), undefined)
  assert.equal(await market({ '--demo': 'true', '--demo-market': 'false' }), undefined)
  assert.equal(await market({ '--demo': 'true', '--services': 'identity,streaming' }), undefined)
  const rows = new Map([...declared.rows].filter(([name]) => name !== 'trades'))
  assert.equal(await market({ '--demo': 'true' }, { ...declared, rows }), undefined)
})

test('a demonstration server trades, pushes prices on the feed Ticker, and stops cleanly', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const flags = { '--demo': 'true', '--demo-market': 'true', '--stream-drain-time': '0.1' }
  const server = await startTestServer(place, { flags })
  const { access_token: token } = await signIn(server)
  const query = async (statement: string): Promise<Record<string, unknown>[]> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`http://127.0.0.1:${server.port}/query`, { method: 'POST', headers, body: statement })
    assert.equal(reply.status, 200)
    return ((await reply.json()) as { Rows: Record<string, unknown>[] }).Rows
  }
  const client = await connect(server.port, { headers: { authorization: `Bearer ${token}` } })
  assert.deepEqual((await client.request({ Topic: 'Feeds', Action: 'Sub' })).Data, [
    { Name: 'Ticker', Class: 'Controller', Status: 'Up' },
  ])
  const symbols = tradedInstruments().map(({ symbol }) => symbol)
  client.send({ Controller: 'Ticker', Topic: 'Price/*', Action: 'Sub' })
  const seen = new Set<string>()
  // One message for the price of each symbol, then those of three moves.
  while (seen.size < symbols.length + 3) {
    const { Topic: topic, Data } = await client.next()
    const { Bid, Ask, Symbol: symbol, Time } = Data as Price
    assert.ok(topic === `Price/${symbol}` && Bid < Ask, `${symbol} ${Bid} ${Ask}`)
    seen.add(`${symbol} ${Time}`)
  }
  await until('it trades', LATE_MS, async () => (await query('select id from trades where id > 4001')).length > 0)
  const outside = `select t.id from trades t join quotes q on q.symbol = t.symbol and q.quoted_at = t.executed_at
    where t.id > 4000 and (t.price < q.bid or t.price > q.ask)`
  assert.deepEqual(await query(outside), [])
  await server.stop()
  const warnings = server.log.map((line) => JSON.parse(line)).filter(({ level }) => !['info', 'debug'].includes(level))
  assert.deepEqual(warnings, [])
})

describe('a market on the query service', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let server: QueryServer
  const log: string[] = []
  before(async () => {
    ;({ place, leave } = await openPlace('sqlite'))
    server = await startQueryServer(place)
    await createTables(server)
  })
  after(async () => {
    await server.stop()
    await leave()
  })

  test('old trades and quotes are deleted', async () => {
    const market = startMarket({ ...optionsFor(server, log), kept: 5 })
    await until('it made 20 trades', LATE_MS, async () => (await lastId(server)) >= 20)
    await market.stop()
    assert.deepEqual(await queryProcesses(), [], 'neither its reads nor its deletions need a process')
    const { json } = await server.query('select count(*) as n, min(id) as least, max(id) as most from trades')
    const { n, least, most } = json.Rows[0] ?? {}
    assert.ok(Number(n) <= 10 && Number(most) - Number(least) < 10, JSON.stringify(json.Rows))
    const { json: quotes } = await server.query('select min(quoted_at) as least from quotes')
    assert.ok(Number(n) > 0 && quotes.Rows[0]?.least !== null)
    const stopped = await lastId(server)
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(await lastId(server), stopped)
  })

  test('of two nodes one trades and publishes prices; the other takes over when it is gone', async () => {
    const prices: Record<'first' | 'second', Price[]> = { first: [], second: [] }
    const publish = (list: Price[]) => async (added: readonly Price[]) => void list.push(...added)
    const first = startMarket({ ...optionsFor(server, log), publish: publish(prices.first) })
    const before = await lastId(server)
    await until('the first trades', LATE_MS, async () => (await lastId(server)) > before + 3)
    const second = startMarket({ ...optionsFor(server, log), publish: publish(prices.second) })
    const between = await lastId(server)
    await until('the first goes on', LATE_MS, async () => (await lastId(server)) > between + 3)
    assert.deepEqual([prices.first.length > 3, prices.second], [true, []])
    await first.stop()
    const left = await lastId(server)
    await until('the second trades', LATE_MS, async () => (await lastId(server)) > left + 3)
    await second.stop()
    assert.ok(prices.second.length > 3)
  })

  test('a trade that another user inserts with the next id delays it, and a dropped table is one line in the log', async () => {
    const market = startMarket(optionsFor(server, log))
    const before = await lastId(server)
    await until('it trades', LATE_MS, async () => (await lastId(server)) > before)
    const row = { symbol: 'ACME', side: 'Buy', quantity: 1, price: '1.0000', executed_at: '2026-01-05T09:00:00Z' }
    for (let ahead = 1; ahead <= 3; ahead++) {
      const id = (await lastId(server)) + ahead
      const { status } = await server.call('/query/trades/insert', { id, ...row })
      assert.ok(status === 200 || status === 409, `${status}`)
    }
    const taken = await lastId(server)
    await until('it goes on', LATE_MS, async () => (await lastId(server)) > taken)
    assert.deepEqual(log, [])
    assert.equal((await server.query('drop table trades')).status, 200)
    await until('it says so', LATE_MS, () => log.length > 0)
    await createTables(server, ['trades'])
    await until('it trades in the new table', LATE_MS, async () => (await lastId(server)) > 3)
    await market.stop()
    assert.equal(log.length, 1, log.join(''))
    assert.match(log[0] ?? '', /the demonstration market cannot trade/)
  })
})

test('the market is silent while the database is unavailable, and continues afterwards', async (t) => {
  const { place, leave } = await openPlace('postgres')
  const url = new URL(place.databaseUrl)
  const proxy = await startTcpProxy(url.hostname, Number(url.port || 5432))
  url.host = `127.0.0.1:${proxy.port}`
  const server = await startQueryServer({ ...place, databaseUrl: url.href })
  const log: string[] = []
  await createTables(server)
  const market = startMarket(optionsFor(server, log))
  t.after(async () => {
    await market.stop()
    await server.stop()
    await proxy.close()
    await leave()
    await stopOwnPostgres()
  })
  await until('it trades', LATE_MS, async () => (await lastId(server)) > 0)
  proxy.cut()
  await until('the outage is noticed', LATE_MS, () =>
    server.log.some((line) => /the database is not available/.test(line)),
  )
  proxy.mend()
  await until('it is answered again', LATE_MS, async () => (await server.query('select 1 as one')).status === 200)
  const before = await lastId(server)
  await until('it trades again', LATE_MS, async () => (await lastId(server)) > before)
  assert.deepEqual(log, [])
})

/** Fast and patient enough for tests. */
function optionsFor({ service }: QueryServer, log: string[]): MarketOptions {
  return {
    query: service.query,
    publish: async () => {},
    instruments: tradedInstruments(),
    clock: Date.now,
    logger: createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } }),
    seed: 1,
    intervalMs: 5,
    patienceMs: 300,
  }
}

async function createTables({ service }: QueryServer, names: readonly string[] = ['trades', 'quotes']): Promise<void> {
  for (const table of DEMO.tables ?? [])
    if (names.includes(table.name)) await service.tables.create(TABLES.toItem(table))
}

async function lastId(server: QueryServer): Promise<number> {
  const { json } = await server.query('select id from trades order by id desc limit 1')
  return Number(json.Rows?.[0]?.id ?? 0)
}
