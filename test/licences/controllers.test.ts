/** Controllers of streams that products cover: real-time access, or none. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onSqlite } from '../support/engines.ts'
import { follow } from './feeds/feed-licences.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const TICKER = new URL('../../examples/ticker', import.meta.url).pathname

const DECLARED = `
products:
  - { name: TICKS, delay: 1 minute, default: delayed, covers: [{ controller: Ticker, topics: ["Price/ACME", Symbols] }] }
entitlements:
  - { product: TICKS, user: alice, access: realtime }
`

onSqlite('covered controllers', (place) => {
  let server: LicenceServer
  before(async () => {
    process.env.TICKER_INTERVAL_MS = '20'
    server = await startLicenceServer(place(), DECLARED, { flags: { '--stream-controllers': TICKER } })
  })
  after(() => server.stop())
  const admin = (method: string, path: string, body?: unknown) =>
    server.send(method, `/admin${path}`, {
      token: server.admin,
      headers: { 'if-match': '*' },
      ...(body === undefined ? {} : { body }),
    })
  const ask = { Controller: 'Ticker', Topic: 'Symbols', TransactionID: 1 }

  test('a request and a subscription need real-time access; what no product names is refused to all', async () => {
    const [alice, robot] = [await follow(server), await follow(server, server.robot)]
    assert.ok(Array.isArray((await alice.stream.request(ask)).Data))
    assert.equal((await robot.stream.request(ask)).Data, 'Authority licence=TICKS reason=none')
    assert.equal(await robot.refused('Ticker', 'Price/ACME'), 'Authority licence=TICKS reason=none')
    assert.equal(await alice.refused('Ticker', 'Price/BOLT'), 'Authority licence= reason=uncovered')
    await alice.sub('Ticker', 'Price/ACME')
    assert.equal((await alice.next()).Topic, 'Price/ACME')
  })

  test('what is taken away ends within a second', async () => {
    const alice = await follow(server)
    await alice.sub('Ticker', 'Price/ACME')
    const begun = performance.now()
    await admin('PATCH', '/products/TICKS', { enabled: false })
    for (let message = await alice.next(); message.Action === 'Publish'; message = await alice.next())
      assert.ok(performance.now() - begun < 1_000)
    await admin('PATCH', '/products/TICKS', { enabled: true })
  })

  test('a product takes over subscriptions that are open', async () => {
    await admin('PATCH', '/products/TICKS?free=true', { covers: [{ controller: 'Other' }] })
    const robot = await follow(server, server.robot)
    await robot.sub('Ticker', 'Price/ACME')
    assert.equal((await robot.next()).Action, 'Publish')
    await admin('PATCH', '/products/TICKS?free=true', { covers: [{ controller: 'Ticker' }] })
    let message = await robot.next()
    while (message.Action === 'Publish') message = await robot.next()
    assert.equal(message.Data, 'Authority licence=TICKS reason=none')
    assert.equal((await robot.next()).Action, 'Unsub')
  })
})
