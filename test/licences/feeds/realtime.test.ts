/** Feeds that products cover: nobody follows or reads them without a licence, by no way. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { type LicenceServer, startLicenceServer } from '../licence-server.ts'
import { events, FEEDS, follow, publish } from './feed-licences.ts'

const DECLARED = `${FEEDS}
products:
  - { name: NYSE, covers: [{ feed: Prices, topics: ["NYSE/*"] }, { feed: Trades }] }
  - { name: LSE, simultaneous: 1, covers: [{ feed: Prices, topics: ["LSE/*", VOD] }] }
  - { name: BUNDLE, enabled: false, covers: [{ feed: Prices, topics: ["*"] }] }
entitlements:
  - { product: NYSE, user: alice, access: realtime }
  - { product: LSE, user: admin, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`

onEveryEngine('covered feeds', (place) => {
  let server: LicenceServer
  before(async () => {
    server = await startLicenceServer(place(), DECLARED)
    for (const topic of ['NYSE/IBM', 'LSE/BP', 'VOD', 'OTHER']) await publish(server, 'Prices', topic, topic)
    await publish(server, 'Trades', 'IBM', 1)
  })
  after(() => server.stop())

  const admin = (method: string, path: string, body?: unknown) =>
    server.send(method, `/admin${path}`, { token: server.admin, ...(body === undefined ? {} : { body }) })
  const patch = async (path: string, body: unknown) => {
    const headers = { 'if-match': '*' }
    const reply = await server.send('PATCH', `/admin${path}`, { token: server.admin, body, headers })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
  }
  const refusal = async (path: string, token?: string) => {
    const { status, body } = await server.send('GET', path, token === undefined ? {} : { token })
    return [status, body.Code, body.Products, body.Reason]
  }

  test('HTTP: a topic, its history and the list of topics are those of the licence', async () => {
    assert.equal((await server.send('GET', '/feeds/Prices/NYSE/IBM')).body.Data, 'NYSE/IBM')
    const [status, , products, reason] = await refusal('/feeds/Prices/LSE/BP')
    assert.deepEqual([status, products, reason], [403, ['BUNDLE', 'LSE'], 'disabled'])
    assert.deepEqual((await refusal('/feeds/Prices/VOD'))[0], 403)
    assert.deepEqual((await refusal('/feeds/Trades/IBM', server.robot)).slice(2), [['NYSE'], 'none'])
    assert.deepEqual((await refusal('/feeds/Trades/IBM?last=5', server.robot))[0], 403)
    assert.equal((await refusal('/feeds/Prices', server.robot))[0], 403)
    const topics = (await server.send('GET', '/feeds/Prices')).body.items.map(({ Topic }: { Topic: string }) => Topic)
    assert.deepEqual(topics, ['NYSE/IBM'])
  })

  test('streams: a topic without a licence is refused, a pattern has what is licensed', async () => {
    const alice = await follow(server)
    assert.equal(await alice.refused('Prices', 'LSE/BP'), 'Authority licence=BUNDLE,LSE reason=disabled')
    assert.equal(await alice.refused('Prices', 'LSE/*'), 'Authority licence=BUNDLE,LSE reason=disabled')
    await alice.sub('Prices', '*')
    assert.deepEqual((await alice.next()).Topic, 'NYSE/IBM')
    await publish(server, 'Prices', 'LSE/BP', 2)
    await publish(server, 'Prices', 'OTHER', 2)
    await publish(server, 'Prices', 'NYSE/IBM', 2)
    const { Topic, Data } = await alice.next()
    assert.deepEqual([Topic, Data], ['NYSE/IBM', 2])
    const robot = await follow(server, server.robot)
    assert.equal(await robot.refused('Trades', 'IBM', { Last: 5 }), 'Authority licence=NYSE reason=none')
    await robot.sub('Free', 'A')
  })

  test('event streams: refused with 403, and ended when the licence goes', async () => {
    const refused = await events(server, '/feeds/Trades/IBM', server.robot)
    assert.equal(refused.status, 403)
    const given = await admin('POST', '/entitlements', { product: 'NYSE', client: 'robot', access: 'realtime' })
    assert.equal(given.status, 201)
    const open = await events(server, '/feeds/Trades/IBM?last=1', server.robot)
    assert.equal(open.status, 200)
    assert.equal((await open.next()).data.Data, 1)
    await admin('DELETE', `/entitlements/${given.body.id}`)
    const taken = performance.now()
    const end = await open.next()
    assert.ok(performance.now() - taken < 1_000)
    assert.deepEqual([end.event, end.data.Reason], ['end', 'none'])
  })

  test('a stream loses what is taken away, expires or is switched off, and nothing else', async () => {
    const robot = await follow(server, server.robot)
    await robot.sub('Free', 'A')
    const soon = new Date(Date.now() + 1_500).toISOString()
    await admin('POST', '/entitlements', { product: 'NYSE', client: 'robot', access: 'realtime', until: soon })
    await robot.sub('Trades', 'IBM')
    const { Data, Action } = await robot.next()
    assert.deepEqual([Action, Data], ['Error', 'Authority licence=NYSE reason=expired'])
    assert.ok(Math.abs(Date.now() - Date.parse(soon)) < 1_000)
    assert.equal((await robot.next()).Action, 'Unsub')
    const alice = await follow(server)
    await alice.sub('Trades', 'IBM')
    await patch('/products/NYSE', { enabled: false })
    assert.equal((await alice.next()).Data, 'Authority licence=NYSE reason=disabled')
    assert.equal((await alice.next()).Action, 'Unsub')
    await patch('/products/NYSE', { enabled: true })
    await publish(server, 'Free', 'A', 7)
    assert.equal((await robot.next()).Data, 7)
    await alice.sub('Trades', 'IBM')
  })

  test('a product takes over subscriptions that are open, and gives them back when it goes', async () => {
    const [alice, robot] = [await follow(server), await follow(server, server.robot)]
    await alice.sub('Free', 'N')
    await robot.sub('Free', 'N')
    await admin('POST', '/products', { name: 'NEW', covers: [{ feed: 'Free', topics: ['N'] }] })
    assert.equal((await robot.next()).Data, 'Authority licence=NEW reason=none')
    assert.equal((await alice.next()).Data, 'Authority licence=NEW reason=none')
    await admin('POST', '/entitlements', { product: 'NEW', user: 'alice', access: 'realtime' })
    await alice.next()
    await alice.sub('Free', 'N')
    await publish(server, 'Free', 'N', 1)
    assert.equal((await alice.next()).Data, 1)
    await patch('/products/NEW', { covers: [{ feed: 'Free', topics: ['N', 'M'] }] })
    await publish(server, 'Free', 'N', 2)
    assert.equal((await alice.next()).Data, 2)
    await admin('DELETE', '/products/NEW?free=true')
    await publish(server, 'Free', 'N', 3)
    assert.equal((await alice.next()).Data, 3)
    assert.equal((await server.send('GET', '/feeds/Free/N', { token: server.robot })).status, 200)
  })

  test('each use is a session of the audit log, before the first value, and takes a place', async () => {
    const other = await follow(server, server.admin)
    for (const topic of ['LSE/BP', 'VOD']) {
      await other.sub('Prices', topic)
      assert.equal((await other.next()).Topic, topic)
    }
    const opened = async () =>
      (await admin('GET', '/audit?event=licence.opened&limit=200')).body.items.filter(
        ({ target }: { target: string }) => target === 'LSE',
      )
    const [session, ...rest] = await opened()
    assert.deepEqual([session.details.way, session.details.access, rest.length], ['stream', 'realtime', 0])
    assert.equal((await server.send('GET', '/feeds/Prices/VOD', { token: server.admin })).status, 200)
    assert.equal((await opened()).length, 1, 'a sign-in is one place')
    other.stream.socket.close()
    const closed = async () =>
      (await admin('GET', '/audit?event=licence.closed&limit=200')).body.items.some(
        ({ details }: { details: { session: string } }) => details.session === session.details.session,
      )
    assert.equal(await closed(), false, 'the query holds it for a minute')
  })

  test('one place more is refused', async () => {
    await patch('/products/NYSE', { simultaneous: 1 })
    const first = await follow(server)
    await first.sub('Trades', 'IBM')
    const { signIn, ALICE } = await import('../../support/demo-user.ts')
    const second = await follow(server, (await signIn(server, ALICE)).access_token)
    assert.equal(await second.refused('Trades', 'IBM'), 'Authority licence=NYSE reason=places')
  })

  test('metrics count what is refused', async () => {
    const { body } = await server.send('GET', '/metrics', { token: server.admin })
    assert.match(String(body), /gatehouse_licence_refused_total\{product="NYSE",reason="Licence\.Needed"\} \d/)
  })
})
