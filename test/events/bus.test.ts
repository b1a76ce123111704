/** The event bus between processes that share a database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Bus, GateEvent } from '../../packages/server/src/events/bus.ts'
import { openBus } from '../../packages/server/src/events/open-bus.ts'
import { CHANNEL, createEvents, type Events } from '../../packages/server/src/store/cluster/events.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { onEveryEngine, openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

interface Node {
  readonly bus: Bus
  readonly events: Events
  readonly received: GateEvent[]
  readonly errors: unknown[]
  close(): Promise<void>
}

async function startNode({ dataFolder, databaseUrl: url }: TestPlace): Promise<Node> {
  const database = await openDatabase({ dataFolder, url })
  const events = createEvents(database.db, database.engine, Date.now)
  const errors: unknown[] = []
  const bus = await openBus(database, events, { url, dataFolder }, (error) => errors.push(error))
  const received: GateEvent[] = []
  bus.subscribe((event) => void received.push(event))
  return {
    bus,
    events,
    received,
    errors,
    async close() {
      await bus.close()
      await database.close()
    },
  }
}

function changed(clientId: string): GateEvent {
  return { kind: 'clients-changed', clientId }
}

onEveryEngine('the bus', (place) => {
  test('every node receives every event once and in order, within a second', async () => {
    const [a, b] = [await startNode(place()), await startNode(place())]
    const sent = Array.from({ length: 40 }, (_, index) => changed(`client-${index}`))
    for (const event of sent) await a.bus.publish(event)
    assert.deepEqual(a.received, sent)
    await until('b has received all events', 1000, () => b.received.length >= sent.length)
    await sleep(700)
    assert.deepEqual(b.received, sent)
    assert.deepEqual(a.received, sent)
    await Promise.all([a.close(), b.close()])
  })

  test('an event appended by a process without a bus is received', async () => {
    const [server, tool] = [await startNode(place()), await startNode(place())]
    await tool.events.append(changed('by-hand'))
    await until('the server receives it', 1000, () => server.received.length === 1)
    await Promise.all([server.close(), tool.close()])
  })

  test('events from before a node started are not delivered; an event too long for NOTIFY is read from the table', async () => {
    const first = await startNode(place())
    await first.bus.publish(changed('old'))
    const second = await startNode(place())
    const long: GateEvent = {
      kind: 'rights-changed',
      roles: [],
      subject: 'usr_1',
      scopes: Array.from({ length: 1000 }, (_, index) => `Desk/${index}`),
      at: 1,
      expiresAt: Date.now() + 60_000,
    }
    await first.bus.publish(long)
    await until('the second node receives it', 1500, () => second.received.length > 0)
    assert.deepEqual(second.received, [long])
    await Promise.all([first.close(), second.close()])
  })

  test('concurrent publishers lose no event', async () => {
    const [a, b] = [await startNode(place()), await startNode(place())]
    const names = (events: GateEvent[]) => events.map((event) => ('clientId' in event ? event.clientId : '')).sort()
    const sent = Array.from({ length: 200 }, (_, index) => changed(String(index)))
    await Promise.all(sent.map((event, index) => (index % 2 === 0 ? a : b).bus.publish(event)))
    await until('both have received all events', 3000, () => a.received.length >= 200 && b.received.length >= 200)
    assert.deepEqual(names(a.received), names(sent))
    assert.deepEqual(names(b.received), names(sent))
    await Promise.all([a.close(), b.close()])
  })

  test('the lag counts until what was recorded has taken effect', async () => {
    const node = await startNode(place())
    let take = (): void => {}
    node.bus.subscribe(() => new Promise<void>((resolve) => (take = resolve)))
    await node.bus.publish(changed('slow'))
    await until('it is late', 2_000, () => node.bus.lag() > 1_000)
    take()
    await node.bus.catchUp()
    assert.ok(node.bus.lag() < 1_000)
    await node.close()
  })
})

test('PostgreSQL: an event whose number is lower than one that was received is received without a notification', async () => {
  const { place, leave } = await openPlace('postgres')
  const node = await startNode(place)
  const admin = new pg.Client({ connectionString: place.databaseUrl })
  await admin.connect()
  // Without NOTIFY, as where it was lost with its connection.
  const insert = `insert into gatehouse.events (kind, body, created_at, expires_at)
    values ('clients-changed', '{"kind":"clients-changed","clientId":"late"}', 0, 9e12)`
  await admin.query('begin')
  await admin.query(insert)
  await node.bus.publish(changed('early'))
  await sleep(1_000)
  assert.deepEqual(node.received, [changed('early')])
  await admin.query('commit')
  await until('it receives it', 2_000, () => node.received.length === 2)
  await admin.end()
  await node.close()
  await leave()
})

test('PostgreSQL: a node whose listening connection is terminated listens again at once', async () => {
  const { place, leave } = await openPlace('postgres')
  const [a, b] = [await startNode(place), await startNode(place)]
  const admin = new pg.Client({ connectionString: place.databaseUrl })
  await admin.connect()
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse events' and datname = current_database()",
  )
  await admin.end()
  await a.bus.publish(changed('after the end'))
  await until('b receives it', 1000, () => b.received.length === 1)
  await sleep(300)
  await a.bus.publish(changed('listening again'))
  await until('b receives it', 200, () => b.received.length === 2)
  await Promise.all([a.close(), b.close()])
  await leave()
})

test('PostgreSQL: a notification that is not an event harms nothing', async () => {
  const { place, leave } = await openPlace('postgres')
  const node = await startNode(place)
  const admin = new pg.Client({ connectionString: place.databaseUrl })
  await admin.connect()
  for (const payload of ['1 nonsense', '1 {', 'x {}', '', ' ', '{}'])
    await admin.query('select pg_notify($1, $2)', [CHANNEL, payload])
  await admin.end()
  await node.events.append(changed('after all'))
  await until('it receives what follows', 1000, () => node.received.length === 1)
  assert.deepEqual([node.received, node.errors], [[changed('after all')], []])
  await node.close()
  await leave()
})

test('PostgreSQL: a node disconnected from its database for ten seconds catches up', async () => {
  const { place, leave } = await openPlace('postgres')
  const address = new URL(place.databaseUrl)
  const proxy = await startTcpProxy(address.hostname, Number(address.port))
  address.port = String(proxy.port)
  const near = await startNode(place)
  const far = await startNode({ ...place, databaseUrl: address.href })
  proxy.cut()
  await near.bus.publish(changed('missed 1'))
  await near.bus.publish(changed('missed 2'))
  await sleep(10_000)
  assert.deepEqual(far.received, [])
  proxy.mend()
  await until('the far node has caught up', 3000, () => far.received.length === 2)
  assert.deepEqual(far.received, [changed('missed 1'), changed('missed 2')])
  await near.bus.publish(changed('live'))
  await until('it receives new events', 1000, () => far.received.length === 3)
  assert.notEqual(far.errors.length, 0)
  await Promise.all([near.close(), far.close()])
  await proxy.close()
  await leave()
  await stopOwnPostgres()
})
