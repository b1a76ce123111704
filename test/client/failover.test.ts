/** Two nodes behind a balancer: a client of the one that stops continues on the other. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Gatehouse, password, type StateChange } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer } from '../support/server.ts'
import { startTcpBalancer } from '../support/tcp-balancer.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000

test('a node stops: the live query continues on the other without losing a row, and so do requests', async (t) => {
  const { place, leave } = await openPlace('postgres')
  const otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const balancer = await startTcpBalancer()
  const issuer = `http://localhost:${balancer.port}`
  const flags = {
    '--issuer': issuer,
    '--master-key': randomBytes(32).toString('base64'),
    '--stream-drain-time': '0',
    '--demo': 'true',
  }
  const first = await startTestServer(place, { flags })
  const second = await startTestServer({ ...place, dataFolder: otherFolder }, { flags })
  const admin = new Gatehouse(issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  const gate = new Gatehouse(issuer, { auth: password({ clientId: 'demo-cli', ...ALICE }) })
  t.after(async () => {
    gate.close()
    admin.close()
    await second.stop()
    await balancer.close()
    await rm(otherFolder, { recursive: true, force: true })
    await leave()
    await stopOwnPostgres()
  })
  balancer.send([first.port])
  await admin.query`create table fills (id Integer primary key) read scope 'Platform/Market'`
  await admin.query`insert into fills values (1)`
  const states: StateChange[] = []
  gate.on('state', (change) => states.push(change))
  const live = gate.live<{ id: number }>`select id from fills`
  await live.ready()
  const seen: (boolean | undefined)[] = []
  const reading = (async () => {
    for await (const { recovered } of live) seen.push(recovered)
  })()
  balancer.send([second.port])
  const stopped = first.stop()
  await admin.query`insert into fills values (2)`
  await until('both rows are shown', LATE_MS, () => live.rows.length === 2 && gate.stream.state === 'online')
  await stopped
  assert.equal(states.find(({ state }) => state === 'offline')?.code, 1012)
  assert.ok(
    seen.some((recovered) => recovered !== undefined),
    'the reader was told that the connection had been lost',
  )
  await admin.query`insert into fills values (3)`
  await until('the other node sends changes', LATE_MS, () => live.rows.length === 3)
  live.close()
  await reading
})
