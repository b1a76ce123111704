/** Alerts from the request to the receiver: states, events, silences, faults, and who may see what. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { type Received, startReceiver, verify, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

onEveryEngine('alerts', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let client: AlertClient
  let secret: string
  before(async () => {
    receiver = await startReceiver()
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    client = await AlertClient.signIn(server)
    secret = await client.declareChannel('hook', `${receiver.origin}/hook`)
    await client.declareChannel('admins', `${receiver.origin}/admins`, { use: 'Platform/Admin' })
    await client.query(
      "CREATE TABLE ticks (symbol Text PRIMARY KEY, bid Decimal(12, 4) NOT NULL, ask Decimal(12, 4), desk Text) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })

  const add = (symbol: string, bid: string, ask: string, desk = 'FX') =>
    client.query(`INSERT INTO ticks (symbol, bid, ask, desk) VALUES ('${symbol}', ${bid}, ${ask}, '${desk}')`)
  const move = (symbol: string, ask: string) => client.query(`UPDATE ticks SET ask = ${ask} WHERE symbol = '${symbol}'`)
  const notices = (alert: string): readonly Received[] =>
    receiver.received.filter(({ body }) => body.data?.alert === alert)
  const noticesCome = (alert: string, count: number) =>
    until(`${count} notices have come`, 5_000, () => notices(alert).length >= count)
  const SPREAD = {
    statement: 'SELECT symbol, ask - bid AS spread FROM ticks WHERE desk = :d',
    parameters: { d: 'FX' },
    when: 'spread > 0.5',
    group: '0 seconds',
    channels: ['hook'],
  }
  const create = (members: object) => client.create({ ...SPREAD, ...members })

  test('a key fires and is resolved: both are sent, signed, in order, with the row', async () => {
    await add('EURUSD', '1.0000', '1.1000')
    const { id, state } = await create({
      name: 'Wide spread',
      until: 'spread < 0.3',
      title: '{{symbol}} {{spread}}',
    })
    assert.equal(state, 'ok')
    await until('it is watched', 10_000, async () => (await client.get(id)).watched !== null)
    await move('EURUSD', '1.6000')
    await noticesCome(id, 1)
    const [first] = notices(id)
    assert.ok(first)
    verify(first, secret)
    const { type, data } = first.body
    assert.equal(type, 'alert.firing')
    const [{ since, ...instance }] = data.instances
    assert.deepEqual(instance, { key: ['EURUSD'], state: 'firing', row: { symbol: 'EURUSD', spread: '0.6000' } })
    assert.equal(data.title, 'EURUSD 0.6000')
    assert.equal(data.sequence, 1)
    // Between the thresholds it goes on.
    await move('EURUSD', '1.4000')
    assert.equal((await client.get(id)).state, 'firing')
    await move('EURUSD', '1.2000')
    await noticesCome(id, 2)
    assert.equal(notices(id)[1]?.body.type, 'alert.resolved')
    assert.equal(notices(id)[1]?.body.data.sequence, 2)
    const shown = await client.get(id)
    assert.equal(shown.state, 'ok')
    assert.deepEqual(shown.instances, [])
    const { items } = await client.call('GET', `/alerts/${id}/history`)
    assert.deepEqual(
      items.map((event: { type: string }) => event.type),
      ['resolved', 'firing'],
    )
  })

  test('what matches when an alert is made is sent; a row that goes ends it; NULL is not true', async () => {
    await add('GBPUSD', '1.0000', '2.0000', 'GBP')
    await add('GBPJPY', '1.0000', 'NULL', 'GBP')
    const { id } = await create({ name: 'At once', parameters: { d: 'GBP' } })
    await noticesCome(id, 1)
    assert.deepEqual(
      notices(id)[0]?.body.data.instances.map(({ key }: { key: unknown }) => key),
      [['GBPUSD']],
    )
    await client.query("DELETE FROM ticks WHERE symbol = 'GBPUSD'")
    await noticesCome(id, 2)
    assert.equal(notices(id)[1]?.body.type, 'alert.resolved')
  })

  test('for: what does not last sends no notice', async () => {
    await add('USDJPY', '1.0000', '1.1000', 'JPY')
    const { id } = await create({ name: 'Lasting', parameters: { d: 'JPY' }, for: '1 second' })
    await move('USDJPY', '1.9000')
    await until('it is pending', 2_000, async () => (await client.get(id)).state === 'pending')
    await move('USDJPY', '1.1000')
    await until('it is over', 2_000, async () => (await client.get(id)).state === 'ok')
    await move('USDJPY', '1.9000')
    await noticesCome(id, 1)
    assert.ok(Date.parse(notices(id)[0]?.body.data.instances[0].since) > 0)
    assert.equal(notices(id).length, 1)
  })

  test('group: several keys are one delivery', async () => {
    for (const symbol of ['AUDUSD', 'NZDUSD']) await add(symbol, '1.0000', '1.1000', 'AUD')
    const { id } = await create({ name: 'Together', parameters: { d: 'AUD' }, group: '1 second' })
    await move('AUDUSD', '1.9000')
    await move('NZDUSD', '1.9000')
    await noticesCome(id, 1)
    assert.equal(notices(id)[0]?.body.data.instances.length, 2)
  })

  test('a silence: fired and resolved in it sends no notice, still firing at its end sends one', async () => {
    for (const symbol of ['SEK1', 'SEK2']) await add(symbol, '1.0000', '1.1000', 'SEK')
    const { id } = await create({ name: 'Silent', parameters: { d: 'SEK' } })
    const silenced = await client.call('POST', `/alerts/${id}/silence`, { for: '1 hour' })
    assert.equal(silenced.silences.length, 1)
    await move('SEK1', '1.9000')
    await move('SEK2', '1.9000')
    await until('both fire', 2_000, async () => (await client.get(id)).instances.length === 2)
    await move('SEK1', '1.1000')
    await until('one is over', 2_000, async () => (await client.get(id)).instances.length === 1)
    assert.equal(notices(id).length, 0)
    await client.call('DELETE', `/alerts/${id}/silence`)
    await noticesCome(id, 1)
    assert.deepEqual(
      notices(id)[0]?.body.data.instances.map(({ key }: { key: unknown }) => key),
      [['SEK2']],
    )
    await move('SEK2', '1.1000')
    await noticesCome(id, 2)
    assert.equal(notices(id).length, 2)
  })

  test('absent: fires with the key null while no row matches', async () => {
    const { id } = await create({ name: 'Quiet', parameters: { d: 'none' }, absent: '1 second' })
    await noticesCome(id, 1)
    assert.deepEqual(notices(id)[0]?.body.data.instances[0].key, null)
    await add('NONE', '1.0000', '1.9000', 'none')
    await noticesCome(id, 2)
    const types = notices(id).flatMap(({ body }) => body.data.instances.map((each: { state: string }) => each.state))
    assert.ok(types.includes('resolved'), types.join())
  })

  test('event: each key that comes to match is sent once, and none that matched before', async () => {
    await add('EV0', '1.0000', '1.9000', 'EV')
    const { id } = await create({ name: 'Events', mode: 'event', parameters: { d: 'EV' } })
    await add('EV1', '1.0000', '1.9000', 'EV')
    await noticesCome(id, 1)
    await move('EV1', '1.8000')
    await add('EV2', '1.0000', '1.1000', 'EV')
    await move('EV2', '1.9000')
    await noticesCome(id, 2)
    const keys = notices(id).flatMap(({ body }) => body.data.instances.map(({ key }: { key: unknown }) => key))
    assert.deepEqual(keys, [['EV1'], ['EV2']])
    assert.equal(notices(id)[0]?.body.type, 'alert.event')
  })

  test('a statement that begins to fail sends one notice, and one when it goes on; states stay', async () => {
    await client.query(
      "CREATE TABLE ratios (id Integer PRIMARY KEY, a Integer NOT NULL, b Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    await client.query('INSERT INTO ratios VALUES (1, 10, 2)')
    const { id } = await client.create({
      name: 'Ratio',
      statement: 'SELECT id, a / b AS ratio FROM ratios',
      when: 'ratio > 3',
      group: '0 seconds',
      channels: ['hook'],
    })
    await noticesCome(id, 1)
    await client.query('INSERT INTO ratios VALUES (2, 1, 0)')
    await noticesCome(id, 2)
    assert.equal(notices(id)[1]?.body.type, 'alert.error')
    const failed = await client.get(id)
    assert.equal(failed.state, 'error')
    assert.equal(failed.instances.length, 1)
    await client.query('DELETE FROM ratios WHERE id = 2')
    await noticesCome(id, 3)
    assert.equal(notices(id)[2]?.body.type, 'alert.recovered')
    assert.equal((await client.get(id)).state, 'firing')
  })

  const WRONG: readonly [what: string, members: object, path: string][] = [
    ['a condition that computes', { when: 'spread * 2 > 1' }, 'when'],
    ['a condition on a column that there is not', { when: 'price > 1' }, 'when'],
    ['a condition with a sub-query', { until: 'spread > (SELECT 1)' }, 'until'],
    ['a condition that is no condition', { when: 'spread' }, 'when'],
    ['a title with a column that there is not', { title: '{{price}}' }, 'title'],
    ['an unknown channel', { channels: ['elsewhere'] }, 'channels[0]'],
    ['a channel that the token may not use', { channels: ['admins'] }, 'channels[0]'],
    ['a time that is too long', { for: '2 days' }, 'for'],
    ['a member about states in the mode event', { mode: 'event', for: '1 second' }, 'for'],
    ['an unknown zone', { zone: 'Mars/Olympus' }, 'zone'],
    [
      'a statement whose rows have no key',
      { statement: 'SELECT ask - bid AS spread FROM ticks WHERE desk = :d UNION ALL SELECT 1' },
      'statement',
    ],
    ['an unknown member', { threshold: 1 }, 'threshold'],
    ['a name that is taken', { name: 'Wide spread' }, 'name'],
  ]
  for (const [what, members, path] of WRONG)
    test(`422: ${what}`, async () => {
      const alice = await AlertClient.signIn(server, ALICE)
      const owner = what.includes('name') ? client : alice
      const response = await owner.request('POST', '/alerts', { ...SPREAD, name: `Wrong ${what}`, ...members })
      const problem = (await response.json()) as { Code: string; Faults?: { path: string }[]; detail: string }
      assert.equal(response.status, 422, JSON.stringify(problem))
      assert.equal(problem.Code, 'Alert.Invalid')
      assert.ok(
        problem.Faults?.some((fault) => fault.path === path),
        JSON.stringify(problem),
      )
    })

  test('a statement that does not bind is refused with its own problem', async () => {
    const response = await client.request('POST', '/alerts', {
      ...SPREAD,
      name: 'Unbound',
      statement: 'SELECT x FROM ticks',
    })
    assert.equal(response.status, 400)
    assert.equal(((await response.json()) as { Code: string }).Code, 'IQL.UnknownColumn')
  })

  test("own only: others' do not exist, nor do those that were written with rights that the token lacks", async () => {
    const { id } = await create({ name: 'Mine', paused: true })
    const alice = await AlertClient.signIn(server, ALICE)
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/silence'],
      ['GET', '/deliveries'],
    ] as const) {
      const response = await alice.request(
        method,
        `/alerts/${id}${path}`,
        method === 'GET' || method === 'DELETE' ? undefined : { for: '1 hour' },
      )
      assert.equal(response.status, 404, method + path)
    }
    const narrow = await AlertClient.withScope(server, 'Platform/Market')
    assert.equal((await narrow.request('GET', `/alerts/${id}`)).status, 404)
    const { items } = await narrow.call('GET', '/alerts')
    assert.deepEqual(items, [])
    const own = await narrow.create({ ...SPREAD, name: 'Narrow', channels: [], paused: true })
    assert.equal((await client.get(own.id)).name, 'Narrow')
  })

  test('If-Match: a change needs the version that was read', async () => {
    const { id, version } = await create({ name: 'Versioned', paused: true })
    const missing = await client.request('PATCH', `/alerts/${id}`, { name: 'Other' }, '')
    assert.equal(missing.status, 428)
    const stale = await client.request('PATCH', `/alerts/${id}`, { name: 'Other' }, '"7"')
    assert.equal(stale.status, 412)
    const changed = await client.request('PATCH', `/alerts/${id}`, { name: 'Other' }, `"${version}"`)
    assert.equal(changed.status, 200)
    assert.equal(changed.headers.get('etag'), `"${version + 1}"`)
  })

  test('a test goes to its channels, and is listed with what came of it', async () => {
    const { id } = await create({ name: 'Tested', parameters: { d: 'nobody' } })
    await client.call('POST', `/alerts/${id}/test`, {})
    await noticesCome(id, 1)
    assert.equal(notices(id)[0]?.body.type, 'alert.test')
    await until('it is listed as sent', 2_000, async () => {
      const { items } = await client.call('GET', `/alerts/${id}/deliveries`)
      return items.length === 1 && items[0].state === 'sent' && items[0].attempts === 1
    })
  })

  test('an alert that is deleted tells nothing more, and nothing is left of it', async () => {
    await add('DEL', '1.0000', '1.1000', 'DEL')
    const { id } = await create({ name: 'Deleted', parameters: { d: 'DEL' } })
    await client.call('DELETE', `/alerts/${id}`)
    assert.equal((await client.request('GET', `/alerts/${id}`)).status, 404)
    await move('DEL', '1.9000')
    const other = await create({ name: 'After it', parameters: { d: 'DEL' } })
    await noticesCome(other.id, 1)
    assert.equal(notices(id).length, 0)
  })

  test('the tokens of a user who signs out do not matter, and a disabled owner suspends within a second', async () => {
    const alice = await AlertClient.signIn(server, ALICE)
    await add('ALI', '1.0000', '1.1000', 'ALI')
    const { id } = await alice.create({ ...SPREAD, name: 'Of Alice', parameters: { d: 'ALI' } })
    await client.call('PATCH', '/admin/users/alice', { disabled: true })
    await until('it is suspended', 1_000, async () => (await client.countInState('suspended')) === 1)
    await move('ALI', '1.9000')
    await client.call('PATCH', '/admin/users/alice', { disabled: false })
    await noticesCome(id, 1)
    assert.ok((await signIn(server, ALICE)).access_token)
    assert.equal(notices(id).length, 1)
  })
})
