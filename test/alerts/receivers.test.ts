/** Receivers of alerts that fail, redirect, hang, answer without end or are gone: notices arrive once and in order, and hold up no others. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { onSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { type Received, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

onSqlite('receivers of alerts', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let client: AlertClient
  const answers = new Map<string, (request: Received, response: ServerResponse) => void>()
  before(async () => {
    receiver = await startReceiver()
    receiver.answer((request, response) => {
      const answer = answers.get(request.path)
      if (answer === undefined) response.writeHead(204).end()
      else answer(request, response)
    })
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    client = await AlertClient.signIn(server)
    await client.query(
      "CREATE TABLE steps (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })

  const set = (id: number, level: number) =>
    client.query(
      `INSERT INTO steps (id, level) VALUES (${id}, ${level}) ON CONFLICT (id) DO UPDATE SET level = excluded.level`,
    )
  const at = (path: string): readonly Received[] => receiver.received.filter((each) => each.path === path)
  const sequences = (path: string): readonly number[] => at(path).map(({ body }) => body.data.sequence)

  /** An alert over the row with an id, with a channel and an address of its own. */
  async function watch(name: string, id: number, members: object = {}): Promise<string> {
    await client.declareChannel(name, `${receiver.origin}/${name}`)
    await set(id, 0)
    const alert = await client.create({
      name,
      statement: `SELECT id, level FROM steps WHERE id = ${id}`,
      when: 'level > 10',
      group: '0 seconds',
      channels: [name],
      ...members,
    })
    await until('it is watched', 10_000, async () => (await client.get(alert.id)).watched !== null)
    return alert.id
  }
  const delivery = async (id: string) => (await client.call('GET', `/alerts/${id}/deliveries`)).items[0]

  test('500 is tried again with the same id, and the next waits for it', async () => {
    let failures = 1
    answers.set('/broken', (_request, response) => response.writeHead(failures-- > 0 ? 500 : 204).end())
    const id = await watch('broken', 1)
    await set(1, 20)
    await until('it has failed once', 5_000, () => at('/broken').length === 1)
    await set(1, 0)
    await until('both have it', 15_000, () => at('/broken').length === 3)
    assert.deepEqual(sequences('/broken'), [1, 1, 2])
    const [first, again] = at('/broken')
    assert.equal(first?.headers['webhook-id'], again?.headers['webhook-id'])
    assert.ok(Number(again?.headers['webhook-timestamp']) > Number(first?.headers['webhook-timestamp']))
    await until('it is listed', 2_000, async () => (await delivery(id)).state === 'sent')
  })

  test('a redirect is a failure, and is not followed', async () => {
    answers.set('/moved', (_request, response) =>
      response.writeHead(307, { location: `${receiver.origin}/stolen` }).end(),
    )
    const id = await watch('moved', 2)
    await set(2, 20)
    await until('it has failed', 5_000, async () => (await delivery(id))?.attempts === 1)
    const { state, status, error, next } = await delivery(id)
    assert.deepEqual([state, status], ['waiting', 307])
    assert.match(error, /redirects are not followed/)
    assert.ok(Date.parse(next) > Date.now())
    assert.equal(at('/stolen').length, 0)
  })

  test('Retry-After counts', async () => {
    answers.set('/later', (_request, response) => response.writeHead(503, { 'retry-after': '600' }).end())
    const id = await watch('later', 3)
    await set(3, 20)
    await until('it has failed', 5_000, async () => (await delivery(id))?.attempts === 1)
    const wait = Date.parse((await delivery(id)).next) - Date.now()
    assert.ok(wait > 590_000 && wait < 610_000, String(wait))
  })

  test('410 disables the channel: nothing more is sent until it is enabled, and then all of it', async () => {
    answers.set('/gone', (_request, response) => response.writeHead(410).end())
    await watch('gone', 4)
    await set(4, 20)
    await until(
      'it is disabled',
      5_000,
      async () => (await client.call('GET', '/admin/channels/gone')).disabled === true,
    )
    const audit = await client.call('GET', '/admin/audit?event=channel.gone')
    assert.equal(audit.items.at(-1).target, 'gone')
    answers.delete('/gone')
    await set(4, 0)
    await client.call('PATCH', '/admin/channels/gone', { disabled: false })
    await until('all was sent', 15_000, () => at('/gone').length >= 3)
    assert.deepEqual(sequences('/gone').slice(-2), [1, 2])
  })

  test('receivers that hang or answer without end hold up no other', async () => {
    answers.set('/hangs', () => {})
    answers.set('/endless', (_request, response) => {
      response.writeHead(200)
      const write = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(write))
      }
      write()
    })
    await watch('hangs', 5)
    const endless = await watch('endless', 6)
    const id = await watch('quick', 7)
    await Promise.all([set(5, 20), set(6, 20), set(7, 20)])
    const began = performance.now()
    await until('the quick one has its notice', 2_000, () => at('/quick').length === 1)
    assert.ok(performance.now() - began < 8_000)
    assert.ok(id)
    await until('the endless one has failed', 5_000, async () => (await delivery(endless))?.attempts === 1)
    assert.match((await delivery(endless)).error, /too long/)
  })

  test('100 wait, then states are joined to the last: each key is sent with its latest state', async () => {
    const id = await watch('flood', 8, { statement: 'SELECT id, level FROM steps WHERE id >= 1000' })
    // A receiver that fails would be tried at times that pass while the states change: 131 of them take half a minute, or far longer.
    await client.call('PATCH', '/admin/channels/flood', { disabled: true })
    for (let step = 0; step <= 130; step++) await setAndSee(1000, step % 2 === 0 ? 20 : 0, id)
    assert.equal(at('/flood').length, 0)
    const { items } = await client.call('GET', `/alerts/${id}/deliveries?limit=500`)
    assert.equal(items.length, 100)
    const joined = items.reduce((sum: number, each: { joined: number }) => sum + each.joined, 0)
    assert.equal(joined, 31)
    await client.call('PATCH', '/admin/channels/flood', { disabled: false })
    await until('all was sent', 30_000, () => sequences('/flood').includes(100))
    assert.deepEqual(
      sequences('/flood'),
      Array.from({ length: 100 }, (_each, index) => index + 1),
    )
    assert.equal(at('/flood').at(-1)?.body.data.instances[0].state, 'firing')
  })

  async function setAndSee(row: number, level: number, id: string): Promise<void> {
    const state = level > 10 ? 'firing' : 'ok'
    await set(row, level)
    await until(`it is ${state}`, 2_000, async () => (await client.get(id)).state === state)
  }
})
