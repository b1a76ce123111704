/** Repeated events in the audit log are counted: no one can fill the log, every occurrence is in it, and its chain is intact. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import type { AuditEvent } from 'gatehouse-protocol'
import { type AuditLog, openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { exportAuditLog } from '../../packages/server/src/store/audit/read.ts'
import { verifyAuditLog } from '../../packages/server/src/store/audit/verify.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createTestClock } from '../support/server.ts'

const MINUTE = 60_000

interface Row {
  readonly at: string
  readonly event: string
  readonly actor?: string
  readonly client?: string
  readonly address?: string
  readonly request_id?: string
  readonly details: { readonly count?: number; readonly since?: string; readonly [name: string]: unknown }
}

onEveryEngineInLongRuns('repeats in the audit log', (place) => {
  let database: Database
  let log: AuditLog
  const clock = createTestClock(1_700_000_000_000)
  const onError = (error: unknown) => {
    throw error
  }
  before(async () => {
    database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
  })
  after(() => database.close())
  beforeEach(async () => {
    await database.db.deleteFrom('audit_log').execute()
    await database.db.updateTable('audit_head').set({ seq: 0, hash: '' }).execute()
    clock.advance(100 * MINUTE)
    log = openAuditLog(database, { clock, node: 'one', onError })
  })
  // Its interval would write to a closed database later.
  afterEach(() => log.close())

  async function rows(): Promise<Row[]> {
    await log.flush()
    assert.deepEqual((await verifyAuditLog(database)).faults, [])
    const found: Row[] = []
    for await (const line of exportAuditLog(database.db, {})) found.push(JSON.parse(line))
    return found
  }
  /** How often it happened, from the rows. */
  const occurrences = (found: readonly Row[]) => found.reduce((sum, { details }) => sum + (details.count ?? 1), 0)
  const refusal = (address: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
    event: 'client.refused',
    address,
    requestId: 'r',
    details: { method: 'none', reason: 'unknown client' },
    ...(more as object),
  })

  test('the first refusals get a row each; while they continue, one row per interval has their number', async () => {
    for (let count = 0; count < 1000; count++) log.record(refusal('192.0.2.1', { requestId: `r${count}` }))
    assert.equal((await rows()).length, 10)
    clock.advance(10 * MINUTE)
    const [row] = (await rows()).slice(10)
    assert.deepEqual(row?.details, {
      method: 'none',
      reason: 'unknown client',
      count: 990,
      since: new Date(clock() - 10 * MINUTE).toISOString(),
    })
    assert.deepEqual([row?.address, row?.request_id], ['192.0.2.1', 'r999'])
    for (let interval = 0; interval < 5; interval++) {
      for (let count = 0; count < 100; count++) log.record(refusal('192.0.2.1'))
      clock.advance(10 * MINUTE)
    }
    const all = await rows()
    assert.deepEqual(
      all.slice(11).map(({ details }) => details.count),
      [100, 100, 100, 100, 100],
    )
    assert.equal(occurrences(all), 1500)
    // Quiet for an interval: from then on it counts as new.
    clock.advance(10 * MINUTE)
    await log.flush()
    log.record(refusal('192.0.2.1'))
    assert.equal((await rows()).at(-1)?.details.count, undefined)
  })

  test('an event that comes when the interval is over writes the count before it', async () => {
    for (let count = 0; count < 12; count++) log.record(refusal('192.0.2.1'))
    clock.advance(10 * MINUTE)
    log.record(refusal('192.0.2.1'))
    clock.advance(10 * MINUTE)
    assert.deepEqual(
      (await rows()).slice(10).map(({ details }) => details.count),
      [2, 1],
    )
  })

  test('others are not counted with it: another event, client, actor, reason or network', async () => {
    for (let count = 0; count < 50; count++) log.record(refusal('192.0.2.1'))
    log.record(refusal('192.0.2.2'))
    log.record(refusal('192.0.2.1', { client: 'app' }))
    log.record(refusal('192.0.2.1', { actor: 'usr_1' }))
    log.record(refusal('192.0.2.1', { details: { method: 'none', reason: 'disabled' } }))
    log.record({ event: 'signin.delayed', address: '192.0.2.1', details: { seconds: 1 } })
    assert.equal((await rows()).length, 15)
    // Neither the number of seconds nor a text from the request makes another kind; an IPv6 network is one.
    for (let count = 0; count < 50; count++) {
      log.record({ event: 'signin.delayed', address: `2001:db8::${count}`, details: { seconds: count } })
      const details = { error: 'invalid_request', reason: 'x', response_type: String(count) }
      log.record({ event: 'authorization.refused', address: '192.0.2.3', client: 'app', details })
    }
    assert.equal((await rows()).length, 35)
  })

  test('strangers with many kinds of refusals do not make rows of callers with a token omit who they are', async () => {
    const address = '192.0.2.1'
    const details = { reason: 'it was used before', path: '/query' }
    for (let count = 0; count < 150; count++) {
      log.record({ event: 'proof.refused', address, client: `named-${count}`, details })
      log.record({ event: 'signin.refused', address, actor: `usr_${count}`, details: { reason: 'wrong password' } })
    }
    for (let count = 0; count < 12; count++)
      log.record({ event: 'proof.refused', address, actor: 'usr_1', client: 'desk', details })
    clock.advance(10 * MINUTE)
    const stolen = (await rows()).filter(({ actor, client }) => actor === 'usr_1' && client === 'desk')
    assert.equal(stolen.length, 11)
    assert.equal(stolen.at(-1)?.details.count, 2)
  })

  test('what people change, and sign-ins, are never counted', async () => {
    for (let count = 0; count < 30; count++) {
      log.record({ event: 'user.changed', actor: 'usr_1', target: 'usr_2', details: { changed: ['profile'] } })
      log.record({ event: 'signin.succeeded', actor: 'usr_1', details: { methods: ['pwd'] } })
    }
    assert.equal((await rows()).length, 60)
  })

  test('tokens that one user gets again and again with the same client are counted from the second on', async () => {
    for (let count = 0; count < 30; count++) {
      const details = { scope: 'openid', grant: `g${count}` }
      const facts = { actor: 'usr_1', client: 'console', address: '192.0.2.1' }
      log.record({ event: 'authorization.granted', ...facts, details: { ...details, response_type: 'code' } })
      log.record({ event: 'token.issued', ...facts, details: { ...details, grant_type: 'authorization_code' } })
    }
    assert.equal((await rows()).length, 2)
    clock.advance(10 * MINUTE)
    const counted = (await rows()).slice(2)
    assert.deepEqual(
      counted.map(({ event, details: { count, grant } }) => [event, count, grant]),
      [
        ['authorization.granted', 29, 'g29'],
        ['token.issued', 29, 'g29'],
      ],
    )
  })

  test('one network has a bounded number of kinds, and so have all of them together; every occurrence is counted', async () => {
    for (let kind = 0; kind < 150; kind++)
      for (let count = 0; count < 20; count++) log.record(refusal('192.0.2.1', { client: `app-${kind}` }))
    const first = await rows()
    assert.equal(first.length, 100 * 10)
    clock.advance(10 * MINUTE)
    const all = await rows()
    assert.equal(all.length, 100 * 10 + 101)
    assert.equal(occurrences(all), 3000)
    const rest = all.find(({ client, details }) => client === undefined && details.count === 50 * 20)
    assert.deepEqual([rest?.event, rest?.address, rest?.details.reason], ['client.refused', '192.0.2.1', undefined])
    for (let host = 0; host < 12_000; host++) log.record(refusal(`10.1.${host >> 8}.${host & 255}`))
    const before = (await rows()).length
    assert.ok(before - all.length <= 10_000, `${before - all.length} rows`)
    clock.advance(10 * MINUTE)
    assert.equal(occurrences(await rows()), 15_000)
  })

  test('however many users share a network, the log says who got tokens', async () => {
    for (let user = 0; user < 300; user++)
      for (let count = 0; count < 3; count++)
        log.record({ event: 'token.issued', actor: `usr_${user}`, client: 'app', address: '192.0.2.1' })
    await log.close()
    const found = await rows()
    assert.equal(occurrences(found), 900)
    assert.deepEqual([found.length, new Set(found.map(({ actor }) => actor)).size], [600, 300])
  })

  test('a stop writes what was counted', async () => {
    for (let count = 0; count < 40; count++) log.record(refusal('192.0.2.1'))
    await log.close()
    const found = await rows()
    assert.deepEqual([found.length, occurrences(found)], [11, 40])
  })

  test('a clock that is set back does not keep counts for longer', async () => {
    for (let count = 0; count < 40; count++) log.record(refusal('192.0.2.1'))
    clock.advance(-60 * MINUTE)
    const found = await rows()
    clock.advance(60 * MINUTE)
    assert.deepEqual([found.length, occurrences(found)], [11, 40])
  })
})
