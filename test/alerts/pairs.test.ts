/** Alerts beside what else changes rows: materialized views, retention, row filters behind views, and a move to another engine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

const SCOPES = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"

function listSent({ received }: WebhookReceiver, id: string): readonly string[] {
  return received
    .filter(({ body }) => body.data.alert === id)
    .flatMap(({ body }) =>
      body.data.instances.map(({ key, state }: { key: unknown; state: string }) => `${key} ${state}`),
    )
}

onEveryEngineInLongRuns('alerts beside views and retention', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let admin: AlertClient
  before(async () => {
    receiver = await startReceiver()
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await AlertClient.signIn(server)
    await admin.declareChannel('hook', `${receiver.origin}/hook`)
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })
  const sent = (id: string) => listSent(receiver, id)
  const watch = async (client: AlertClient, name: string, members: object): Promise<string> => {
    const { id } = await client.create({ name, group: '0 seconds', channels: ['hook'], ...members })
    await until('it is watched', 10_000, async () => (await client.get(id)).watched !== null)
    return id
  }

  test('over a materialized view it follows the groups, also when a row that made one goes', async () => {
    await admin.query(
      `CREATE TABLE readings (id Integer PRIMARY KEY, sensor Text NOT NULL, v Integer NOT NULL) ${SCOPES}`,
    )
    await admin.query('CREATE INDEX readings_by_sensor ON readings (sensor)')
    await admin.query('CREATE MATERIALIZED VIEW tops AS SELECT sensor, max(v) AS top FROM readings GROUP BY sensor')
    const id = await watch(admin, 'Tops', { statement: 'SELECT sensor, top FROM tops', when: 'top > 10' })
    await admin.query("INSERT INTO readings VALUES (1, 'a', 5), (2, 'b', 20)")
    await until('it fires', 10_000, () => sent(id).length === 1)
    await admin.query('DELETE FROM readings WHERE id = 2')
    await until('it ends', 10_000, () => sent(id).length === 2)
    assert.deepEqual(sent(id), ['b firing', 'b resolved'])
  })

  test('rows that a retention deletes end', async () => {
    await admin.query(`CREATE TABLE jobs (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id)) ${SCOPES}`)
    await admin.query("INSERT INTO jobs VALUES ('2001-02-03T04:05:06Z', 1)")
    const id = await watch(admin, 'Jobs', { statement: 'SELECT at, id FROM jobs' })
    await until('it fires', 10_000, () => sent(id).length === 1)
    await admin.query("ALTER TABLE jobs SET WITH (retention = '1 day' ON at)")
    await admin.call('POST', '/admin/retention/jobs/run', {})
    await until('it ends', 15_000, () => sent(id).length === 2)
    assert.match(sent(id)[1] ?? '', /,1 resolved$/)
  })

  test('a view shows no row that the row filter of its table hides', async () => {
    await admin.query(`CREATE TABLE pads (id Integer PRIMARY KEY, who Text NOT NULL) ${SCOPES}`)
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    await admin.query('CREATE VIEW every_pad AS SELECT id, who FROM pads')
    const alice = await AlertClient.signIn(server, ALICE)
    const id = await watch(alice, 'Pads', { statement: 'SELECT id, who FROM every_pad' })
    await admin.query("INSERT INTO pads VALUES (1, 'carol'), (2, 'alice')")
    await until('it fires', 10_000, () => sent(id).length > 0)
    assert.deepEqual(sent(id), ['2 firing'])
    assert.deepEqual(
      (await alice.get(id)).instances.map(({ row }: { row: unknown }) => row),
      [{ id: 2, who: 'alice' }],
    )
  })
})

test('after a move to PostgreSQL it goes on: what waits is sent, what was sent is not, and the numbers go on', async (t) => {
  const receiver = await startReceiver()
  const { place, leave } = await openPlace('sqlite')
  const postgres = await createPostgresDatabase()
  t.after(async () => {
    await receiver.stop()
    await leave()
    await postgres.drop()
    await stopOwnPostgres()
  })
  const target: TestPlace = { engine: 'postgres', dataFolder: place.dataFolder, databaseUrl: postgres.url }
  const first = await startTestServer(place, { flags: { '--demo': 'true' } })
  let client = await AlertClient.signIn(first)
  await client.declareChannel('hook', `${receiver.origin}/hook`)
  await client.query(`CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) ${SCOPES}`)
  const { id } = await client.create({
    ...{ name: 'Level', statement: 'SELECT id, level FROM levels', when: 'level > 10' },
    ...{ group: '0 seconds', channels: ['hook'] },
  })
  await client.query('INSERT INTO levels VALUES (1, 20)')
  await until('it is sent', 10_000, async () => {
    const { items } = await client.call('GET', `/alerts/${id}/deliveries`)
    return items[0]?.state === 'sent'
  })
  receiver.answer((_request, response) => response.writeHead(503).end())
  await client.query('INSERT INTO levels VALUES (2, 20)')
  await until('a delivery waits', 10_000, async () => {
    const { items } = await client.call('GET', `/alerts/${id}/deliveries`)
    return items[0]?.attempts === 1
  })
  await first.stop()
  receiver.received.length = 0
  receiver.answer((_request, response) => response.writeHead(204).end())

  const words = ['move', '--to', target.databaseUrl, '--data', place.dataFolder]
  const { status, stderr } = await runInProcess(words)
  assert.equal(status, 0, stderr)
  const second = await startTestServer(target, { flags: { '--demo': 'true' } })
  t.after(() => second.stop())
  client = await AlertClient.signIn(second)
  await client.query('UPDATE levels SET level = 0 WHERE id = 1')
  await until('the end arrives', 30_000, () => listSent(receiver, id).includes('1 resolved'))
  assert.deepEqual(listSent(receiver, id), ['2 firing', '1 resolved'])
  assert.deepEqual(
    receiver.received.map(({ body }) => body.data.sequence),
    [2, 3],
  )
})
