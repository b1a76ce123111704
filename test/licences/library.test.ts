/** Licences in the client library: what callers have, labels of results, live queries and feeds, and what is refused. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, getToken, LicenceNeeded, name } from '../../packages/client/src/index.ts'
import { onSqlite } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { follow, publish } from './feeds/feed-licences.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const SECONDS = 1
const DECLARED = `
feeds:
  - { name: Trades, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
  - { name: Closed, read: Platform/Market, write: Platform/Market }
agreements:
  - { id: terms, version: "1", title: Terms, text: { en: Read me. }, asks_status: true }
products:
  - { name: LATE, delay: ${SECONDS} seconds, default: delayed, trial: 30 days, covers: [{ feed: Trades }, { table: ticks, column: venue, values: [A] }] }
  - { name: NONE, covers: [{ table: ticks, column: venue, values: [B] }, { feed: Closed }] }
  - { name: ASKS, agreement: terms, simultaneous: 2, covers: [{ table: signed }] }
entitlements:
  - { product: LATE, user: admin, access: realtime }
  - { product: ASKS, user: alice, access: realtime }
  - { product: LATE, client: handler, access: realtime, kind: exempt }
  - { product: NONE, client: handler, access: realtime, kind: exempt }
`

onSqlite('the client library on a server with products', (place) => {
  let server: LicenceServer
  let gate: Gatehouse
  let admin: Gatehouse
  before(async () => {
    server = await startLicenceServer(place(), DECLARED)
    gate = new Gatehouse(server.issuer, { auth: getToken(async () => server.alice) })
    admin = new Gatehouse(server.issuer, { auth: getToken(async () => server.admin) })
    for (const table of ['ticks', 'signed'])
      await admin.query`CREATE TABLE ${name(table)} (id Integer PRIMARY KEY, venue Text NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`
    await until('the copy of the new table has a time', 20_000, () =>
      gate.query`SELECT id FROM ticks`.result().then(
        ({ licences }) => licences.some(({ asOf }) => asOf !== undefined),
        () => false,
      ),
    )
    const program = new Gatehouse(server.issuer, { auth: getToken(async () => server.handler) })
    await program.query`INSERT INTO ticks (id, venue) VALUES (1, 'A'), (2, 'B')`
    program.close()
  })
  after(async () => {
    gate?.close()
    admin?.close()
    await server?.stop()
  })

  test('results, batches and live queries say what is delayed and left out', async () => {
    const page = await gate.query<{ id: number }>`SELECT id FROM ticks`.result()
    const [late, none] = page.licences
    assert.deepEqual(
      { ...late, asOf: undefined },
      {
        ...{ product: 'LATE', table: 'ticks', access: 'delayed', delay: SECONDS, asOf: undefined },
        ...{ column: 'venue', values: ['A'] },
      },
    )
    assert.ok(Date.parse(late?.asOf ?? '') <= Date.now() - SECONDS * 1_000)
    assert.deepEqual([none?.product, none?.access, none?.values], ['NONE', 'none', ['B']])
    const batches = await gate.query`SELECT id FROM ticks`.batches()
    assert.deepEqual(
      batches.licences.map(({ product }) => product),
      ['LATE', 'NONE'],
    )
    await batches.return()
    assert.deepEqual((await admin.query`SELECT 1 AS one`.result()).licences, [])
    const live = gate.live<{ id: number }>`SELECT id FROM ticks`
    await live.ready()
    assert.deepEqual(live.licences.map(({ access }) => access).sort(), ['delayed', 'none'])
    await until('the row is old enough', SECONDS * 1_000 + 3_000, () => live.rows.length === 1)
    assert.ok(Date.parse(live.asOf ?? '') <= Date.now() - SECONDS * 1_000)
    live.close()
  })

  test('feeds: messages, subscriptions and what is kept have their delay, and tell when it changes', async () => {
    const prices = gate.feed<number>('Trades').subscribe('A')
    await prices.ready()
    assert.equal(prices.delay, SECONDS)
    await publish(server, 'Trades', 'A', 1)
    for await (const { data, delay } of prices) {
      assert.deepEqual([data, delay], [1, SECONDS])
      break
    }
    assert.equal((await gate.feed('Trades').latest('A'))?.delay, SECONDS)
    assert.equal((await admin.feed('Trades').latest('A'))?.delay, undefined)
    const pattern = gate.feed('Trades').subscribe('*')
    await pattern.ready()
    assert.deepEqual(pattern.licences, [{ product: 'LATE', feed: 'Trades', access: 'delayed', delay: SECONDS }])
    let changes = 0
    prices.on('licence', () => changes++)
    await admin.admin.entitlements.create({ product: 'LATE', user: 'alice', access: 'realtime' })
    await until('the subscription is real-time', 2_000, () => changes === 1 && prices.delay === undefined)
    await until('so is the pattern', 2_000, () => pattern.licences.length === 0)
    await admin.admin.entitlements.delete('LATE:user:alice')
    await until('the subscription is delayed again', 2_000, () => changes === 2 && prices.delay === SECONDS)
    prices.close()
    pattern.close()
  })

  test('a pattern that resumes where nothing was missed keeps its labels', async () => {
    const trades = gate.feed<number>('Trades').subscribe('*')
    await trades.ready()
    await publish(server, 'Trades', 'B', 1)
    for await (const { topic } of trades) if (topic === 'B') break
    const { licences } = trades
    trades.close()
    const resumed = gate.feed('Trades').subscribe('*', { resume: trades.position })
    let changes = 0
    resumed.on('licence', () => changes++)
    const recovered = new Promise<void>((resolve) => resumed.on('recovered', resolve))
    await resumed.ready()
    await recovered
    assert.deepEqual(resumed.licences, licences)
    assert.deepEqual([resumed.licences.length, resumed.delay, changes], [1, SECONDS, 0])
    resumed.close()
  })

  test('who has no licence gets LicenceNeeded, over HTTP and on streams, and not a demand for a better sign-in', async () => {
    const isNeeded = (products: readonly string[], reason: string) => (error: unknown) => {
      assert.ok(error instanceof LicenceNeeded, String(error))
      assert.deepEqual([error.code, error.products, error.reason], ['Licence.Needed', products, reason])
      return true
    }
    await assert.rejects(gate.query`SELECT id FROM signed`.rows(), isNeeded(['ASKS'], 'agreement'))
    await assert.rejects(gate.live`SELECT id FROM signed`.ready(), isNeeded(['ASKS'], 'agreement'))
    await assert.rejects(gate.feed('Closed').subscribe('A').ready(), isNeeded(['NONE'], 'none'))
    await assert.rejects(gate.feed('Closed').latest('A'), isNeeded(['NONE'], 'none'))
    const raw = await follow(server)
    assert.equal(await raw.refused('Closed', 'A'), 'Authority licence=NONE reason=none')
  })

  test('people list what they have, accept agreements and begin trials', async () => {
    const find = async (product: string) => (await gate.licences.list()).find((each) => each.product === product)
    assert.deepEqual(await find('ASKS'), {
      ...{ product: 'ASKS', access: 'none', reason: 'agreement' },
      agreement: {
        ...{ id: 'terms', version: '1', title: 'Terms', asksStatus: true, accepted: false },
        url: `${server.issuer}/licences/agreements/terms`,
      },
    })
    const { version, text } = await gate.licences.agreement('terms')
    assert.equal(text, 'Read me.')
    await gate.licences.accept('terms', version, { professional: false })
    assert.equal((await find('ASKS'))?.access, 'realtime')
    assert.deepEqual(await gate.query`SELECT id FROM signed`.rows(), [])
    await gate.licences.beginTrial('LATE')
    assert.equal((await find('LATE'))?.reason, 'trial')
  })

  test('administrators see places and usage, and free what was licensed only on purpose', async () => {
    const places = await Array.fromAsync(admin.admin.places.list({ product: 'ASKS' }))
    assert.deepEqual(
      places.map(({ product, username, access }) => [product, username, access]),
      [['ASKS', 'alice', 'realtime']],
    )
    assert.deepEqual(await Array.fromAsync(admin.admin.places.list({ product: 'ASKS', user: 'admin' })), [])
    const { rows } = await admin.admin.usage(new Date().toISOString().slice(0, 7), { product: 'ASKS' })
    assert.deepEqual(
      rows.map(({ access, status, units }) => [access, status, units]),
      [['realtime', 'non_professional', 1]],
    )
    await assert.rejects(admin.admin.products.delete('ASKS'), { status: 409 })
    await admin.admin.products.update('ASKS', { covers: [] }, { search: { free: true } })
    await admin.admin.products.delete('ASKS')
  })
})
