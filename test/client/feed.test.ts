/** Feeds of the client library against the real server: exact, resumed over restarts, bounded for slow readers. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import {
  AuthError,
  ConnectionError,
  type FeedMessage,
  type FeedSubscription,
  Gatehouse,
  GatehouseError,
  password,
} from '../../packages/client/src/index.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const HISTORY = { messages: 100_000, time: '1 hour' }

let place: TestPlace
let leave: () => Promise<void>
let server: TestServer
let port: number
let admin: Gatehouse
const clients: Gatehouse[] = []

const start = (): Promise<TestServer> =>
  startTestServer(place, { flags: { '--demo': 'true', '--port': String(port), '--stream-drain-time': '0' } })

const open = (user: typeof ALICE = ALICE, url = server.issuer): Gatehouse => {
  const gate = new Gatehouse(url, { issuer: server.issuer, auth: password({ clientId: 'demo-cli', ...user }) })
  clients.push(gate)
  return gate
}

const declare = (name: string, more: object): Promise<unknown> =>
  admin.json('/admin/feeds', { method: 'POST', body: { name, ...more } })

before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  port = await freePort()
  server = await start()
  admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await declare('Prices', { keep: 'latest' })
  await declare('Quotes', { keep: 'latest', history: HISTORY })
  await declare('Orders', { keep: 'all', history: HISTORY })
  await declare('Fires', { keep: 'all' })
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
after(async () => {
  admin.close()
  await server.stop()
  await leave()
})

/** Reads in the background what a subscription gets. */
function collect<T>(subscription: FeedSubscription<T>) {
  const messages: FeedMessage<T>[] = []
  const events: string[] = []
  for (const event of ['recovered', 'gap'] as const) subscription.on(event, () => events.push(event))
  const ended = (async () => {
    for await (const message of subscription) messages.push(message)
  })()
  ended.catch(() => {})
  return { messages, events, ended, data: () => messages.map(({ data }) => data) }
}

