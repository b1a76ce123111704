/** Assistants and alerts with delayed access: they see and say what their user can see, when their user can, and say as of when it is. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AlertClient } from '../alerts/alert-client.ts'
import { ALICE, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { publish } from './feeds/feed-licences.ts'
import { startLicenceServer } from './licence-server.ts'
import { keys, type TablePlace, tablePlace } from './tables/table-licences.ts'

const SECONDS = 2
const DELAY_MS = SECONDS * 1_000
const DECLARED = `
feeds:
  - { name: Mixed, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
products:
  - { name: NYSE, delay: ${SECONDS} seconds, covers: [{ table: ticks }, { feed: Mixed, topics: ["NYSE/*"] }] }
  - { name: LSE, covers: [{ feed: Mixed, topics: ["LSE/*"] }] }
  - { name: SOLO, simultaneous: 1, when_full: displace, covers: [{ table: depth }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: LSE, user: alice, access: realtime }
  - { product: SOLO, user: alice, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
  - { product: SOLO, client: handler, access: realtime, kind: exempt }
`

onEveryEngineInLongRuns('assistants and alerts with a delay', (at) => {
  let place: TablePlace
  let agent: McpClient
  let receiver: WebhookReceiver
  before(async () => {
    receiver = await startReceiver()
    place = tablePlace(await startLicenceServer(at(), DECLARED, { flags: { '--limit-mcp': '' } }))
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await place.rows(
      `CREATE TABLE ticks (id Integer PRIMARY KEY, price Integer NOT NULL) ${scopes}`,
      place.server.admin,
    )
    await until('the copy is there', 5_000, async () => (await place.query('SELECT id FROM ticks')).status === 200)
    agent = new McpClient(place.server, await agentToken(place.server))
  })
  after(async () => {
    await place.server.stop()
    await receiver.stop()
  })

  /** Returns when it began. */
  async function insert(id: number, price: number): Promise<number> {
    const begun = Date.now()
    await place.rows(`INSERT INTO ticks (id, price) VALUES (${id}, ${price})`, place.server.handler)
    return begun
  }

  test('results of assistants say that they are delayed, and as of when', async () => {
    const begun = await insert(1, 10)
    const statement = 'SELECT id, price FROM ticks WHERE id = 1'
    const watched = await agent.call('watch', { statement, format: 'json' })
    const { id, since, licence } = watched.structuredContent
    const label = { Product: 'NYSE', Table: 'ticks', Access: 'delayed', Delay: SECONDS }
    assert.partialDeepStrictEqual(licence, [label])
    assert.deepEqual(watched.structuredContent.rows, [])
    const changed = await agent.call('changes', { id, since, wait: 25, format: 'json' })
    assert.ok(Date.now() - begun >= DELAY_MS, `${Date.now() - begun} ms`)
    assert.deepEqual(changed.structuredContent.put[0].row, [1, 10])
    assert.ok(Date.parse(changed.structuredContent.as_of) <= Date.now() - DELAY_MS, changed.structuredContent.as_of)
    const text = await agent.text('query', { statement })
    assert.match(text, /\n1,10\n# NYSE is delayed by 2 s, as of [^\n]*Z: ticks$/)
    const { structuredContent } = await agent.call('query', { statement, format: 'json' })
    assert.partialDeepStrictEqual(structuredContent.licence, [label])
    assert.match(await agent.text('chart', { statement }), /\n# NYSE is delayed by 2 s/)
    assert.match(await agent.text('describe_table', { table: 'ticks' }), /\n# NYSE is delayed by 2 s/)
  })

  test('a watch of a pattern gives real-time topics at once, and delayed ones when they are old enough, each once', async () => {
    const send = (topic: string, value: string) => publish(place.server, 'Mixed', topic, value)
    const { structuredContent: whole } = await agent.call('watch', { feed: 'Mixed', topic: '*', format: 'json' })
    assert.partialDeepStrictEqual(whole.licence, [{ Feed: 'Mixed', Access: 'none' }, { Product: 'NYSE' }])
    const begun = Date.now()
    await send('NYSE/IBM', 'delayed 1')
    await send('LSE/VOD', 'now 1')
    await send('NYSE/IBM', 'delayed 2')
    await send('LSE/VOD', 'now 2')
    const seen: string[] = []
    for (let since = whole.since; seen.length < 4; ) {
      assert.ok(Date.now() - begun < 20_000, seen.join())
      const { structuredContent } = await agent.call('changes', { id: whole.id, since, wait: 5, format: 'json' })
      since = structuredContent.since
      for (const { data } of structuredContent.messages) {
        if (data.includes('delayed'))
          assert.ok(Date.now() - begun >= DELAY_MS, `${data} after ${Date.now() - begun} ms`)
        seen.push(JSON.parse(data))
      }
    }
    assert.deepEqual(seen.toSorted(), ['delayed 1', 'delayed 2', 'now 1', 'now 2'])
  })

  test('an alert fires when its owner can see the row; without access it is suspended; another owner is shown nothing of before', async () => {
    const { server } = place
    const admin = await AlertClient.signIn(server)
    await admin.declareChannel('hook', `${receiver.origin}/hook`)
    const alice = await AlertClient.signIn(server, ALICE)
    const { id } = await alice.create({
      ...{ name: 'High', statement: 'SELECT id, price FROM ticks WHERE id > 100', when: 'price > 50' },
      ...{ group: '0 seconds', channels: ['hook'] },
    })
    await until('it is watched', 10_000, async () => (await alice.get(id)).watched !== null)
    const begun = await insert(101, 99)
    const notices = () => receiver.received.filter(({ body }) => body.data?.alert === id)
    await until('a notice has come', 20_000, () => notices().length > 0)
    const [first] = notices()
    assert.ok(Date.now() - begun >= DELAY_MS, `${Date.now() - begun} ms`)
    assert.ok(first)
    const { instances, as_of: asOf, text } = first.body.data
    assert.deepEqual(instances[0].row, { id: 101, price: 99 })
    assert.ok(Date.parse(asOf) <= Date.now() - DELAY_MS, asOf)
    assert.match(text, /\ndelayed: as of /)
    await place.patch('/entitlements/NYSE:user:alice', { access: 'none' })
    await until('it is suspended', 10_000, async () => (await alice.get(id)).state === 'suspended')
    await insert(102, 99)
    await place.patch('/entitlements/NYSE:user:alice', { access: 'delayed' })
    await until('it is back', 20_000, async () => (await alice.get(id)).state === 'firing')
    // Another owner is shown nothing of what it was.
    await admin.call('PATCH', `/admin/alerts/${id}`, { owner: 'admin' })
    assert.deepEqual((await admin.get(id)).instances, [])
    assert.deepEqual((await admin.call('GET', `/alerts/${id}/history`)).items, [])
  })

  test('an alert displaces nobody: it waits for a place, and leaves it to a sign-in', async () => {
    const { server } = place
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await place.rows(`CREATE TABLE depth (id Integer PRIMARY KEY, price Integer NOT NULL) ${scopes}`, server.admin)
    await (await AlertClient.signIn(server)).declareChannel('depth-hook', `${receiver.origin}/depth`)
    const alice = await AlertClient.signIn(server, ALICE)
    const look = async () => place.live('SELECT id FROM depth', (await signIn(server)).access_token)
    const first = await look()
    assert.deepEqual(keys(await first.next()), [])
    const { id } = await alice.create({
      ...{ name: 'Deep', statement: 'SELECT id, price FROM depth', when: 'price > 50' },
      ...{ group: '0 seconds', channels: ['depth-hook'] },
    })
    const isIn = async (state: string) => (await alice.get(id)).state === state
    await until('it waits for a place', 10_000, () => isIn('suspended'))
    first.close()
    await until('it has the place', 20_000, () => isIn('ok'))
    const second = await look()
    assert.deepEqual(keys(await second.next()), [])
    await until('the sign-in has displaced it', 10_000, () => isIn('suspended'))
    // It is tried again then.
    const given = await place.admin('POST', '/entitlements', { product: 'LSE', user: 'admin', access: 'realtime' })
    assert.equal(given.status, 201, JSON.stringify(given.body))
    await sleep(1_500)
    await place.rows('INSERT INTO depth (id, price) VALUES (1, 99)', server.handler)
    assert.deepEqual(keys(await second.next()), [[1]])
    second.close()
    await until('it has the place again', 20_000, () => isIn('firing'))
  })
})
