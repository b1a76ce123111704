/** An alert shows what its owner may see then: lost scopes, row filters and attributes take rows away without a word, also while deliveries wait. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { onEveryEngineInLongRuns, type TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

/** A statement of another program, with PostgreSQL's names of tables. */
async function writeForeign({ engine, dataFolder, databaseUrl }: TestPlace, sql: string): Promise<void> {
  if (engine === 'sqlite') {
    const database = new Sqlite(join(dataFolder, 'query.db'), { timeout: 5000 })
    database.exec(sql.replaceAll('gatehouse_data.', ''))
    database.close()
    return
  }
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** While no server runs, as by a node without alerts. */
async function setAttributes(
  { dataFolder, databaseUrl }: TestPlace,
  username: string,
  attributes: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const database = await openDatabase({ dataFolder, url: databaseUrl })
  try {
    const changed = { attributes: JSON.stringify(attributes) }
    await database.db.updateTable('users').set(changed).where('username', '=', username).execute()
  } finally {
    await database.close()
  }
}

const BOB = { username: 'bob', password: 'a password of bob' }

onEveryEngineInLongRuns('alerts and the rights of their owners', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let admin: AlertClient
  let bob: AlertClient
  const start = async (): Promise<void> => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await AlertClient.signIn(server)
  }
  before(async () => {
    receiver = await startReceiver()
    await start()
    await admin.declareChannel('hook', `${receiver.origin}/hook`)
    await admin.call('POST', '/admin/roles', { name: 'reader', scopes: ['Platform/Market'] })
    await admin.call('POST', '/admin/roles', { name: 'pad', scopes: ['Platform/OrderPad'] })
    await admin.call('POST', '/admin/users', { ...BOB, roles: ['reader', 'pad'] })
    bob = await AlertClient.signIn(server, BOB)
    await admin.query(
      "CREATE TABLE pads (id Integer PRIMARY KEY, who Text NOT NULL, level Integer NOT NULL) READ SCOPE 'Platform/OrderPad' WRITE SCOPE 'Platform/Admin'",
    )
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })
  beforeEach(() => {
    receiver.answer((_request, response) => response.writeHead(204).end())
  })

  const set = (id: number, level: number, who = 'bob') =>
    admin.query(
      `INSERT INTO pads (id, who, level) VALUES (${id}, '${who}', ${level}) ON CONFLICT (id) DO UPDATE SET level = excluded.level, who = excluded.who`,
    )
  const setRoles = (...roles: string[]) => admin.call('PATCH', '/admin/users/bob', { roles })
  const readState = async (id: string) => (await bob.get(id)).state
  const deliveries = async (id: string) => (await bob.call('GET', `/alerts/${id}/deliveries`)).items
  const sent = (id: string): readonly string[] =>
    receiver.received
      .filter(({ body }) => body.data.alert === id)
      .flatMap(({ body }) =>
        body.data.instances.map(({ key, state }: { key: unknown; state: string }) => `${key} ${state}`),
      )
  const watch = async (name: string, members: object = {}): Promise<string> => {
    const { id } = await bob.create({
      ...{ name, statement: 'SELECT id, who, level FROM pads', when: 'level > 10' },
      ...{ group: '0 seconds', channels: ['hook'], ...members },
    })
    await until('it is watched', 10_000, async () => (await bob.get(id)).watched !== null)
    return id
  }

  test('a scope is lost while others are left: it is suspended, and stays so until the scope is back', async () => {
    await set(1, 0)
    const id = await watch('Pads')
    await setRoles('reader')
    const again = await AlertClient.signIn(server, BOB)
    await until('it is suspended', 5_000, async () => (await admin.countInState('suspended')) === 1)
    await set(1, 20)
    // It is tried again after a second, then after two: each time without the scope.
    const retried = performance.now() + 4_000
    await until('it was tried again', 6_000, () => performance.now() > retried)
    assert.equal(await admin.countInState('suspended'), 1)
    assert.deepEqual(sent(id), [])
    // Its rows are of a table that the token may not read.
    assert.equal((await again.request('GET', `/alerts/${id}`)).status, 404)
    await setRoles('reader', 'pad')
    bob = await AlertClient.signIn(server, BOB)
    await until('it goes on', 10_000, () => sent(id).length > 0)
    assert.deepEqual(sent(id), ['1 firing'])
    await bob.call('DELETE', `/alerts/${id}`)
  })

  test('a row filter takes rows away: they end without a word, and what waits is dropped', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end())
    await set(1, 20)
    await set(2, 20, 'carol')
    const id = await watch('Filtered')
    const event = await watch('Filtered events', { mode: 'event', group: '1 hour' })
    await until('a delivery waits', 5_000, async () => (await deliveries(id))[0]?.attempts >= 1)
    await set(3, 20, 'carol')
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    await until('the waiting ones are dropped', 5_000, async () =>
      (await deliveries(id)).every(({ state }: { state: string }) => state === 'dropped'),
    )
    await until('the rows of others are gone', 5_000, async () => {
      const keys = (await bob.get(id)).instances.map(({ key }: { key: unknown }) => key)
      return JSON.stringify(keys) === '[[1]]'
    })
    receiver.answer((_request, response) => response.writeHead(204).end())
    receiver.received.length = 0
    await set(1, 0)
    await until('the end of what is visible arrives', 5_000, () => sent(id).length > 0)
    assert.deepEqual(sent(id), ['1 resolved'])
    await bob.call('PATCH', `/alerts/${event}`, { group: '0 seconds' })
    await set(4, 20)
    await until('the event arrives', 5_000, () => sent(event).length > 0)
    assert.deepEqual(sent(event), ['4 event'])
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    for (const each of [id, event]) await bob.call('DELETE', `/alerts/${each}`)
    await admin.query('DELETE FROM pads ALL')
  })

  test('rows that a filter takes away while the statement fails: what waits about them is dropped', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end())
    await set(1, 20)
    await set(2, 20, 'carol')
    const id = await watch('Failing', {
      statement: 'SELECT id, who, 100 / level AS level FROM pads',
      when: 'level = 5',
    })
    await until('a delivery waits', 5_000, async () => (await deliveries(id))[0]?.attempts >= 1)
    await set(3, 0)
    await until('the statement fails', 5_000, async () => (await readState(id)) === 'error')
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    await until('it is dropped', 20_000, async () => {
      const items: readonly { sequence: number; state: string }[] = await deliveries(id)
      return items.find(({ sequence }) => sequence === 1)?.state === 'dropped'
    })
    assert.equal(await readState(id), 'error')
    receiver.answer((_request, response) => response.writeHead(204).end())
    receiver.received.length = 0
    await set(3, 100)
    await until('it goes on', 70_000, async () => (await readState(id)) === 'firing')
    assert.deepEqual(
      (await bob.get(id)).instances.map(({ key }: { key: unknown }) => key),
      [[1]],
    )
    assert.deepEqual(
      sent(id).filter((each) => !each.startsWith('1 ')),
      [],
    )
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    await bob.call('DELETE', `/alerts/${id}`)
    await admin.query('DELETE FROM pads ALL')
  })

  test('what could not be delivered is not sent by hand once rights were lost', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end())
    await set(2, 20, 'carol')
    const id = await watch('Dead')
    await until('a delivery waits', 5_000, async () => (await deliveries(id))[0]?.attempts >= 1)
    // As after a day.
    await writeForeign(place(), `UPDATE gatehouse_data._gh_alert_deliveries SET state = 'dead' WHERE alert = '${id}'`)
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    await until('the row is taken away', 5_000, async () => (await bob.get(id)).instances.length === 0)
    const [delivery] = await deliveries(id)
    const reply = await bob.request('POST', `/alerts/${id}/deliveries/${delivery.id}/retry`)
    assert.deepEqual([reply.status, (await deliveries(id))[0].state], [404, 'dropped'])
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    await bob.call('DELETE', `/alerts/${id}`)
    await admin.query('DELETE FROM pads ALL')
  })

  test('more rights are no loss at the next start; columns that are added change nothing', async () => {
    await set(1, 20)
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    const id = await watch('More', { statement: 'SELECT * FROM pads' })
    await until('it fires', 5_000, () => sent(id).length === 1)
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    await admin.query('ALTER TABLE pads ADD COLUMN note Text')
    await set(2, 20, 'carol')
    await until('the other fires', 5_000, () => sent(id).length === 2)
    await server.stop()
    await start()
    bob = await AlertClient.signIn(server, BOB)
    await until('it is watched again', 10_000, async () => (await admin.countInState('firing')) === 1)
    await admin.query('DELETE FROM pads WHERE id = 2')
    await until('its end arrives', 5_000, () => sent(id).length === 3)
    assert.deepEqual(sent(id), ['1 firing', '2 firing', '2 resolved'])
    await bob.call('DELETE', `/alerts/${id}`)
  })

  test('a row that ends while no server runs is resolved after the start, also after rights had changed', async () => {
    await set(1, 20)
    const id = await watch('Ends')
    await until('it fires', 5_000, () => sent(id).length === 1)
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    await until('the filter is gone', 5_000, async () => (await bob.get(id)).instances.length === 1)
    // What the keeper has stored is of the rights of now: it stays so over a restart.
    await server.stop()
    await start()
    bob = await AlertClient.signIn(server, BOB)
    await until('it is watched again', 10_000, async () => (await admin.countInState('firing')) === 1)
    await set(1, 0)
    await until('its end arrives', 5_000, () => sent(id).length >= 2)
    assert.deepEqual(sent(id), ['1 firing', '1 resolved'])
    assert.equal(await readState(id), 'ok')
  })

  test('an attribute that changes while no server runs: its rows end without a word, and what waits is dropped', async () => {
    await admin.call('POST', '/admin/attributes', { name: 'desk', type: 'Text' })
    await admin.call('PATCH', '/admin/users/bob', { attributes: { desk: ['FX'] } })
    await admin.query(
      "CREATE TABLE books (id Integer PRIMARY KEY, desk Text NOT NULL, level Integer NOT NULL) READ SCOPE 'Platform/OrderPad' WRITE SCOPE 'Platform/Admin'",
    )
    await admin.query("ALTER TABLE books SET ROW FILTER (desk = :attribute.desk OR :username = 'admin')")
    await admin.query("INSERT INTO books VALUES (1, 'FX', 20), (2, 'EQ', 20)")
    const id = await watch('Books', { statement: 'SELECT id, level FROM books' })
    await until('it fires', 5_000, () => sent(id).length > 0)
    receiver.answer((_request, response) => response.writeHead(503).end())
    await admin.query("INSERT INTO books VALUES (3, 'FX', 20)")
    await until('a delivery waits', 5_000, async () => {
      const [latest, ...others] = await deliveries(id)
      return others.length === 1 && latest.attempts >= 1
    })
    await server.stop()
    await setAttributes(place(), 'bob', { desk: ['EQ'] })
    receiver.received.length = 0
    receiver.answer((_request, response) => response.writeHead(204).end())
    await start()
    bob = await AlertClient.signIn(server, BOB)
    await until('what is seen now fires', 10_000, async () => (await deliveries(id))[0]?.state === 'sent')
    assert.deepEqual(sent(id), ['2 firing'])
    assert.deepEqual(
      (await deliveries(id)).map(({ state }: { state: string }) => state),
      ['sent', 'dropped', 'sent'],
    )
    assert.deepEqual(
      (await bob.get(id)).instances.map(({ key }: { key: unknown }) => key),
      [[2]],
    )
    await bob.call('DELETE', `/alerts/${id}`)
    await admin.query('DROP TABLE books')
  })

  test('what waits when the server stops is sent after the start, if the owner may see the same', async () => {
    await set(1, 0)
    const id = await watch('Same')
    receiver.answer((_request, response) => response.writeHead(503).end())
    await set(1, 20)
    await until('a delivery waits', 5_000, async () => (await deliveries(id))[0]?.attempts >= 1)
    await server.stop()
    receiver.received.length = 0
    receiver.answer((_request, response) => response.writeHead(204).end())
    await start()
    bob = await AlertClient.signIn(server, BOB)
    await until('it is sent', 15_000, async () => (await deliveries(id))[0]?.state === 'sent')
    assert.deepEqual(sent(id), ['1 firing'])
    await bob.call('DELETE', `/alerts/${id}`)
    await admin.query('DELETE FROM pads ALL')
  })

  test('a changed definition does not keep notices that the owner may no longer see', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end())
    await set(1, 20)
    await set(2, 20, 'carol')
    const id = await watch('Edited')
    await until('a delivery waits', 5_000, async () => (await deliveries(id))[0]?.attempts >= 1)
    await bob.call('PATCH', `/alerts/${id}`, { paused: true })
    await admin.query("ALTER TABLE pads SET ROW FILTER (who = :username OR :username = 'admin')")
    receiver.answer((_request, response) => response.writeHead(204).end())
    receiver.received.length = 0
    await bob.call('PATCH', `/alerts/${id}`, { paused: false, title: 'again' })
    await until('the first is dropped', 10_000, async () => (await deliveries(id)).at(-1)?.state === 'dropped')
    await until('the state is sent anew', 10_000, () => sent(id).length > 0)
    assert.deepEqual(sent(id), ['1 firing'])
    await admin.query('ALTER TABLE pads SET ROW FILTER NULL')
    await bob.call('DELETE', `/alerts/${id}`)
    await admin.query('DELETE FROM pads ALL')
  })
})
