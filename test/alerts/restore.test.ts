/** Alerts of a restored backup: what waited when it was taken is not sent again, and they go on with what happens from then on. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { EMPTY, onEveryEngine, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

onEveryEngine('alerts over a restore', EMPTY, (place, engine) => {
  test('what waited is dropped and said so; states go on, and a new transition is sent once', async (t) => {
    const receiver = await startReceiver()
    t.after(() => receiver.stop())
    receiver.answer((_request, response) => response.writeHead(503).end())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-alerts-'))
    const database = engine === 'postgres' ? await createPostgresDatabase(EMPTY) : undefined
    t.after(async () => {
      await database?.drop()
      await rm(folder, { recursive: true, force: true })
    })
    const backup = join(folder, 'backup')
    const id = await fireAndBackUp(place(), receiver.origin, backup)

    const restored = { engine, dataFolder: join(folder, 'data'), databaseUrl: database?.url ?? '' }
    await gatehouse(restored, ['restore', backup])
    receiver.received.length = 0
    receiver.answer((_request, response) => response.writeHead(204).end())
    const server = await startTestServer(restored, { flags: { '--demo': 'true' } })
    t.after(() => server.stop())
    const client = await AlertClient.signIn(server)
    await until('it is watched', 10_000, async () => (await client.countInState('firing')) === 1)
    const { items } = await client.call('GET', `/alerts/${id}/deliveries`)
    assert.deepEqual(
      items.map(({ state, error }: { state: string; error: string }) => [state, error]),
      [['dropped', 'A backup was restored']],
    )
    await client.query('UPDATE levels SET level = 0 WHERE id = 1')
    await until('the end has arrived', 10_000, () => receiver.received.length > 0)
    assert.deepEqual(
      receiver.received.map(({ body }) => [body.type, body.data.instances[0].key]),
      [['alert.resolved', [1]]],
    )
  })
})

/** Leaves a delivery that waits in the backup. Resolves with the alert. */
async function fireAndBackUp(place: TestPlace, origin: string, backup: string): Promise<string> {
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  try {
    const client = await AlertClient.signIn(server)
    await client.declareChannel('hook', `${origin}/hook`)
    await client.query(
      "CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    const { id } = await client.create({
      name: 'Level',
      statement: 'SELECT id, level FROM levels',
      when: 'level > 10',
      group: '0 seconds',
      channels: ['hook'],
    })
    await client.query('INSERT INTO levels VALUES (1, 20)')
    await until('it has failed once', 10_000, async () => {
      const { items } = await client.call('GET', `/alerts/${id}/deliveries`)
      return items[0]?.attempts === 1
    })
    await gatehouse(place, ['backup', backup])
    return id
  } finally {
    await server.stop()
  }
}

async function gatehouse(place: TestPlace, args: readonly string[]): Promise<void> {
  const environment = { GATEHOUSE_DATA: place.dataFolder, GATEHOUSE_DATABASE_URL: place.databaseUrl }
  const { status, stderr } = await runInProcess(args, { environment })
  assert.equal(status, 0, stderr)
}
