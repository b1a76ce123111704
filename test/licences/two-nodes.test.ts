/** Two nodes on PostgreSQL: places are counted on both together, and a change holds on the other node within a second. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALICE, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { FEEDS, follow } from './feeds/feed-licences.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const DECLARED = `${FEEDS}
products:
  - { name: MOVE, simultaneous: 1, when_full: displace, covers: [{ feed: Prices }] }
  - { name: TWO, simultaneous: 2, covers: [{ resource: instrument }] }
entitlements:
  - { product: TWO, user: alice, access: realtime }
  - { product: MOVE, user: alice, access: realtime }
`

let leave: () => Promise<void>
let otherFolder: string
let first: LicenceServer
let second: TestServer

before(async () => {
  const opened = await openPlace('postgres')
  leave = opened.leave
  otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const key = randomBytes(32).toString('base64')
  const flags = { '--demo': 'true', '--authzen': 'true', '--master-key': key, '--issuer': 'http://localhost' }
  first = await startLicenceServer(opened.place, DECLARED, { flags })
  second = await startTestServer({ ...opened.place, dataFolder: otherFolder }, { flags })
})
after(async () => {
  await second.stop()
  await first.stop()
  await rm(otherFolder, { recursive: true, force: true })
  await leave()
  await stopOwnPostgres()
})

async function post(port: number, path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first.handler}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const take = (at: number, name: string) =>
  post(at % 2 === 0 ? first.port : second.port, '/licences/places', {
    ...{ User: 'alice', Product: 'TWO', Place: name, Seconds: 300 },
  })

test('of fifty places at once on two nodes, simultaneous are given', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, (_, index) => take(index, `p${index}`)))
  assert.equal(all.filter(({ status }) => status === 201).length, 2)
  assert.equal(all.filter(({ status }) => status === 403).length, 48)
})

test('an entitlement that is taken away on one node counts on neither a second later', async () => {
  const evaluation = {
    subject: { type: 'user', id: 'alice' },
    action: { name: 'realtime' },
    resource: { type: 'instrument', id: 'IBM.N' },
  }
  const decided = async (port: number) => (await post(port, '/access/v1/evaluation', evaluation)).body.decision
  assert.equal(await decided(second.port), true)
  const patch = { token: first.admin, body: { enabled: false }, headers: { 'if-match': '*' } }
  assert.equal((await first.send('PATCH', '/admin/products/TWO', patch)).status, 200)
  assert.equal(await decided(first.port), false)
  await until('the other node decides so', 1_000, async () => (await decided(second.port)) === false)
  const ended = async () => {
    const { body } = await first.send('GET', '/admin/audit?event=licence.closed', { token: first.admin })
    return body.items.filter(({ details }: { details: { reason: string } }) => details.reason === 'changed').length
  }
  await until('the sessions end', 2_000, async () => (await ended()) === 2)
})

test('a place that is used on both nodes ends on both when another displaces it, and neither takes it again', async () => {
  const [{ access_token: old }, { access_token: young }] = [await signIn(first, ALICE), await signIn(first, ALICE)]
  const at = ({ port }: Pick<TestServer, 'port'>, token: string) => follow({ ...first, port }, token)
  const older = [await at(first, old), await at(second, old)]
  for (const each of older) await each.sub('Prices', 'A')
  const newer = await at(second, young)
  await newer.sub('Prices', 'A')
  for (const each of older) assert.equal((await each.next()).Data, 'Authority licence=MOVE reason=displaced')
  const places = async () => {
    const { body } = await first.send('GET', '/admin/places?product=MOVE', { token: first.admin })
    return body.items.map(({ session }: { session: string }) => session)
  }
  const before = await places()
  assert.equal(before.length, 1)
  await sleep(1_500)
  assert.deepEqual(await places(), before)
  for (const { stream } of [...older, newer]) stream.socket.close()
})
