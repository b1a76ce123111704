/** Live statements while PostgreSQL cannot be reached: they wait, and go on without a gap. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPlace, type TestPlace } from '../../support/engines.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

let place: TestPlace
let leave: () => Promise<void>
let proxy: TcpProxy
/** Behind a connection that is cut. */
let server: QueryServer
/** Another node, which always reaches the database. */
let other: QueryServer
before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  const url = new URL(place.databaseUrl)
  proxy = await startTcpProxy(url.hostname, Number(url.port || 5432))
  url.host = `127.0.0.1:${proxy.port}`
  server = await startQueryServer({ ...place, databaseUrl: url.href })
  assert.equal((await server.query('CREATE TABLE ticks (id Integer PRIMARY KEY, v Integer NOT NULL)')).status, 200)
  const own = 'CREATE TABLE own (id Integer PRIMARY KEY, owner Text) ROW FILTER (owner = :sub)'
  assert.equal((await server.query(own)).status, 200)
  other = await startQueryServer(place)
})
after(async () => {
  LiveClient.closeAll()
  await Promise.all([server.stop(), other.stop()])
  await proxy.close()
  await leave()
  await stopOwnPostgres()
})

const write = async (statement: string): Promise<void> => {
  const reply = await other.query(statement)
  assert.equal(reply.status, 200, reply.text)
}

test('what is written in an outage arrives after it, and nothing is reset', async () => {
  await write('INSERT INTO ticks VALUES (1, 1), (2, 1)')
  const keys = await LiveClient.follow(server, 'SELECT id, v FROM ticks WHERE v > 0')
  const sum = await LiveClient.follow(server, 'SELECT sum(v) AS total FROM ticks')
  const filtered = await LiveClient.follow(server, 'SELECT id FROM own', { as: 'trader' })
  await write('UPDATE ticks SET v = 2 WHERE id = 1')
  await keys.until('the change', () => keys.applier.seen.Change === 1)
  proxy.cut()
  await write('INSERT INTO ticks VALUES (3, 7)')
  await write('DELETE FROM ticks WHERE id = 2')
  await until(
    'the outage is noticed',
    15_000,
    async () => (await server.query('SELECT count(*) AS n FROM ticks')).status === 503,
  )
  await assert.rejects(LiveClient.open(server, 'SELECT v FROM ticks ORDER BY v'))
  const { trader } = CALLERS
  assert.ok(trader !== undefined)
  filtered.subscription.setPrincipal({ ...trader, subject: 'somebody' })
  await write('UPDATE ticks SET v = 9 WHERE id = 1')
  proxy.mend()
  await keys.holds([
    { id: 1, v: 9 },
    { id: 3, v: 7 },
  ])
  await sum.holds([{ total: '16' }])
  await filtered.until('rights that changed in the outage', () => filtered.applier.isWhole)
  assert.deepEqual([filtered.applier.reasons, filtered.ended], [['Rights'], undefined])
  assert.deepEqual(
    [keys.applier.seen.Reset, sum.applier.seen.Reset, keys.ended, sum.ended],
    [0, 0, undefined, undefined],
  )
})

test('a result that is run again comes back as soon as the database does, however long it waited for it', async () => {
  await write('DELETE FROM ticks ALL')
  const sum = await LiveClient.follow(
    server,
    "SELECT count(*) AS n FROM ticks WHERE now() > TIMESTAMP '2020-01-01T00:00:00Z'",
  )
  await sum.holds([{ n: 0 }])
  proxy.hold()
  await write('INSERT INTO ticks VALUES (1, 1)')
  // An evaluation waits for the silent database until it gives up, and others after it.
  await until(
    'the outage is noticed',
    30_000,
    async () => (await server.query('SELECT count(*) AS n FROM ticks')).status === 503,
  )
  await new Promise((resolve) => setTimeout(resolve, 4000))
  proxy.mend()
  const mended = performance.now()
  await sum.holds([{ n: 1 }])
  const took = performance.now() - mended
  assert.ok(took < 5000, `it took ${Math.round(took)} ms`)
})
