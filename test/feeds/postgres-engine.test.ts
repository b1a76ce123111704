/** The PostgreSQL engine of feeds: the suite of all engines on two nodes, and what only this engine does. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { FeedEngine } from '../../packages/server/src/feeds/engine.ts'
import { openPostgresFeeds } from '../../packages/server/src/feeds/postgres/engine.ts'
import { isUnavailable } from '../../packages/server/src/lib/unavailable.ts'
import { readLayout } from '../../packages/server/src/store/backup/postgres-layout.ts'
import { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { createTestClock } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { engineSuite } from './engine-suite.ts'
import { ALL, HISTORY, LATEST, only, publish, Received, readAll, show, Workbench } from './suite/engine-under-test.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

after(stopOwnPostgres)

engineSuite('postgres', async () => {
  const nodes = await createNodes()
  return {
    engine: await nodes.open(),
    second: nodes.open,
    advance: (milliseconds) => nodes.clock.advance(milliseconds),
    close: nodes.close,
  }
})

describe('feeds on PostgreSQL', () => {
  let nodes: Awaited<ReturnType<typeof createNodes>>
  let bench: Workbench
  before(async () => {
    nodes = await createNodes()
    // All at once, in an empty database.
    const engines = await Promise.all([nodes.open(), nodes.open(), nodes.open()])
    const [engine, second, third] = engines
    if (engine === undefined || second === undefined) throw new Error('There are no nodes')
    await third?.close()
    bench = await Workbench.open({ engine, second: async () => second, close: nodes.close })
  })
  after(() => bench.close())

  test('nodes that start at once create the schema once', async () => {
    assert.deepEqual(await nodes.query('select version from gatehouse_feeds.schema_version'), [{ version: 1 }])
  })

  test('nodes of version 1.0 append by their own function', async () => {
    const store = await bench.create(HISTORY)
    const received = await Received.of(store, ALL)
    const appended = await nodes.query(
      `select o_count from gatehouse_feeds.feeds f, gatehouse_feeds.append_1(f.id, null, '{A}', '{2}', '{1}', null, null, null) where f.id = (select max(id) from gatehouse_feeds.feeds)`,
    )
    assert.deepEqual(appended, [{ o_count: '1' }])
    await received.waitFor(1)
  })

  test('a user who may not create the schema is told what to grant', async () => {
    const fresh = await createPostgresDatabase()
    const name = new URL(fresh.url).pathname.slice(1)
    const role = `user_${name}`
    await nodes.query(`create role ${role} login password 'secret'`)
    const url = Object.assign(new URL(fresh.url), { username: role, password: 'secret' }).href
    const servers = new DatabaseServers(url)
    try {
      await assert.rejects(openPostgresFeeds({ servers, onError: console.error }), {
        name: 'UnfitDatabase',
        message: new RegExp(`GRANT CREATE ON DATABASE ${name} TO ${role}`),
      })
    } finally {
      await servers.close()
      await fresh.drop()
      await nodes.query(`drop role ${role}`)
    }
  })

  test('gatehouse backup leaves messages out', async () => {
    const { schemas, tables } = await nodes.connected(readLayout)
    assert.deepEqual({ schemas, tables }, { schemas: [], tables: [] })
  })

  test('old partitions are dropped whole, and readers see the gap', async () => {
    const { here, there } = await bench.createOnBoth({ ...HISTORY, history: { messages: 100, time: HOUR } })
    await publish(here, 'A=1', 'B=1')
    const before = await partitions()
    nodes.clock.advance(HOUR / 2)
    const { seq } = await publish(here, 'A=2')
    nodes.clock.advance(1.5 * HOUR)
    await publish(here, 'A=3')
    await until('the partitions are dropped', 3000, async () => {
      const now = await partitions()
      return before.every((name) => !now.includes(name))
    })
    const read = await readAll(there, ALL)
    assert.deepEqual(show(read.messages), ['A=3'])
    assert.equal(read.hasGap, true)
    assert.equal((await readAll(there, only('A'), seq)).hasGap, false)
    assert.deepEqual(await here.usage(), { topics: 1, bytes: 1 })
  })

  test('a longer history keeps what there is, in other partitions', async () => {
    const feed = bench.define({ ...HISTORY, history: { messages: 100, time: MINUTE } })
    const store = await bench.engine.open(feed)
    const epoch = store.epoch
    await publish(store, 'A=1', 'B=1', 'A=2')
    await store.update({ ...feed, history: { messages: 100, time: DAY } })
    nodes.clock.advance(HOUR)
    await publish(store, 'A=3')
    const read = await readAll(store, ALL)
    assert.deepEqual(show(read.messages), ['A=1', 'B=1', 'A=2', 'A=3'])
    assert.equal(read.hasGap, false)
    assert.equal(store.epoch, epoch)
  })

  test('what is kept of a feed can change', async () => {
    const feed = bench.define({ ...LATEST })
    const store = await bench.engine.open(feed)
    await publish(store, 'A=1', 'A=2', 'B=1')
    await store.update({ ...feed, history: { messages: 2, time: HOUR } })
    await publish(store, 'A=3', 'A=4')
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['B=1', 'A=3', 'A=4'])
    await store.update({ ...feed, keep: 'all', history: { messages: 2, time: HOUR } })
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['B=1', 'A=3', 'A=4'])
    assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['B=1', 'A=4'])
    await store.update(feed)
    assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['B=1', 'A=4'])
    assert.deepEqual(await store.usage(), { topics: 2, bytes: 2 })
    const { epoch } = store
    await store.update({ ...feed, keep: 'all', history: undefined })
    assert.notEqual(store.epoch, epoch)
    assert.deepEqual(await store.usage(), { topics: 0, bytes: 0 })
  })

  test('a state outlives the history', async () => {
    const store = await bench.create({ ...LATEST, history: { messages: 10, time: MINUTE } })
    await publish(store, 'A=1', 'A=2', 'B=1')
    nodes.clock.advance(10 * MINUTE)
    await publish(store, 'B=2')
    await until('the partitions are dropped', 3000, async () => (await store.usage()).bytes === 2)
    for (const messages of [(await readAll(store, ALL)).messages, await store.readLast(ALL, 10)])
      assert.deepEqual(show(messages), ['A=2', 'B=2'])
    assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['A=2', 'B=2'])
  })

  test('a page is bounded by its bytes', async () => {
    const store = await bench.create(HISTORY)
    const data = `"${'x'.repeat(1_000_000)}"`
    for (let index = 0; index < 9; index++) await store.append([{ topic: 'A', data }])
    const page = await store.readAfter(only('A'), 0, { kind: 'history', limit: 100 })
    assert.ok(page.messages.length > 0 && page.messages.length < 9)
    assert.equal(page.isLast, false)
    assert.equal((await readAll(store, only('A'))).messages.length, 9)
  })

  test('followers go on when all connections have broken', async () => {
    const { here, there } = await bench.createOnBoth(HISTORY)
    const received = await Received.of(there, ALL)
    await publish(here, 'A=1')
    await received.waitFor(1)
    for (let round = 2; round < 5; round++) {
      await nodes.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse feeds' and datname = current_database()`,
      )
      await until('it is published', 5000, () => publish(here, `A=${round}`).then(Boolean, () => false))
      await received.waitFor(round)
    }
    assert.deepEqual(received.shown, ['A=1', 'A=2', 'A=3', 'A=4'])
    assert.deepEqual(received.faults, [])
  })

  test('what is appended without a notification is found', async () => {
    const { here, there } = await bench.createOnBoth(HISTORY)
    const received = await Received.of(there, ALL)
    await publish(here, 'A=1')
    await received.waitFor(1)
    await nodes.query(
      `select gatehouse_feeds.append_2(f.id, null, '{A}', '{2}', '{1}', null, null, null) from gatehouse_feeds.feeds f order by id desc limit 1`,
    )
    await received.waitFor(2)
    assert.deepEqual(received.shown, ['A=1', 'A=2'])
  })

  test('forged notifications do no harm', async () => {
    const { here, there } = await bench.createOnBoth(HISTORY)
    const received = await Received.of(there, ALL)
    for (const payload of [
      '',
      'x',
      '1:',
      '999999999:999999999999999',
      '-1:5',
      '1:purged',
      '1:999999999999999 2:999999999999999',
    ])
      await nodes.query(`select pg_notify('gatehouse_feeds', '${payload}')`)
    const { seq } = await publish(here, 'A=1')
    await received.waitForSeq(seq)
    assert.deepEqual(received.shown, ['A=1'])
    assert.equal(received.purges, 0)
  })

  test('after an accepted loss of writes every feed begins an epoch', async () => {
    const { here, there } = await bench.createOnBoth(HISTORY)
    const { epoch } = here
    const received = await Received.of(there, ALL)
    const lost = {
      ...{ id: 'abc', timeline: 2, startedAt: 1, nextXid: 1n, recoveredTo: undefined },
      lost: 'writes',
      isAccepted: true,
    }
    for (const servers of nodes.servers) servers.history.replace([lost])
    await until('the epoch is told', 2000, () => received.purges === 1)
    assert.notEqual(there.epoch, epoch)
    await publish(here, 'A=1')
    await received.waitFor(1)
    assert.equal(received.purges, 1)
  })

  test('a feed that was dropped by another node is not published to', async () => {
    const { feed, here, there } = await bench.createOnBoth(HISTORY)
    await bench.other?.drop(feed)
    await assert.rejects(publish(here, 'A=1'), /was removed/)
    assert.deepEqual(await there.usage(), { topics: 0, bytes: 0 })
  })

  test('publishers of a server that does not answer get an error after five seconds, and publish again when it does', async (t) => {
    const { url, hostname, port } = buildUrl(nodes.url)
    const proxy = await startTcpProxy(hostname, Number(port))
    const servers = new DatabaseServers(Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) }).href)
    const engine = await openPostgresFeeds({ servers, onError: () => {} })
    t.after(async () => {
      proxy.mend()
      await engine.close()
      await servers.close()
      await proxy.close()
    })
    const store = await engine.open(bench.define(HISTORY))
    await publish(store, 'A=1')
    proxy.hold()
    const began = performance.now()
    const times = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await sleep(index * 20)
        const asked = performance.now()
        await assert.rejects(publish(store, `A=${index}`), isUnavailable)
        return performance.now() - asked
      }),
    )
    assert.ok(Math.max(...times) < 8_000, `${Math.max(...times)} ms`)
    assert.ok(performance.now() - began < 9_000)
    proxy.mend()
    await until('it can be published', 5000, () =>
      publish(store, 'A=2').then(
        () => true,
        () => false,
      ),
    )
  })

  async function partitions(): Promise<string[]> {
    const rows = await nodes.query(
      `select relname::text as name from pg_class where relnamespace = 'gatehouse_feeds'::regnamespace and relkind = 'r' and relname ~ '^m1_'`,
    )
    return rows.map(({ name }) => String(name))
  }
})

function buildUrl(text: string): { url: URL; hostname: string; port: string } {
  const url = new URL(text)
  return { url, hostname: url.hostname, port: url.port }
}

/** A database, and nodes on it that share a clock. */
async function createNodes() {
  const database = await createPostgresDatabase()
  const clock = createTestClock()
  const servers: DatabaseServers[] = []
  return {
    url: database.url,
    clock,
    servers,
    async open(): Promise<FeedEngine> {
      const own = new DatabaseServers(database.url)
      servers.push(own)
      return openPostgresFeeds({ servers: own, clock, sweepMs: 50, onError: (error) => console.error(error) })
    },
    async query(statement: string): Promise<Record<string, unknown>[]> {
      return this.connected(async (client) => (await client.query(statement)).rows)
    },
    async connected<Result>(use: (client: pg.Client) => Promise<Result>): Promise<Result> {
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      try {
        return await use(client)
      } finally {
        await client.end()
      }
    },
    async close(): Promise<void> {
      for (const own of servers) await own.close()
      await database.drop()
    },
  }
}