/** 0, 1, 2 … without a picture of thousands of numbers where it is not so. */
function assertCounted(data: readonly unknown[], count: number): void {
  assert.equal(data.length, count)
  assert.equal(
    data.findIndex((value, index) => value !== index),
    -1,
  )
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

test('the state first, then each message; the store has the newest value', async () => {
  const prices = admin.feed<{ last: string; size?: bigint }>('Prices')
  assert.deepEqual(await prices.publish('NYSE/ACME', { last: '1' }), { position: undefined })
  const acme = open().feed<{ last: string }>('Prices').subscribe('NYSE/ACME')
  let told = 0
  acme.subscribe(() => told++)
  const got = collect(acme)
  assert.equal(await acme.ready(), acme)
  await until('the state is here', LATE_MS, () => got.messages.length === 1)
  assert.deepEqual(got.messages[0], {
    ...{ topic: 'NYSE/ACME', data: { last: '1' }, removed: false },
    ...{ position: undefined, recovered: undefined, delay: undefined },
  })
  assert.equal(acme.value, acme.value)
  assert.equal(acme.values, acme.values)
  assert.deepEqual(acme.values, new Map([['NYSE/ACME', { last: '1' }]]))
  // An integer of any size is a number on the wire, and exact in the program.
  await prices.publish('NYSE/ACME', { last: '2', size: 2n ** 64n })
  await until('the next is here', LATE_MS, () => got.messages.length === 2)
  assert.deepEqual(acme.value, { last: '2', size: 2n ** 64n })
  assert.deepEqual(acme.values.get('NYSE/ACME'), acme.value)
  const kept = await admin.request('/feeds/Prices/NYSE%2FACME')
  assert.match(await kept.text(), /"Data":\{"last":"2","size":18446744073709551616\}/)
  assert.equal(told, 2)
  await prices.remove('NYSE/ACME')
  await until('the removal is here', LATE_MS, () => got.messages.length === 3)
  assert.deepEqual([got.messages[2]?.removed, acme.value, acme.values.size], [true, undefined, 0])
  acme.close()
  await got.ended
})

test('a pattern, one of its topics, and a second reader share a connection; each gets its messages once', async () => {
  const quotes = open().feed<number>('Quotes')
  const every = collect(quotes.subscribe('LSE/*'))
  const one = quotes.subscribe('LSE/ACME')
  const ofOne = collect(one)
  const again = quotes.subscribe('LSE/ACME')
  const ofAgain = collect(again)
  await Promise.all([one.ready(), again.ready()])
  await until('the pattern is confirmed', LATE_MS, async () =>
    quotes
      .subscribe('LSE/*')
      .ready()
      .then(() => true),
  )
  await admin.feed('Quotes').publishAll([
    { topic: 'LSE/ACME', data: 1 },
    { topic: 'LSE/BOLT', data: 2 },
    { topic: 'LSE/ACME', data: 3 },
    { topic: 'NYSE/ACME', data: 4 },
  ])
  await until('all are here', LATE_MS, () => every.messages.length >= 3 && ofOne.messages.length >= 2)
  assert.deepEqual(
    every.messages.map(({ topic, data }) => [topic, data]),
    [
      ['LSE/ACME', 1],
      ['LSE/BOLT', 2],
      ['LSE/ACME', 3],
    ],
  )
  assert.deepEqual(
    [ofOne.data(), ofAgain.data()],
    [
      [1, 3],
      [1, 3],
    ],
  )
  const joined = quotes.subscribe('LSE/*')
  assert.deepEqual(
    joined.values,
    new Map([
      ['LSE/BOLT', 2],
      ['LSE/ACME', 3],
    ]),
  )
  one.close()
  await admin.feed('Quotes').publish('LSE/ACME', 5)
  await until('the other reader goes on', LATE_MS, () => again.value === 5)
  assert.equal(ofOne.messages.length, 2)
  // Other options are another subscription, of which a connection has one for each topic.
  await assert.rejects(quotes.subscribe('LSE/ACME', { last: 2 }).ready(), { code: 'client.subscribed' })
})

test('kept messages, topics, and a subscription that begins with the last', async () => {
  const quotes = open().feed<number>('Quotes')
  await admin.feed('Quotes').publishAll([1, 2, 3].map((data) => ({ topic: 'OSE/Ü ?#%', data })))
  const kept = await quotes.last('OSE/Ü ?#%', 2)
  assert.deepEqual(
    kept.map(({ topic, data }) => [topic, data]),
    [
      ['OSE/Ü ?#%', 2],
      ['OSE/Ü ?#%', 3],
    ],
  )
  assert.equal((await quotes.latest('OSE/Ü ?#%'))?.data, 3)
  assert.equal(await quotes.latest('OSE/none'), undefined)
  assert.deepEqual(
    (await Array.fromAsync(quotes.topics({ prefix: 'OSE/' }))).map(({ topic, messages }) => [topic, messages]),
    [['OSE/Ü ?#%', 3]],
  )
  const lastTwo = collect(quotes.subscribe('OSE/Ü ?#%', { last: 2 }))
  await until('the last two are here', LATE_MS, () => lastTwo.messages.length === 2)
  assert.deepEqual(lastTwo.data(), [2, 3])
  const resumed = collect(
    open()
      .feed<number>('Quotes')
      .subscribe('OSE/Ü ?#%', { resume: String(kept[0]?.position) }),
  )
  await until('what followed the position is here', LATE_MS, () => resumed.messages.length === 1)
  assert.deepEqual([resumed.data(), resumed.events], [[3], ['recovered']])
  const other = open()
    .feed('Quotes')
    .subscribe('OSE/other', { resume: String(kept[0]?.position) })
  await assert.rejects(other.ready(), { code: 'Data', message: /Resume/ })
})

test('a key publishes once; 25,000 messages go in three requests, in order', async () => {
  const orders = admin.feed<number>('Orders')
  const first = await orders.publish('once', 1, { idempotencyKey: 'k-1' })
  assert.deepEqual(await orders.publish('once', 1, { idempotencyKey: 'k-1' }), first)
  await assert.rejects(orders.publish('once', 2, { idempotencyKey: 'k-1' }), { code: 'feed.key_used' })
  assert.equal((await orders.last('once', 10)).length, 1)

  const subscription = open().feed<number>('Orders').subscribe('many')
  const many = collect(subscription)
  await subscription.ready()
  const steps: number[] = []
  const messages = numbers(0, 25_000).map((data) => ({ topic: 'many', data }))
  const done = await orders.publishAll(messages, { onProgress: (progress) => steps.push(progress.messages) })
  assert.deepEqual([done, steps], [{ messages: 25_000, requests: 3 }, [10_000, 20_000, 25_000]])
  await until('all are here', LATE_MS, () => many.messages.length >= 25_000)
  assertCounted(many.data(), 25_000)
  // By their size: each message has 40,000 bytes in UTF-8.
  const large = Array.from({ length: 300 }, () => ({ topic: 'large', data: 'ü'.repeat(20_000) as never }))
  assert.deepEqual(await orders.publishAll(large), { messages: 300, requests: 3 })
})

test('without a right it is refused; a feed that nobody declared too', async () => {
  const alice = open()
  await assert.rejects(alice.feed('Orders').publish('x', 1), AuthError)
  await assert.rejects(alice.feed('Nothing').publish('x', 1), { code: 'feed.unknown', status: 404 })
  const none = alice.feed('Nothing').subscribe('x')
  await assert.rejects(none.ready(), GatehouseError)
  await assert.rejects(none[Symbol.asyncIterator]().next(), GatehouseError)
  assert.ok(none.error instanceof GatehouseError)
  await assert.rejects(alice.feed('Orders').subscribe('x', { maxRate: 5 }).ready(), {
    code: 'Data',
    message: /MaxRate/,
  })
})

test('maxRate: fewer messages, and the last is never lost', async () => {
  const fast = open().feed<number>('Prices').subscribe('fast', { maxRate: 5 })
  const got = collect(fast)
  await fast.ready()
  for (const data of numbers(0, 40)) await admin.feed('Prices').publish('fast', data)
  await until('the last is here', LATE_MS, () => fast.value === 39)
  assert.ok(got.messages.length < 30, `${got.messages.length} messages`)
})

test('over a restart every message of a feed that keeps all comes once; a quiet topic is resumed too', async () => {
  const orders = open().feed<number>('Orders')
  const busy = collect(orders.subscribe('busy'))
  const pattern = collect(orders.subscribe('b/*'))
  const quiet = orders.subscribe('quiet')
  const ofQuiet = collect(quiet)
  const price = open().feed<number>('Prices').subscribe('held')
  const ofPrice = collect(price)
  await Promise.all([quiet.ready(), price.ready(), orders.subscribe('b/*').ready(), orders.subscribe('busy').ready()])
  let published = 0
  let stop = false
  const publisher = (async () => {
    while (!stop) {
      const topic = published % 2 === 0 ? 'busy' : 'b/2'
      try {
        await admin.feed('Orders').publish(topic, published, { idempotencyKey: `busy-${published}` })
        published++
      } catch (error) {
        assert.ok(error instanceof ConnectionError || error instanceof GatehouseError)
      }
    }
  })()
  await until('messages flow', LATE_MS, () => published > 20)
  await server.stop()
  server = await start()
  await admin.feed('Orders').publish('quiet', 7)
  await admin.feed('Prices').publish('held', 8)
  const before = published
  await until('messages flow again', LATE_MS, () => published > before + 20)
  stop = true
  await publisher
  const all = numbers(0, published)
  await until('both topics are complete', LATE_MS, () => busy.messages.length + pattern.messages.length >= published)
  assert.deepEqual(
    busy.data(),
    all.filter((data) => data % 2 === 0),
  )
  assert.deepEqual(
    pattern.data(),
    all.filter((data) => data % 2 === 1),
  )
  await until('the others are back', LATE_MS, () => quiet.value === 7 && price.value === 8)
  assert.deepEqual([busy.events, pattern.events, ofQuiet.events], [['recovered'], ['recovered'], ['recovered']])
  // Without history it is not known what was missed.
  assert.deepEqual(ofPrice.events, ['gap'])
})

test('a revoked token is replaced, and the subscription goes on where it was', async () => {
  const subscription = open().feed<number>('Orders').subscribe('revoked')
  const got = collect(subscription)
  await subscription.ready()
  await admin.feed('Orders').publish('revoked', 0)
  // A key that is withdrawn takes all tokens with it that it signed.
  const [key] = await Array.fromAsync(admin.admin.keys.list())
  await admin.request(`/admin/keys/${key?.kid}?compromised=true`, { method: 'DELETE' })
  await admin.feed('Orders').publish('revoked', 1)
  await until('it was resumed', LATE_MS, () => got.events.length > 0)
  await admin.feed('Orders').publish('revoked', 2)
  await until('all are here', LATE_MS, () => got.messages.length >= 3)
  assert.deepEqual([got.data(), got.events], [[0, 1, 2], ['recovered']])
})

test('a purge while the client is away is a gap', async () => {
  const proxy = await startTcpProxy('127.0.0.1', port)
  try {
    const news = open(ALICE, `http://127.0.0.1:${proxy.port}`).feed<number>('Orders').subscribe('news')
    const got = collect(news)
    await news.ready()
    await admin.feed('Orders').publish('news', 1)
    await until('it is here', LATE_MS, () => got.messages.length === 1)
    proxy.cut()
    await admin.request('/admin/feeds/Orders/purge', { method: 'POST' })
    await admin.feed('Orders').publish('news', 2)
    proxy.mend()
    await until('the next is here', LATE_MS, () => got.messages.length === 2)
    assert.deepEqual([got.events, got.data(), got.messages[1]?.recovered], [['gap'], [1, 2], false])
  } finally {
    await proxy.close()
  }
})

test('a slow loop: all messages where they are kept, the newest of each topic, or an error', async () => {
  const gate = open()
  const all = gate.feed<number>('Orders').subscribe('slow')
  const newest = gate.feed<number>('Quotes').subscribe('slow/*')
  const lost = gate.feed<number>('Fires').subscribe('slow')
  const unread = gate.feed<number>('Orders').subscribe('slow')
  const loops = [all, newest, lost].map((subscription) => subscription[Symbol.asyncIterator]())
  await Promise.all([all.ready(), newest.ready(), lost.ready()])
  const count = 12_000
  for (const feed of ['Orders', 'Fires'])
    await admin.feed(feed).publishAll(numbers(0, count).map((data) => ({ topic: 'slow', data })))
  await admin.feed('Quotes').publishAll(numbers(0, count).map((data) => ({ topic: `slow/${data % 2}`, data })))
  await until('the newest are here', LATE_MS, () => newest.values.size === 2 && newest.value === count - 1)
  const events = collect(unread).events
  const read = await take(loops[0], count)
  assertCounted(read, count)
  assert.deepEqual(events, [], 'a pause of its own is no loss')
  assert.equal(unread.value, count - 1, 'the store follows')
  const seen = await take(loops[1], 2)
  assert.ok(seen.length === 2)
  const rest: number[] = []
  const last = (async () => {
    for (;;) {
      const { value } = (await loops[1]?.next()) ?? {}
      if (value !== undefined) rest.push(Number(value.data))
      if (value?.data === count - 1) return
    }
  })()
  await last
  assert.ok(rest.length < count / 2, `${rest.length} of ${count}`)
  await assert.rejects(take(loops[2], count), { code: 'client.slow' })
})

async function take<T>(loop: AsyncIterator<FeedMessage<T>> | undefined, count: number): Promise<(T | undefined)[]> {
  const data: (T | undefined)[] = []
  while (data.length < count) {
    const next = await loop?.next()
    if (next === undefined || next.done) break
    data.push(next.value.data)
  }
  return data
}

test('an aborted or closed subscription ends its loop; so does a removed feed', async () => {
  const gate = open()
  const abort = new AbortController()
  const aborted = collect(gate.feed('Prices').subscribe('a', { signal: abort.signal }))
  abort.abort(new Error('enough'))
  await assert.rejects(aborted.ended, /enough/)
  await declare('Short', { keep: 'all' })
  const short = gate.feed('Short').subscribe('a')
  const got = collect(short)
  await short.ready()
  await admin.request('/admin/feeds/Short', { method: 'DELETE' })
  await assert.rejects(got.ended, GatehouseError)
  const open2 = collect(gate.feed('Prices').subscribe('b'))
  gate.close()
  await assert.rejects(open2.ended, { code: 'client.closed' })
})
