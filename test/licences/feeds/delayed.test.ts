/** Feeds with a delay: what is younger is shown by no way, and what is old enough comes at once, in order, with its label. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onEveryEngine, openPlace, type TestPlace } from '../../support/engines.ts'
import { type NatsServer, startNats, whyWithoutNats } from '../../support/nats-server.ts'
import { until } from '../../support/until.ts'
import { type LicenceServer, startLicenceServer } from '../licence-server.ts'
import { events, FEEDS, type Follower, follow, type Message, publish } from './feed-licences.ts'

const SECONDS = 2
const DELAY_MS = SECONDS * 1_000
/** On a busy machine. */
const LATE_MS = 3_000

const DECLARED = `${FEEDS}
  - { name: Mixed, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
products:
  - name: NYSE
    delay: ${SECONDS} seconds
    covers: [{ feed: Prices, topics: ["NYSE/*"] }, { feed: Trades }, { feed: Mixed, topics: ["NYSE/*"] }]
  - { name: LSE, delay: ${SECONDS} seconds, covers: [{ feed: Mixed, topics: ["LSE/*"] }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: NYSE, user: admin, access: realtime }
  - { product: LSE, user: admin, access: delayed }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
`

onEveryEngine('feeds with a delay', (place) => declareTests(place))

describe('feeds with a delay in NATS', { skip: whyWithoutNats() ?? false }, () => {
  let nats: NatsServer
  let opened: Awaited<ReturnType<typeof openPlace>>
  before(async () => {
    nats = await startNats()
    opened = await openPlace('sqlite')
  })
  declareTests(
    () => opened.place,
    () => ({ '--nats-url': nats.url }),
  )
  after(async () => {
    await opened?.leave()
    await nats?.close()
  })
})

