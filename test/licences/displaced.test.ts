/** `when_full: displace`: the newer sign-in of a user has the place, and keeps it whatever else changes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import type { EventClient } from '../support/event-client.ts'
import { until } from '../support/until.ts'
import { FEEDS, type Follower, follow, publish } from './feeds/feed-licences.ts'
import { startLicenceServer } from './licence-server.ts'
import { insert, keys, type TablePlace, tablePlace } from './tables/table-licences.ts'

const DECLARED = `${FEEDS}
products:
  - name: NYSE
    simultaneous: 1
    when_full: displace
    covers: [{ feed: Prices, topics: ["NYSE/*"] }, { table: ticks, column: venue, values: [XNYS] }]
  - { name: LSE, covers: [{ feed: Prices, topics: ["LSE/*"] }, { table: ticks, column: venue, values: [XLON] }] }
entitlements:
  - { product: NYSE, user: alice, access: realtime }
  - { product: LSE, user: alice, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
`
/** A place that another displaces has ended long before. */
const LONGER_MS = 1_500

onEveryEngineInLongRuns('a place that is displaced', (at, engine) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(await startLicenceServer(at(), DECLARED))
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await place.rows(
      `CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer NOT NULL, note Text) ${scopes}`,
      place.server.admin,
    )
    await insert(place, 'ticks', 1, 'XNYS', 1)
    await insert(place, 'ticks', 2, 'XLON', 2)
  })
  after(() => place.server.stop())

  const newSignIn = async () => (await signIn(place.server)).access_token
  const newFollower = async () => follow(place.server, await newSignIn())
  /** Of alice, for the product that has one. */
  const places = async (): Promise<string[]> => {
    const { body } = await place.admin('GET', '/places?product=NYSE&user=alice')
    return body.items.map(({ session }: { session: string }) => session)
  }
  const areLeft = () => until('the places are left', 5_000, async () => (await places()).length === 0)

  /** What somebody else has: what all have is decided anew. */
  async function changeOthers(): Promise<void> {
    const given = await place.admin('POST', '/entitlements', { product: 'LSE', user: 'admin', access: 'realtime' })
    assert.equal(given.status, 201, JSON.stringify(given.body))
    const taken = await place.admin('DELETE', `/entitlements/${encodeURIComponent(given.body.id)}`)
    assert.equal(taken.status, 204, JSON.stringify(taken.body))
  }

  /** Whether the place stays with the one who has it now. */
  async function keepsPlace(): Promise<void> {
    const before = await places()
    assert.equal(before.length, 1)
    for (let changes = 0; changes < 2; changes++) {
      await changeOthers()
      await sleep(LONGER_MS)
    }
    assert.deepEqual(await places(), before)
  }

  test('a live query goes on without the displaced product, and no change gives it the place again', async () => {
    const statement = 'SELECT id FROM ticks ORDER BY id'
    const older = await place.live(statement, await newSignIn())
    assert.deepEqual(keys(await older.next()), [[1], [2]])
    const newer = await place.live(statement, await newSignIn())
    assert.deepEqual(keys(await newer.next()), [[1], [2]])
    assert.deepEqual((await older.next()).data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(keys(await older.next()), [[2]])
    await keepsPlace()
    await insert(place, 'ticks', 3, 'XNYS', 3)
    await insert(place, 'ticks', 4, 'XLON', 4)
    assert.deepEqual(await nextKeys(newer, 2), [[3], [4]])
    assert.deepEqual(await nextKeys(older, 1), [[4]])
    for (const each of [older, newer]) each.close()
    await areLeft()
  })

  test('a pattern goes on without the displaced product, and no change gives it the place again', async () => {
    const [older, newer] = [await newFollower(), await newFollower()]
    await older.sub('Prices', '*')
    await newer.sub('Prices', '*')
    const { Data, Licence } = await older.next()
    assert.equal(Data, undefined)
    assert.partialDeepStrictEqual(Licence, [{ Access: 'none' }, { Product: 'NYSE', Access: 'none' }])
    await keepsPlace()
    await publish(place.server, 'Prices', 'NYSE/IBM', 1)
    await publish(place.server, 'Prices', 'LSE/BP', 2)
    assert.deepEqual(await nextValue(newer), ['NYSE/IBM', 1])
    assert.deepEqual(await nextValue(newer), ['LSE/BP', 2])
    assert.deepEqual(await nextValue(older), ['LSE/BP', 2])
    for (const { stream } of [older, newer]) stream.socket.close()
    await areLeft()
  })

  test('while licences change all the time, a sign-in that was displaced does not displace the other', async () => {
    const token = await newSignIn()
    const older = [await follow(place.server, token), await follow(place.server, token)]
    for (const each of older) await each.sub('Prices', '*')
    const newer = await newFollower()
    let isOver = false
    const changing = (async () => {
      while (!isOver) await changeOthers()
    })()
    try {
      await newer.sub('Prices', '*')
      const before = await places()
      await sleep(LONGER_MS)
      assert.equal(before.length, 1)
      assert.deepEqual(await places(), before)
    } finally {
      isOver = true
      await changing
    }
    for (const { stream } of [...older, newer]) stream.socket.close()
    await areLeft()
  })

  test('products that cover other topics give nobody the place again', async () => {
    const [older, newer] = [await newFollower(), await newFollower()]
    await older.sub('Prices', '*')
    await newer.sub('Prices', '*')
    const before = await places()
    const added = { name: 'NEW', covers: [{ feed: 'Prices', topics: ['X'] }] }
    const created = await place.admin('POST', '/products', added)
    assert.equal(created.status, 201, JSON.stringify(created.body))
    await sleep(LONGER_MS)
    assert.deepEqual(await places(), before)
    assert.equal((await place.admin('DELETE', '/products/NEW?free=true')).status, 204)
    await sleep(LONGER_MS)
    assert.deepEqual(await places(), before)
    for (const { stream } of [older, newer]) stream.socket.close()
    await areLeft()
  })

  test('a subscription of the displaced product alone ends, and another one of its user displaces in return', async () => {
    await publish(place.server, 'Prices', 'NYSE/IBM', 1)
    const [older, newer] = [await newFollower(), await newFollower()]
    let [has, asks] = [older, newer]
    await has.sub('Prices', 'NYSE/IBM')
    assert.deepEqual(await nextValue(has), ['NYSE/IBM', 1])
    for (let turns = 0; turns < 3; turns++) {
      await asks.sub('Prices', 'NYSE/IBM')
      assert.deepEqual(await nextValue(asks), ['NYSE/IBM', 1])
      const { Action, Data } = await has.next()
      assert.deepEqual([Action, Data], ['Error', 'Authority licence=NYSE reason=displaced'])
      assert.equal((await has.next()).Action, 'Unsub')
      ;[has, asks] = [asks, has]
    }
    for (const { stream } of [older, newer]) stream.socket.close()
    await areLeft()
  })

  test('a place that is held only for the next request ends for another sign-in', async () => {
    const [older, newer] = [await newSignIn(), await newSignIn()]
    const read = async (token: string) => (await place.server.send('GET', '/feeds/Prices/NYSE/IBM', { token })).status
    const select = (token: string) => place.rows("SELECT id FROM ticks WHERE venue = 'XNYS' AND id = 1", token)
    for (const token of [older, newer, older]) {
      assert.equal(await read(token), 200)
      assert.equal((await places()).length, 1)
    }
    for (const token of [newer, older, newer]) {
      assert.deepEqual(await select(token), [[1]])
      assert.equal((await places()).length, 1)
    }
  })

  test('a sign-in whose place does not become free in time can try again', async () => {
    const body = { User: 'alice', Product: 'NYSE', Place: 'a desk', Seconds: 300 }
    const take = () => place.server.send('POST', '/licences/places', { token: place.server.handler, body })
    await until('another program has the place', 5_000, async () => (await take()).status === 201)
    const token = await newSignIn()
    const statement = "SELECT id FROM ticks WHERE venue = 'XNYS' AND id = 1"
    const waiting = await follow(place.server, token)
    // With several nodes the wait is longer than that of the client of the test for a message.
    const refusing = engine === 'sqlite' ? waiting.refused('Prices', 'NYSE/IBM') : 'Fault'
    const reply = await place.query(statement, token)
    assert.deepEqual(
      [reply.status, reply.body.Code, reply.body.Products, reply.headers.get('retry-after')],
      [503, 'Licence.Unavailable', ['NYSE'], '1'],
    )
    assert.equal(await refusing, 'Fault')
    waiting.stream.socket.close()
    assert.equal((await take()).body.Code, 'Licence.Displaced')
    assert.deepEqual(await place.rows(statement, token), [[1]])
  })
})

/** Of the rows that are put next, in order. */
async function nextKeys(live: EventClient, count: number): Promise<unknown[]> {
  const found: unknown[] = []
  while (found.length < count) {
    const event = await live.next()
    assert.equal(event.data.Kind, 'Change', JSON.stringify(event))
    const put = keys(event)
    assert.ok(Array.isArray(put), JSON.stringify(event))
    found.push(...put)
  }
  return found
}

async function nextValue(follower: Follower): Promise<unknown[]> {
  const { Topic, Data } = await follower.next()
  return [Topic, Data]
}
