/** What one subscriber or publisher of a feed must not do to the others, and what a slow subscriber must not miss. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { decode, encode } from '@msgpack/msgpack'
import { bearer } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

/** More than a connection that is not read takes. */
const [LONG, COUNT] = ['x'.repeat(60_000), 120]
/** By then the buffers of its socket are full. */
const FULL_MS = 300

onEveryEngineInLongRuns('subscribers and publishers of feeds', (place) => {
  let server: FeedServer
  before(async () => {
    server = await startFeedServer(place())
  })
  after(() => server.stop())

  const sub = (controller: string, topic: string, data?: object): Record<string, unknown> => ({
    ...{ Controller: controller, Topic: topic, Action: 'Sub', TransactionID: 1, Confirm: true },
    ...(data === undefined ? {} : { Data: data }),
  })
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const change = (feed: string, definition: object): Promise<Response> =>
    server.send('PATCH', `/admin/feeds/${feed}`, {
      token: server.admin,
      body: definition,
      headers: { 'if-match': '*' },
    })
  const purge = (feed: string): Promise<Response> =>
    server.send('POST', `/admin/feeds/${feed}/purge`, { token: server.admin })
  /** Publishes more than the socket of a subscriber takes; it is not read until `resume`. */
  const publishLong = async (feed: string, chooseTopic: (index: number) => string): Promise<void> => {
    const messages = Array.from({ length: COUNT }, (_, index) => ({
      Topic: chooseTopic(index),
      Data: `${index} ${LONG}`,
    }))
    assert.equal((await server.publish(`/feeds/${feed}`, messages)).status, 200)
  }
  const readUntil = async (
    stream: StreamClient,
    isLast: (message: Record<string, unknown>) => boolean,
  ): Promise<readonly Record<string, unknown>[]> => {
    const read: Record<string, unknown>[] = []
    do read.push(await stream.next())
    while (!isLast(read.at(-1) ?? {}))
    return read
  }

  test('data that nests as deep as allowed reaches subscribers of both sub-protocols; deeper data is refused', async () => {
    const packed = await connect(server.port, { protocols: ['PlatformMsgPack'], ...bearer(server.trader) })
    packed.send(Buffer.from(encode(sub('News', 'Deep'))))
    await packed.nextBytes()
    const stream = await server.stream()
    await stream.request(sub('News', 'Deep'))
    assert.equal((await server.send('POST', '/feeds/News/Deep', { body: nested(500) })).status, 200)
    assert.equal((await server.send('POST', '/feeds/News/Deep', { body: nested(501) })).status, 400)
    assert.ok((await stream.nextText()).endsWith(`"Data":${nested(500)}}`))
    assert.equal(Object(decode(await packed.nextBytes(), { useBigInt64: true })).Topic, 'Deep')
    stream.send(`{"Controller":"News","Topic":"Deep","TransactionID":2,"Data":${nested(100_000)}}`)
    assert.equal((await stream.next()).Data, 'Data Data')
  })

  test('a subscriber that reads slowly learns of a purge before what follows it', async () => {
    await publishLong('Prices', (index) => `Purged/${index}`)
    const stream = await server.stream()
    stream.socket.pause()
    stream.send(sub('Prices', 'Purged/*'))
    await pause(FULL_MS)
    assert.equal((await purge('Prices')).status, 204)
    await server.publish('/feeds/Prices/Purged%2F0', 'new')
    stream.socket.resume()
    const read = await readUntil(stream, ({ Data }) => Data === 'new')
    assert.ok(read.length < COUNT)
    assert.equal(read.at(-2)?.Removed, true)
  })

  test('a purge during a resumption is told as a gap', async () => {
    const { body } = await server.publish('/feeds/Orders/Purged', 'first')
    await publishLong('Orders', () => 'Purged')
    const stream = await server.stream()
    stream.socket.pause()
    stream.send(sub('Orders', 'Purged', { Resume: body.Position }))
    await pause(FULL_MS)
    assert.equal((await purge('Orders')).status, 204)
    await server.publish('/feeds/Orders/Purged', 'new')
    stream.socket.resume()
    const read = await readUntil(stream, ({ Data }) => Data === 'new')
    assert.ok(read.length < COUNT)
    assert.ok(read.some(({ Removed, Recovered }) => Removed === true || Recovered === false))
  })

  test('patterns are counted until they end, also when the definitions of feeds change', async () => {
    const stream = await server.stream()
    const most = 100
    const subscribe = async (topic: string): Promise<unknown> => (await stream.request(sub('Quotes', topic))).Action
    for (let index = 0; index < most; index++) assert.equal(await subscribe(`P${index}/*`), 'Sub')
    assert.equal((await change('News', { description: 'changed' })).status, 200)
    assert.equal(await subscribe('More/*'), 'Error')
    assert.equal((await stream.next()).Confirm, false)
    assert.equal((await change('Quotes', { read: 'Platform/Admin' })).status, 200)
    await readUntil(stream, ({ Action, Topic }) => Action === 'Unsub' && Topic === `P${most - 1}/*`)
    assert.equal((await change('Quotes', { read: 'Platform/Market' })).status, 200)
    for (let index = 0; index < most; index++) assert.equal(await subscribe(`P${index}/*`), 'Sub')
  })
})
