/** Subscriptions that their topic runs for each subscriber: opening, ends, authority, slow readers, shared frames. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { JsonText, type SubscriberSink } from 'gatehouse-protocol'
import { CODECS, codecFor } from '../../packages/server/src/streaming/codec/codec.ts'
import { type Controller, refuse, refuseWithProblem } from '../../packages/server/src/streaming/topics/controller.ts'
import { Hub } from '../../packages/server/src/streaming/topics/hub.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

interface Feed {
  readonly topic: string
  readonly sink: SubscriberSink<JsonText>
  /** What the connection sent to it. */
  readonly told: string[]
}

/** The topic `Own/*`: each subscription opens at once, `Own/wait…` when the test releases it, `Own/bad` never. */
function createFeeds() {
  const feeds: Feed[] = []
  const waiting: (() => void)[] = []
  const controller: Controller = {
    name: 'Feeds',
    summary: 'For tests.',
    topics: {
      'Own/*': {
        summary: 'Runs its subscriptions itself.',
        needs: 'Platform/Market',
        subscription: {
          async open({ topic }, sink) {
            if (topic === 'Own/bad') throw refuseWithProblem('Data', 'Statement', { Code: 'IQL.Syntax', Hint: 'no' })
            const told: string[] = []
            feeds.push({ topic, sink, told })
            if (topic.startsWith('Own/wait')) await new Promise<void>((resolve) => waiting.push(resolve))
            return {
              drained: () => void told.push('drained'),
              setPrincipal: ({ scopes, roles }) => void told.push(`rights ${[...scopes]} ${roles}`),
              pause: () => void told.push('pause'),
              resume: ({ tokenId }) => void told.push(`resume ${tokenId}`),
              close: () => void told.push('close'),
            }
          },
        },
      },
    },
  }
  const feed = (index = feeds.length - 1): Feed => {
    const found = feeds[index]
    assert.ok(found)
    return found
  }
  return { controller, feeds, feed, release: () => waiting.shift()?.() }
}

const own = (name: string, Action: string, more: object = {}) => ({
  Controller: 'Feeds',
  Topic: `Own/${name}`,
  Action,
  ...more,
})

async function start(t: Parameters<typeof startGateway>[0], settings = {}) {
  const { controller, ...feeds } = createFeeds()
  const server = await startGateway(t, { controllers: [controller], settings })
  const token = await server.mint.issue({ tokenId: 't1', lifetime: 50 })
  const client = await connect(server.port, { headers: { Authorization: `Bearer ${token}` } })
  return { ...server, ...feeds, client }
}

test('the confirmation comes first, then messages; a name in use is refused, and one Unsub ends it', async (t) => {
  const { client, feed, feeds } = await start(t)
  assert.deepEqual(
    await client.request(own('a', 'Sub', { Confirm: true, TransactionID: 7 })),
    own('a', 'Sub', { Confirm: true, TransactionID: 7 }),
  )
  assert.deepEqual(feed().told, ['drained'], 'told that it may send, after the confirmation')
  feed().sink.send(new JsonText('{"Price":45.1000}'))
  assert.equal(
    await client.nextText(),
    '{"Controller":"Feeds","Topic":"Own/a","Action":"Publish","Data":{"Price":45.1000}}',
  )
  assert.equal((await client.request(own('a', 'Sub'))).Data, 'Data Topic')
  assert.equal((await client.request(own('b', 'Sub', { Confirm: true }))).Confirm, true)
  await client.request(own('a', 'Unsub', { Confirm: true }))
  assert.equal(feed(0).told.at(-1), 'close')
  feed(0).sink.send(new JsonText('1'))
  feed(0).sink.end(refuse('Operation.Abort'))
  await client.expectSilence()
  await client.request(own('a', 'Sub', { Confirm: true }))
  assert.equal(feeds.length, 3)
  client.socket.close()
  await until('the connection closes what is open', 5_000, () => feeds.every(({ told }) => told.at(-1) === 'close'))
})

test('the topic cannot send until the subscription is confirmed', async (t) => {
  const { client, feeds, feed, release } = await start(t)
  client.send(own('wait', 'Sub', { Confirm: true }))
  await until('it is opening', 5_000, () => feeds.length === 1)
  assert.equal(feed().sink.maySend, false)
  feed().sink.send(new JsonText('1'))
  release()
  assert.equal((await client.next()).Confirm, true)
  assert.equal(feed().sink.maySend, true)
  await client.expectSilence()
})