function declareTests(place: () => TestPlace, flags: () => Record<string, string> = () => ({})): void {
  let server: LicenceServer
  let topics = 0
  before(async () => {
    server = await startLicenceServer(place(), DECLARED, { flags: flags() })
  })
  after(() => server.stop())

  const shown = ({ Topic, Data, Delay }: Message) => [Topic, Data, Delay]
  const newTopic = () => `NYSE/${++topics}`
  const get = (path: string, token?: string) => server.send('GET', path, token === undefined ? {} : { token })
  const entitle = async (access: 'realtime' | 'delayed' | 'none', product = 'NYSE', user = 'alice') => {
    const path = `/admin/entitlements/${product}:user:${user}`
    const options = { token: server.admin, body: { access }, headers: { 'if-match': '*' } }
    const { status, body } = await server.send('PATCH', path, options)
    assert.equal(status, 200, JSON.stringify(body))
  }
  /** The next message with Data, and how long after it was published it came. */
  const nextValue = async (follower: Follower, since: number) => {
    const message = await follower.next()
    return { message, late: Date.now() - since - DELAY_MS }
  }
  const isOnTime = (late: number) => assert.ok(late >= 0 && late < LATE_MS, `${late} ms after it was old enough`)
  const wait = (since: number) => until('it is old enough', 10_000, () => Date.now() > since + DELAY_MS + 500)

  test('streams: messages come when they are old enough, in order, with Delay; in real time to those who may', async () => {
    const topic = newTopic()
    const [delayed, realtime] = [await follow(server), await follow(server, server.admin)]
    const { Data } = await delayed.sub('Trades', topic, {})
    assert.deepEqual([(Data as Message).Delay, (Data as Message).Keep], [SECONDS, 'all'])
    await realtime.sub('Trades', topic)
    const since = Date.now()
    for (let value = 0; value < 20; value++) await publish(server, 'Trades', topic, value)
    for (let value = 0; value < 20; value++) {
      const message = await realtime.next()
      assert.deepEqual([message.Data, message.Delay], [value, undefined])
    }
    assert.ok(Date.now() - since < DELAY_MS, 'the machine is too slow for this test')
    for (let value = 0; value < 20; value++) {
      const { message, late } = await nextValue(delayed, since)
      isOnTime(late)
      assert.deepEqual([message.Data, message.Delay], [value, SECONDS])
    }
  })

  test('HTTP: state, history, topics and counts are those of the horizon; a younger topic does not exist', async () => {
    const [old, young] = [newTopic(), newTopic()]
    const since = Date.now()
    for (const feed of ['Prices', 'Trades']) await publish(server, feed, old, 'old')
    await wait(since)
    for (const feed of ['Prices', 'Trades']) {
      await publish(server, feed, old, 'new')
      await publish(server, feed, young, 'new')
    }
    const state = await get(`/feeds/Prices/${old}`)
    assert.deepEqual([state.body.Data, state.body.Delay], ['old', SECONDS])
    const label = state.headers.get('licence') ?? ''
    assert.match(label, /^"NYSE";feed="Prices";access=delayed;delay=2;as-of=@\d{10}$/)
    assert.ok(Number(label.split('@')[1]) * 1_000 <= Date.now() - DELAY_MS)
    assert.equal((await get(`/feeds/Prices/${young}`)).status, 404)
    assert.equal((await get(`/feeds/Prices/${old}`, server.admin)).body.Data, 'new')
    const history = (await get(`/feeds/Trades/${old}?last=10`)).body
    assert.deepEqual(
      history.Messages.map(({ Data, Delay }: Message) => [Data, Delay]),
      [['old', SECONDS]],
    )
    assert.deepEqual(history.Licence, [{ Product: 'NYSE', Feed: 'Trades', Access: 'delayed', Delay: SECONDS }])
    assert.deepEqual((await get(`/feeds/Trades/${young}?last=10`)).body.Messages, [])
    const listed = (await get(`/feeds/Trades?prefix=${old}`)).body.items
    assert.deepEqual(
      listed.map(({ Topic, Messages }: Message) => [Topic, Messages]),
      [[old, 1]],
    )
    assert.ok(Date.parse(listed[0].Time) <= Date.now() - DELAY_MS)
    assert.deepEqual((await get(`/feeds/Trades?prefix=${young}`)).body.items, [])
  })

  test('event streams: the state of the horizon first, then what becomes old enough', async () => {
    const topic = newTopic()
    let since = Date.now()
    await publish(server, 'Prices', topic, 1)
    await wait(since)
    since = Date.now()
    await publish(server, 'Prices', topic, 2)
    const stream = await events(server, `/feeds/Prices/${topic}`)
    assert.deepEqual((await stream.next()).data, { Topic: topic, Delay: SECONDS })
    const first = await stream.next()
    assert.deepEqual([first.data.Data, first.data.Delay], [1, SECONDS])
    const second = await stream.next()
    isOnTime(Date.now() - since - DELAY_MS)
    assert.deepEqual([second.data.Data, second.data.Delay], [2, SECONDS])
    stream.close()
  })

  test('positions: one of the horizon resumes, one of better times says Recovered: false and shows nothing fresh', async () => {
    const topic = newTopic()
    const [delayed, realtime] = [await follow(server), await follow(server, server.admin)]
    await delayed.sub('Trades', topic)
    await realtime.sub('Trades', topic)
    let since = Date.now()
    await publish(server, 'Trades', topic, 1)
    const { message } = await nextValue(delayed, since)
    since = Date.now()
    await publish(server, 'Trades', topic, 2)
    await realtime.next()
    const { Position } = await realtime.next()
    const [better, own] = [await follow(server), await follow(server)]
    await better.sub('Trades', topic, { Resume: Position })
    await own.sub('Trades', topic, { Resume: message.Position })
    const recovered = await own.next()
    assert.deepEqual([recovered.Recovered, recovered.Data], [true, undefined])
    const notRecovered = await better.next()
    assert.deepEqual([notRecovered.Recovered, notRecovered.Data, notRecovered.Delay], [false, 1, SECONDS])
    for (const each of [own, better]) {
      const next = await nextValue(each, since)
      isOnTime(next.late)
      assert.equal(next.message.Data, 2)
    }
  })

  test('less: the subscription goes on, and what follows comes when it is old enough; more: what was held back first', async () => {
    for (const [feed, kept] of [['Trades', [3, 4]] as const, ['Prices', [4]] as const]) {
      const topic = newTopic()
      const alice = await follow(server)
      await entitle('realtime')
      await alice.sub(feed, topic)
      await publish(server, feed, topic, 1)
      assert.deepEqual((await alice.next()).Data, 1)
      await entitle('delayed')
      const less = await alice.next()
      assert.deepEqual([less.Topic, less.Delay, 'Data' in less], [topic, SECONDS, false])
      const since = Date.now()
      await publish(server, feed, topic, 2)
      const { message, late } = await nextValue(alice, since)
      isOnTime(late)
      assert.deepEqual([message.Data, message.Delay], [2, SECONDS], 'and 1 is not repeated')
      await publish(server, feed, topic, 3)
      await publish(server, feed, topic, 4)
      const changed = Date.now()
      await entitle('realtime')
      const more = await alice.next()
      assert.deepEqual([more.Delay, 'Data' in more], [0, false])
      for (const value of kept) {
        const { Data, Delay } = await alice.next()
        assert.deepEqual([Data, Delay], [value, undefined], feed)
      }
      assert.ok(Date.now() - changed < DELAY_MS)
      await publish(server, feed, topic, 5)
      assert.equal((await alice.next()).Data, 5)
      await entitle('delayed')
      alice.stream.socket.close()
    }
  })

  test('a pattern with several delays: each topic with its own, and it resumes where each of them was', async () => {
    const ibm = newTopic()
    const bp = ibm.replace('NYSE', 'LSE')
    const admin = await follow(server, server.admin)
    const { Data } = await admin.sub('Mixed', '*', {})
    assert.deepEqual((Data as Message).Licence, [
      { Feed: 'Mixed', Access: 'none', Topics: ['*'] },
      { Product: 'LSE', Feed: 'Mixed', Access: 'delayed', Delay: SECONDS, Topics: ['LSE/*'] },
    ])
    let since = Date.now()
    for (const topic of ['OTHER', bp, ibm]) await publish(server, 'Mixed', topic, 1)
    assert.deepEqual(shown(await admin.next()), [ibm, 1, undefined])
    const { message, late } = await nextValue(admin, since)
    isOnTime(late)
    assert.deepEqual(shown(message), [bp, 1, SECONDS])
    since = Date.now()
    await publish(server, 'Mixed', bp, 2)
    await publish(server, 'Mixed', ibm, 2)
    const last = await admin.next()
    assert.deepEqual(shown(last), [ibm, 2, undefined])
    admin.stream.socket.close()
    const again = await follow(server, server.admin)
    await again.sub('Mixed', '*', { Resume: last.Position })
    for (let each = 0; each < 2; each++) assert.equal((await again.next()).Recovered, true)
    const next = await nextValue(again, since)
    isOnTime(next.late)
    assert.deepEqual(shown(next.message), [bp, 2, SECONDS])
    await entitle('realtime', 'LSE', 'admin')
    const changed = await again.next()
    assert.deepEqual(changed.Licence, [{ Feed: 'Mixed', Access: 'none', Topics: ['*'] }])
    await publish(server, 'Mixed', bp, 3)
    assert.deepEqual(shown(await again.next()), [bp, 3, undefined])
    await entitle('delayed', 'LSE', 'admin')
  })

  test('a publisher with a delay is not told how many messages others have published', async () => {
    const topic = newTopic()
    const send = (token: string) => server.send('POST', `/feeds/Trades/${topic}`, { token, body: '1' })
    assert.deepEqual(Object.keys((await send(server.alice)).body), ['Published'])
    assert.deepEqual(Object.keys((await send(server.handler)).body), ['Published', 'Position'])
  })

  test('what cannot be shown with a delay is refused, with its path', async () => {
    const post = (path: string, body: unknown) => server.send('POST', path, { token: server.admin, body })
    const product = (name: string, delay: string, feed: string) =>
      post('/admin/products', { name, delay, covers: [{ feed }] })
    const paths = ({ body }: { body: { Faults?: { path: string }[] } }) => body.Faults?.map(({ path }) => path)
    assert.equal((await post('/admin/feeds', { name: 'Gone', keep: 'all' })).status, 201)
    const refused = await product('X', '1 minute', 'Gone')
    assert.deepEqual([refused.status, paths(refused)], [422, ['covers[0].feed']])
    for (const minutes of [1, 2, 3])
      assert.equal((await product(`X${minutes}`, `${minutes} minutes`, 'Later')).status, 201)
    const fourth = await product('X4', '4 minutes', 'Later')
    assert.match(JSON.stringify([fourth.status, fourth.body]), /^\[422.*the feed Later can have 3 delays at most/)
    const later = await post('/admin/feeds', { name: 'Later', keep: 'all' })
    assert.deepEqual([later.status, paths(later)], [422, ['history']])
  })

  test('metrics say how late what is shown is', async () => {
    const { body } = await get('/metrics', server.admin)
    assert.match(String(body), /gatehouse_licence_lateness_seconds_count\{kind="feed"\} [1-9]/)
  })
}
