/** Two nodes on PostgreSQL, one of which loses the database: what is licensed ends there before others may have its places. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ALICE, signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { FEEDS, type Follower, follow, publish } from './feeds/feed-licences.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const DECLARED = `${FEEDS}
products:
  - { name: ONE, simultaneous: 1, covers: [{ feed: Prices }] }
entitlements:
  - { product: ONE, user: alice, access: realtime }
  - { product: ONE, client: handler, access: realtime, kind: exempt }
`

let place: TestPlace
let leave: () => Promise<void>
let otherFolder: string
let proxy: TcpProxy
let first: LicenceServer
let second: TestServer

before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const url = new URL(place.databaseUrl)
  proxy = await startTcpProxy(url.hostname, Number(url.port))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const key = randomBytes(32).toString('base64')
  const flags = { '--demo': 'true', '--master-key': key, '--issuer': 'http://localhost' }
  first = await startLicenceServer(place, DECLARED, { flags })
  second = await startTestServer({ ...place, databaseUrl: url.href, dataFolder: otherFolder }, { flags })
})
after(async () => {
  proxy.mend()
  await second.stop()
  await first.stop()
  await proxy.close()
  await rm(otherFolder, { recursive: true, force: true })
  await leave()
  await stopOwnPostgres()
})

async function isGiven({ stream }: Follower): Promise<boolean> {
  const request = { Controller: 'Prices', Topic: 'A', Action: 'Sub', TransactionID: 1, Confirm: true }
  const { Action } = await stream.request(request)
  if (Action === 'Error') await stream.next()
  return Action !== 'Error'
}

test('a node without its database ends what it has within 15 s, and another gets the place only then', async () => {
  await publish(first, 'Prices', 'A', 1)
  const [one, other] = await Promise.all([signIn(second, ALICE), signIn(first, ALICE)])
  const lost = await follow({ ...first, port: second.port }, one.access_token)
  await lost.sub('Prices', 'A')
  assert.equal((await lost.next()).Data, 1)
  const waiting = await follow(first, other.access_token)
  assert.equal(await waiting.refused('Prices', 'A'), 'Authority licence=ONE reason=places')
  proxy.hold()
  const held = performance.now()
  let endedAfter = Number.POSITIVE_INFINITY
  const ending = lost.next().then(({ Action, Data }) => {
    endedAfter = performance.now() - held
    assert.deepEqual([Action, Data], ['Error', 'Fault'])
  })
  await until('the place is free', 40_000, () => isGiven(waiting))
  const takenAfter = performance.now() - held
  await ending
  assert.ok(endedAfter < 17_000, `ended after ${endedAfter} ms`)
  assert.ok(takenAfter > endedAfter, `${takenAfter} ms and ${endedAfter} ms`)
  assert.ok(takenAfter < 30_000, `taken after ${takenAfter} ms`)
  proxy.mend()
  const again = await follow({ ...first, port: second.port }, one.access_token)
  await until('it is refused there for lack of a place', 30_000, async () =>
    (await again.refused('Prices', 'A').catch(() => '')).endsWith('reason=places'),
  )
  for (const { stream } of [waiting, again, lost]) stream.socket.close()
})

test('on both nodes a sign-in has one place: leaving it on one keeps it on the other', async () => {
  const { access_token: token } = await signIn(first, ALICE)
  const [here, there] = [await follow(first, token), await follow({ ...first, port: second.port }, token)]
  await until('the place is free', 40_000, () => isGiven(here))
  await there.sub('Prices', 'A')
  here.stream.socket.close()
  const { access_token: other } = await signIn(first, ALICE)
  const refused = await follow(first, other)
  for (let tries = 0; tries < 20; tries++) assert.equal(await isGiven(refused), false)
  there.stream.socket.close()
  await until('the place is free', 10_000, () => isGiven(refused))
})