test('a refusal carries its problem document in the envelope, with either codec', async (t) => {
  const { client, port, mint } = await start(t)
  const problem = { Code: 'IQL.Syntax', Hint: 'no' }
  const error = own('bad', 'Error', { TransactionID: 1, Data: 'Data Statement', Problem: problem })
  assert.deepEqual(await client.request(own('bad', 'Sub', { TransactionID: 1, Confirm: true })), error)
  assert.deepEqual(await client.next(), own('bad', 'Sub', { TransactionID: 1, Confirm: false }))
  const headers = { Authorization: `Bearer ${await mint.issue()}` }
  const packed = await connect(port, { protocols: ['PlatformMsgPack'], headers })
  packed.send(Buffer.from(encode(own('bad', 'Sub', { TransactionID: 1 }))))
  assert.deepEqual(decode(await packed.nextBytes()), error)
})

test('an end by the topic is the error, then the Unsub of the server', async (t) => {
  const { client, feed } = await start(t)
  await client.request(own('a', 'Sub', { Confirm: true }))
  feed().sink.end(refuse('Limited', 'rows'))
  assert.deepEqual(await client.next(), own('a', 'Error', { Data: 'Limited rows' }))
  assert.deepEqual(await client.next(), own('a', 'Unsub', { Confirm: true }))
  feed().sink.end(refuse('Limited', 'rows'))
  await client.expectSilence()
  assert.equal((await client.request(own('a', 'Sub', { Confirm: true }))).Confirm, true)
  const missing = await client.request(own('missing', 'Publish', { TransactionID: 1 }))
  assert.equal(missing.Data, 'Operation.Unknown Own/missing')
})

test('what opens after its request was cancelled, timed out or its connection closed is closed', async (t) => {
  const { client, clock, feeds, feed, release } = await start(t)
  client.send(own('wait1', 'Sub', { TransactionID: 1 }))
  client.send({ Action: 'Cancel', TransactionID: 1 })
  assert.equal((await client.next()).Data, 'Operation.Abort')
  client.send(own('wait2', 'Sub', { TransactionID: 2 }))
  await until('the second is opening', 5_000, () => feeds.length === 2)
  clock.advance(35_000)
  assert.equal((await client.next()).Data, 'Operation.Timeout')
  client.send(own('wait3', 'Sub', { TransactionID: 3 }))
  await until('the third is opening', 5_000, () => feeds.length === 3)
  client.socket.close()
  await client.closed
  for (const index of [0, 1, 2]) {
    release()
    await until('it is closed', 5_000, () => feed(index).told.includes('close'))
  }
})

test('it is paused while the token is expired, resumed with another, notified of changed rights, ended when they are lost', async (t) => {
  const { client, clock, bus, mint, feed, feeds } = await start(t)
  await client.request(own('a', 'Sub', { Confirm: true }))
  clock.advance(50_000)
  assert.equal(feed().sink.maySend, false, 'from the millisecond of expiry')
  await until('it is paused', 5_000, () => feed().told.includes('pause'))
  const signIn = async (AccessToken: string) => {
    const Data = { Provider: 'Bearer', AccessToken }
    const reply = await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
    assert.equal((reply.Data as { Result: string }).Result, 'Success')
  }
  await signIn(await mint.issue({ tokenId: 't2', scopes: ['Platform/Market', 'Platform/News'] }))
  await until('it is resumed', 5_000, () => feed().told.includes('resume t2'))
  assert.equal(feed().sink.maySend, true)
  const change = (scopes: string[], roles: string[]) =>
    bus.publish({ kind: 'rights-changed', subject: 'alice', scopes, roles, at: clock() + 1, expiresAt: clock() + 1e6 })
  await change(['Platform/Market'], ['trader'])
  await until('it has fewer rights', 5_000, () => feed().told.includes('rights Platform/Market trader'))
  await change(['Platform/Market'], ['viewer'])
  await until('other roles with the same scopes count too', 5_000, () =>
    feed().told.includes('rights Platform/Market viewer'),
  )
  await change([], [])
  assert.deepEqual(await client.next(), own('a', 'Error', { Data: 'Authority' }))
  assert.deepEqual(await client.next(), own('a', 'Unsub', { Confirm: true }))
  assert.equal(feed().told.at(-1), 'close')
  assert.equal((await client.request(own('a', 'Sub'))).Data, 'Authority')
  assert.equal(feeds.length, 1)
})

