/**
 * Two nodes on PostgreSQL, one of which is cut off for seconds and hears last of what has changed: what was committed meanwhile waits until
 * it knows who may have it.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { FEEDS, follow, publish } from './feeds/feed-licences.ts'
import { atNode, type LicenceServer, startLicenceServer } from './licence-server.ts'
import { tablePlace } from './tables/table-licences.ts'

const DECLARED = `${FEEDS}
products:
  - { name: MARKET, covers: [{ feed: Trades }, { table: ticks }, { controller: Ticker }] }
entitlements:
  - { product: MARKET, user: alice, access: realtime }
  - { product: MARKET, client: handler, access: realtime, kind: exempt }
`

const TICKER = new URL('../../examples/ticker', import.meta.url).pathname
/** Within which a change holds on all nodes. */
const CHANGE_MS = 1_000
const CUT_MS = 1_500

let place: TestPlace
let leave: () => Promise<void>
let otherFolder: string
let proxy: TcpProxy
let first: LicenceServer
let stopSecond: TestServer['stop']
let second: LicenceServer

before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const url = new URL(place.databaseUrl)
  proxy = await startTcpProxy(url.hostname, Number(url.port))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const key = randomBytes(32).toString('base64')
  const flags = {
    '--demo': 'true',
    '--master-key': key,
    '--issuer': 'http://localhost',
    '--stream-controllers': TICKER,
    '--wire-port': '0',
  }
  process.env.TICKER_INTERVAL_MS = '20'
  first = await startLicenceServer(place, DECLARED, { flags })
  const other = await startTestServer({ ...place, databaseUrl: url.href, dataFolder: otherFolder }, { flags })
  stopSecond = other.stop
  second = atNode(first, other)
  const { status, body } = await tablePlace(first).query(
    "CREATE TABLE ticks (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    first.admin,
  )
  assert.equal(status, 200, JSON.stringify(body))
})
after(async () => {
  proxy.mend()
  await stopSecond()
  await first.stop()
  await proxy.close()
  await rm(otherFolder, { recursive: true, force: true })
  await leave()
  await stopOwnPostgres()
})
beforeEach(async () => {
  await give('realtime')
  await until('the other node knows it', 2_000, async () => {
    const { status } = await tablePlace(second).query('SELECT max(id) FROM ticks')
    return status === 200
  })
})

async function give(access: 'none' | 'realtime'): Promise<void> {
  const { status, body } = await first.send('PATCH', '/admin/entitlements/MARKET:user:alice', {
    ...{ token: first.admin, body: { access }, headers: { 'if-match': '*' } },
  })
  assert.equal(status, 200, JSON.stringify(body))
}

/**
 * Cuts the second node off while the work is done. When it is back, it can read everything but the changes of other nodes, until what this
 * returns is called.
 */
async function cutOff(work: () => Promise<void>): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: place.databaseUrl })
  await client.connect()
  proxy.hold()
  await work()
  await sleep(CUT_MS)
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse events' and datname = current_database()",
  )
  await client.query('begin; lock table gatehouse.events in access exclusive mode')
  proxy.mend()
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

/** By every way at once. */
async function commit(number: number): Promise<void> {
  await publish(first, 'Trades', 'A', number)
  const { status, body } = await tablePlace(first).query(`INSERT INTO ticks (id) VALUES (${number})`, first.handler)
  assert.equal(status, 200, JSON.stringify(body))
}

/** What comes on a stream and in a live query from now on, with the time. */
interface Following {
  readonly messages: (readonly [data: unknown, at: number])[]
  /** Of the controller, whose values come all the time. */
  readonly ticks: number[]
  readonly live: unknown[]
  close(): void
}

async function followAll(): Promise<Following> {
  const { stream, sub } = await follow(second)
  await sub('Trades', 'A')
  await sub('Ticker', 'Price/ACME')
  const events = await tablePlace(second).live('SELECT id FROM ticks')
  assert.equal(events.status, 200)
  const following: Following = {
    ...{ messages: [], ticks: [], live: [] },
    close() {
      stream.socket.terminate()
      events.close()
    },
  }
  const read = async (): Promise<void> => {
    for (;;) {
      const { Controller, Data, Action } = await stream.next()
      if (Action === 'Error' || Controller === 'Trades') following.messages.push([Data, performance.now()])
      else if (Action === 'Publish') following.ticks.push(performance.now())
    }
  }
  const readLive = async (): Promise<void> => {
    for (;;) {
      const { event, data } = await events.next()
      if (Array.isArray(data.Put)) following.live.push(...data.Put.map(({ Row: [id] }) => id))
      if (event === 'end') following.live.push(data.Code)
    }
  }
  read().catch(() => {})
  readLive().catch(() => {})
  return following
}

const shown = ({ messages }: Following): unknown[] => messages.flatMap(([data]) => data ?? [])

test('after a cut nothing is shown that was committed after the end of a licence', async () => {
  const lost = await followAll()
  await commit(1)
  await until('all is shown', 10_000, () => shown(lost).includes(1) && lost.live.includes(1) && lost.ticks.length > 0)
  const wire = await tablePlace(second).wire(second.alice)
  let changed = 0
  const hear = await cutOff(async () => {
    await give('none')
    changed = performance.now()
    await commit(2)
  })
  const asked = Promise.all([
    tablePlace(second).refusal('SELECT max(id) FROM ticks'),
    wire.query('SELECT max(id) FROM ticks'),
  ])
  // Longer than messages and rows take that do not wait.
  await sleep(CHANGE_MS)
  await hear()
  const [refusal, { errors, rows }] = await asked
  assert.deepEqual(refusal, [403, 'Licence.Needed', ['MARKET'], 'none'])
  assert.deepEqual([errors.map(({ C }) => C), rows], [['42501'], []])
  const error = 'Authority licence=MARKET reason=none'
  await until('all has ended', 10_000, () => shown(lost).length >= 3 && lost.live.includes('Licence.Needed'))
  assert.deepEqual(shown(lost), [1, error, error])
  assert.deepEqual(lost.live, [1, 'Licence.Needed'])
  const late = lost.ticks.filter((at) => at > changed + CHANGE_MS)
  assert.deepEqual(late, [], `${lost.ticks.length} values, the last ${Math.max(...late) - changed} ms after the change`)
  wire.close()
  lost.close()
})

test('after a cut all is shown that was committed meanwhile, where the licence goes on', async () => {
  const kept = await followAll()
  const hear = await cutOff(() => commit(3))
  await sleep(CHANGE_MS)
  assert.deepEqual(shown(kept), [])
  await hear()
  const heard = performance.now()
  await until('all is shown', 10_000, () => shown(kept).includes(3) && kept.live.includes(3))
  await until('the controller goes on', 10_000, () => kept.ticks.some((at) => at > heard))
  assert.deepEqual(await tablePlace(second).rows('SELECT max(id) FROM ticks'), [[3]])
  kept.close()
})
