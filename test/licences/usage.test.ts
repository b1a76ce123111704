/** Places, their sessions in the audit log, and the report of a month, which a program of its own recomputes from an export. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onEveryEngine } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const DECLARED = `
attributes: [{ name: firm, type: Text }]
users:
  - { username: bob, attributes: { firm: 'ACME, "Zürich"' } }
  - { username: carol }
products:
  - { name: ONE, simultaneous: 1, count: place }
  - { name: TWO, delay: 1 minute, simultaneous: 2, when_full: delay, count: place }
  - { name: MOVE, simultaneous: 1, when_full: displace }
  - { name: LATE, delay: 1 minute, default: delayed }
entitlements:
  - { product: ONE, user: bob, access: realtime }
  - { product: TWO, user: bob, access: realtime }
  - { product: TWO, client: robot, access: realtime, kind: exempt }
  - { product: MOVE, user: bob, access: realtime }
  - { product: ONE, user: carol, access: realtime }
`
const PROGRAM = fileURLToPath(new URL('usage_report.py', import.meta.url))
const MONTH = '2033-04'
const START = Date.parse('2033-04-10T08:00:00.000Z')

onEveryEngine('places and usage', (place) => {
  let server: LicenceServer
  let folder: string
  const clock = createTestClock(START)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-usage-'))
    const flags = { '--licence-firm': 'firm', '--access-token-lifetime': '86400' }
    server = await startLicenceServer(place(), DECLARED, { clock, flags })
  })
  after(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const take = (body: object, token = server.handler) =>
    server.send('POST', '/licences/places', { token, body: { User: 'bob', Seconds: 60, ...body } })
  const admin = (method: string, path: string, body?: unknown) =>
    server.send(method, `/admin${path}`, { token: server.admin, body, headers: { 'if-match': '*' } })
  const sessions = async (event: string, product: string) => {
    const { body } = await admin('GET', `/audit?event=${event}&limit=1000`)
    return body.items.filter(({ target }: { target: string }) => target === product)
  }

  test('a place is taken, renewed and left; its session is in the audit log when the reply arrives', async () => {
    const taken = await take({ Product: 'ONE', Place: 'a' })
    assert.equal(taken.status, 201)
    assert.equal(taken.body.Until, new Date(clock() + 60_000).toISOString())
    const [opened] = await sessions('licence.opened', 'ONE')
    assert.deepEqual(
      { ...opened.details, place: undefined, session: undefined },
      {
        ...{ access: 'realtime', way: 'handler', status: 'undeclared', kind: 'billable', count: 'place' },
        ...{ firm: 'ACME, "Zürich"', place: undefined, session: undefined },
      },
    )
    assert.equal(opened.details.session, taken.body.Session)
    assert.equal(opened.client, 'handler')
    clock.advance(30_000)
    const renewed = await take({ Product: 'ONE', Place: 'a' })
    assert.deepEqual([renewed.status, renewed.body.Session], [200, taken.body.Session])
    assert.equal((await take({ Product: 'ONE', Place: 'a', Seconds: 0 })).status, 204)
    const [closed] = await sessions('licence.closed', 'ONE')
    assert.deepEqual(closed.details, {
      session: taken.body.Session,
      last: new Date(clock() - 1).toISOString(),
      reason: 'stopped',
    })
    assert.equal((await take({ Product: 'ONE', Place: 'a', Seconds: 0 })).status, 204)
  })

  test('of fifty at once, simultaneous get a place', async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, index) => take({ Product: 'ONE', Place: `p${index}` })),
    )
    assert.equal(all.filter(({ status }) => status === 201).length, 1)
    const refused = all.filter(({ status }) => status === 403)
    assert.equal(refused.length, 49)
    assert.deepEqual([refused[0]?.body.Code, refused[0]?.body.Limit], ['Licence.Places', 1])
    // Others have places of their own.
    assert.equal((await take({ User: 'carol', Product: 'ONE', Place: 'p0' })).status, 201)
  })

  test('when_full delay gives delayed access to one place more; what is not renewed in time ends', async () => {
    const access = async (name: string) => (await take({ Product: 'TWO', Place: name })).body.Access
    assert.deepEqual([await access('a'), await access('b'), await access('c')], ['realtime', 'realtime', 'delayed'])
    assert.equal((await take({ Product: 'TWO', Place: 'c' })).body.Delay, 60)
    clock.advance(40_000)
    assert.equal(await access('b'), 'realtime')
    clock.advance(40_000)
    assert.equal(await access('d'), 'realtime')
    const closed = await sessions('licence.closed', 'TWO')
    assert.ok(
      closed.length >= 2 && closed.every(({ details }: { details: { reason: string } }) => details.reason === 'idle'),
    )
  })

  test('when_full displace ends the oldest place when its program asks again, and then gives its place', async () => {
    assert.equal((await take({ Product: 'MOVE', Place: 'old' })).status, 201)
    const waiting = await take({ Product: 'MOVE', Place: 'new' })
    assert.deepEqual([waiting.body.Code, waiting.headers.get('retry-after')], ['Licence.Places', '1'])
    clock.advance(1)
    const displaced = await take({ Product: 'MOVE', Place: 'old' })
    assert.deepEqual([displaced.status, displaced.body.Code], [403, 'Licence.Displaced'])
    // In the same millisecond: the report still counts one place.
    assert.equal((await take({ Product: 'MOVE', Place: 'new' })).status, 201)
    assert.equal((await sessions('licence.closed', 'MOVE'))[0].details.reason, 'displaced')
  })

  test('a session ends when the access ends, and no place is given without access', async () => {
    assert.equal((await take({ User: 'carol', Product: 'LATE', Place: 'x' })).body.Access, 'delayed')
    await admin('PATCH', '/products/LATE', { default: null })
    await until('the session ends', 3_000, async () => (await sessions('licence.closed', 'LATE')).length === 1)
    assert.equal((await sessions('licence.closed', 'LATE'))[0].details.reason, 'changed')
    const refused = await take({ User: 'carol', Product: 'LATE', Place: 'x' })
    assert.deepEqual([refused.status, refused.body.Code, refused.body.Reason], [403, 'Licence.Needed', 'none'])
    assert.equal((await take({ Product: 'TWO', Place: 'z' }, server.robot)).status, 403)
    assert.equal((await take({ Product: 'NOTHING', Place: 'z' })).status, 404)
    assert.equal((await take({ Product: 'TWO', Place: 'z', Seconds: 301 })).status, 422)
    assert.equal((await take({ Product: 'TWO', Place: 'z', Client: 'robot' })).status, 422)
  })

  test('the report of a month comes from the audit log alone: a Python program makes the same bytes from an export', async () => {
    const robot = { User: undefined, Client: 'robot', Product: 'TWO', Place: 'r' }
    assert.equal((await take(robot)).status, 201)
    const csv = await admin('GET', `/usage?month=${MONTH}&format=csv`)
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
    const { body: report } = await admin('GET', `/usage?month=${MONTH}`)
    const row = (product: string, name: string) =>
      report.rows.find(
        (each: { product: string; subject: string }) =>
          each.product === product && (report.names[each.subject] ?? each.subject) === name,
      )
    assert.deepEqual(
      [row('TWO', 'bob').peak, row('TWO', 'bob').units, row('TWO', 'bob').firm],
      [2, 2, 'ACME, "Zürich"'],
    )
    assert.deepEqual(
      [row('TWO', 'robot').kind, row('TWO', 'robot').units, row('TWO', 'robot').type],
      ['exempt', 0, 'client'],
    )
    assert.deepEqual([row('MOVE', 'bob').peak, row('MOVE', 'bob').sessions, row('MOVE', 'bob').units], [1, 2, 1])
    assert.deepEqual([row('LATE', 'carol').access, row('LATE', 'carol').units], ['delayed', 0])
    const file = join(folder, 'audit.ndjson')
    const exported = await server.send('GET', '/admin/audit/export', { token: server.admin })
    // Up to the row that the report names.
    const lines = exported.body.split('\n').slice(0, report.head.seq)
    await writeFile(file, `${lines.join('\n')}\n`)
    const atHead = await admin('GET', `/usage?month=${MONTH}&format=csv&head=${report.head.seq}`)
    const python = spawnSync('python3', [PROGRAM, MONTH, file], { encoding: 'utf8' })
    assert.equal(python.stderr, '')
    assert.equal(python.stdout, atHead.body)
    const command = await runInProcess(['usage', '--month', MONTH, '--from', file])
    assert.equal(command.stdout, atHead.body, command.stderr)
    const other = await admin('GET', '/usage?month=2033-03&format=csv')
    assert.equal(other.body.trim().split('\n').length, 1)
    const closed = await admin('POST', `/usage/${MONTH}/close?head=${report.head.seq}`)
    assert.equal(closed.body.digest, createHash('sha256').update(atHead.body).digest('hex'))
    const [event] = (await admin('GET', '/audit?event=usage.closed')).body.items
    assert.deepEqual([event.target, event.details.digest], [MONTH, closed.body.digest])
  })

  test('a forged row of an export is named', async () => {
    const file = join(folder, 'audit.ndjson')
    const exported = await server.send('GET', '/admin/audit/export', { token: server.admin })
    const lines: string[] = exported.body.trim().split('\n')
    const at = lines.findIndex((line) => line.includes('"licence.opened"'))
    const run = async (changed: readonly string[]) => {
      await writeFile(file, `${changed.join('\n')}\n`)
      return runInProcess(['usage', '--month', MONTH, '--from', file])
    }
    const forged = await run(lines.with(at, (lines[at] ?? '').replace('"billable"', '"exempt"')))
    assert.match(forged.stderr, new RegExp(`Row ${at + 1} or the row before it was altered`))
    assert.match((await run(lines.toSpliced(at, 1))).stderr, new RegExp(`Row ${at + 1} is missing`))
    assert.match((await run(lines.slice(at))).stderr, /begins at row|are missing/)
    assert.match((await run(['nonsense'])).stderr, /no JSON/)
    assert.equal((await run(lines)).status, 0)
  })

  test('a month of another time zone begins at its midnight', async () => {
    const { body } = await admin('GET', `/usage?month=${MONTH}&zone=Asia/Tokyo`)
    assert.equal(body.zone, 'Asia/Tokyo')
    assert.equal((await admin('GET', `/usage?month=${MONTH}&zone=Nowhere`)).status, 400)
    assert.equal((await admin('GET', '/usage?month=2033-13')).status, 400)
    assert.equal((await admin('GET', `/usage?month=${MONTH}&head=999999`)).status, 400)
  })
})
