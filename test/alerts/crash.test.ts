/** Alerts over crashes: a server that is killed sends after its restart what was due, and nothing twice but by its webhook-id. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { type Received, startReceiver, verify, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

onEveryEngine('alerts over crashes', (place) => {
  let receiver: WebhookReceiver
  let server: RunningProcess
  let client: AlertClient
  const start = async (): Promise<void> => {
    const { dataFolder, databaseUrl } = place()
    server = await serveProcess(['--demo', '--data', dataFolder, '--database-url', databaseUrl])
    client = await AlertClient.signIn(server)
  }
  const kill = async (): Promise<void> => {
    server.child.kill('SIGKILL')
    await server.ended
  }
  before(async () => {
    receiver = await startReceiver()
    await start()
  })
  after(async () => {
    await server.stop('SIGKILL')
    await receiver.stop()
  })
  const notices = (of: string) => receiver.received.filter(({ body }) => body.data.alert === of)
  const instances = (of: string): readonly string[] => listInstances(notices(of))
  const set = (id: number, level: number) =>
    client.query(
      `INSERT INTO levels (id, level) VALUES (${id}, ${level}) ON CONFLICT (id) DO UPDATE SET level = excluded.level`,
    )

  test('kill -9 between firing and delivery, and while a delivery is under way', async () => {
    const secret = await client.declareChannel('hook', `${receiver.origin}/hook`)
    await client.query(
      "CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    const alert = {
      statement: 'SELECT id, level FROM levels',
      when: 'level > 10',
      group: '0 seconds',
      channels: ['hook'],
    }
    const { id } = await client.create({ ...alert, name: 'Level' })
    const { id: event } = await client.create({ ...alert, name: 'Event', mode: 'event' })
    for (const each of [id, event])
      await until('it is watched', 10_000, async () => (await client.get(each)).watched !== null)
    // The receiver never answers: the first delivery is under way, the others wait.
    receiver.answer(() => {})
    await set(1, 11)
    await until('the first is under way', 5_000, () => receiver.received.length >= 2)
    await set(2, 12)
    await set(1, 1)
    await until('all is in the history', 5_000, async () => {
      const { items } = await client.call('GET', `/alerts/${id}/history`)
      const events = await client.call('GET', `/alerts/${event}/history`)
      return items.length === 3 && events.items.length === 2
    })
    await kill()
    const underWay = receiver.received.map(({ headers }) => headers['webhook-id'])
    receiver.received.length = 0
    receiver.answer((_request, response) => response.writeHead(204).end())
    await start()
    await until('all was sent', 15_000, () => instances(id).length >= 3 && instances(event).length >= 2)
    for (const request of receiver.received) verify(request, secret)
    // What was under way is repeated with its id.
    assert.ok(underWay.includes(notices(id)[0]?.headers['webhook-id']))
    assert.deepEqual(
      notices(id).map(({ body }) => body.data.sequence),
      notices(id).map((_each, index) => index + 1),
    )
    assert.equal(instances(id)[0], '1 firing')
    assert.deepEqual(instances(id).slice(1).sort(), ['1 resolved', '2 firing'])
    assert.deepEqual(instances(event), ['1 event', '2 event'])
  })

  test('what happens while no server runs is sent, and what was just sent is sent again only by its id', async () => {
    const { items } = await client.call('GET', '/alerts')
    const [event, level] = items
    assert.equal(event.name, 'Event')
    await kill()
    const before = new Map(receiver.received.map(({ headers, body }) => [headers['webhook-id'], body]))
    receiver.received.length = 0
    await start()
    await set(3, 30)
    const isNew = ({ headers }: Received): boolean => !before.has(headers['webhook-id'])
    const added = (of: string) => notices(of).filter(isNew)
    await until('both have it', 15_000, () => added(level.id).length > 0 && added(event.id).length > 0)
    assert.deepEqual(listInstances(added(level.id)), ['3 firing'])
    assert.deepEqual(listInstances(added(event.id)), ['3 event'])
    assert.equal(added(event.id)[0]?.body.data.missed, undefined)
    // The server was killed before it had stored their answers.
    for (const { headers, body } of receiver.received.filter((each) => !isNew(each)))
      assert.deepEqual(body, before.get(headers['webhook-id']))
  })

  test('what was sent, and is stored as sent, is not sent again', async () => {
    const { items } = await client.call('GET', '/alerts')
    const [event, level] = items
    for (const { id } of items)
      await until('its deliveries are stored as sent', 10_000, async () => {
        const deliveries = await client.call('GET', `/alerts/${id}/deliveries`)
        return deliveries.items.every(({ state }: { state: string }) => state === 'sent')
      })
    await kill()
    receiver.received.length = 0
    await start()
    await set(4, 40)
    await until('both have it', 15_000, () => notices(level.id).length > 0 && notices(event.id).length > 0)
    assert.deepEqual(instances(level.id), ['4 firing'])
    assert.deepEqual(instances(event.id), ['4 event'])
  })
})

function listInstances(notices: readonly Received[]): readonly string[] {
  return notices.flatMap(({ body }) =>
    body.data.instances.map(({ key, state }: { key: unknown; state: string }) => `${key} ${state}`),
  )
}