test('a slow reader stops its topic at half of the send queue, affects no other subscription, and is notified when to continue', async (t) => {
  const { client, feed, gateway } = await start(t, { streamSendQueueBytes: 1024 * 1024 })
  await client.request(own('a', 'Sub', { Confirm: true }))
  client.socket.pause()
  const piece = 100_000
  let sent = 0
  while (feed().sink.maySend && sent < 1_000) {
    feed().sink.send(new JsonText(JSON.stringify(`${sent++} `.padEnd(piece, 'x'))))
    // The system takes what it can.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const queued = gateway.connections()[0]?.queuedBytes ?? 0
  assert.ok(queued > 512 * 1024 && queued < 512 * 1024 + 2 * piece, `${queued} bytes are queued after ${sent} messages`)
  assert.deepEqual(feed().told, ['drained'])
  client.socket.resume()
  for (let index = 0; index < sent; index++) assert.match(String((await client.next()).Data), new RegExp(`^${index} x`))
  await until('it is told', 5_000, () => feed().told.length > 1)
  assert.deepEqual(feed().told, ['drained', 'drained'])
  assert.equal(feed().sink.maySend, true)
})

test('subscribers of one topic share the frames of a message, compressed ones too', () => {
  const hub = new Hub()
  const data = new JsonText(JSON.stringify({ rows: 'x'.repeat(2_000) }))
  const [first, second] = [hub.share('Q', 'Live/a', data), hub.share('Q', 'Live/a', data)]
  for (const bits of [undefined, 11]) {
    const codec = codecFor('PlatformJson', false)
    assert.equal(first.frame(codec, bits, 100), second.frame(codec, bits, 100))
  }
  assert.notEqual(hub.share('Q', 'Live/b', data), first)
  assert.notEqual(hub.share('Q', 'Live/a', new JsonText(data.text)), first)
  const large = 'x'.repeat(1024 * 1024)
  for (let index = 0; index < 8; index++) hub.share('Q', 'Live/a', new JsonText(large))
  assert.notEqual(hub.share('Q', 'Live/a', data), first, 'what was shared long ago is let go')
})

/** What a client reads; every integer of more than 53 bits is a bigint. */
function packed(text: string): unknown {
  const bytes = CODECS.PlatformMsgPack.encode({ Action: 'Publish', Data: new JsonText(text) })
  return CODECS.PlatformMsgPack.decode(Buffer.from(bytes))?.members.Data
}

test('JSON text keeps every digit in MessagePack', () => {
  for (const [text, value] of [
    ['[1,-2,0.5,1e3]', [1, -2, 0.5, 1000]],
    ['{"n":9007199254740993}', { n: 9007199254740993n }],
    ['[18446744073709551615,-9223372036854775808]', [18446744073709551615n, -9223372036854775808n]],
    ['[18446744073709551616]', ['18446744073709551616']],
    ['[0.1234567890123456,1.7976931348623157e308,5e-324]', [0.1234567890123456, 1.7976931348623157e308, 5e-324]],
    ['[0.12345678901234567890123,1e400]', ['0.12345678901234567890123', '1e400']],
    ['{"t":"12345678901234567890","__proto__":1}', JSON.parse('{"t":"12345678901234567890","__proto__":1}')],
  ] as const)
    assert.deepEqual(packed(text), value, text)
  // Typed clients read an integer as an integer, however many bits it has.
  const bytes = CODECS.PlatformMsgPack.encode({ Action: 'Publish', Data: new JsonText('4294967296') })
  assert.deepEqual(decode(Buffer.from(bytes), { useBigInt64: true }), { Action: 'Publish', Data: 4294967296n })
  fc.assert(fc.property(int64, (n) => BigInt(String(packed(`${n}`))) === n))
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => Number(packed(JSON.stringify(n))) === n),
  )
})

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n })
