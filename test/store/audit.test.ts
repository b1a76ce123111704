/** The audit log: one hash chain for all writers, in which every kind of tampering is detected. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { AUDIT_EVENTS, CHANGES } from 'gatehouse-protocol'
import { type AuditLog, openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import {
  exportAuditLog,
  followAuditLog,
  readAuditPage,
  scanAuditPage,
} from '../../packages/server/src/store/audit/read.ts'
import { verifyAuditLog } from '../../packages/server/src/store/audit/verify.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { pruneAuditLog } from '../../packages/server/src/store/prune.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createTestClock, startTestServer } from '../support/server.ts'

onEveryEngine('audit log', (place) => {
  let database: Database
  let log: AuditLog
  const clock = createTestClock(1_700_000_000_000)
  const open = (onDatabase: Database, node: string) =>
    openAuditLog(onDatabase, {
      clock,
      node,
      onError(error) {
        throw error
      },
    })

  before(async () => {
    database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
  })
  after(() => database.close())
  beforeEach(async () => {
    await database.db.deleteFrom('audit_log').execute()
    await database.db.updateTable('audit_head').set({ seq: 0, hash: '' }).execute()
    log = open(database, 'one')
  })

  async function recordMany(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      clock.advance(1000)
      log.record({ event: 'token.revoked', actor: `user-${index}`, client: 'app', details: { what: 'access token' } })
    }
    await log.flush()
  }

  const faults = async () => (await verifyAuditLog(database)).faults.map(({ kind, seq }) => `${kind} ${seq}`)

  test('an event is durable within a second without a flush', async () => {
    log.record({ event: 'signin.succeeded', actor: 'u1', address: '192.0.2.1', details: { methods: ['pwd', 'otp'] } })
    await new Promise((resolve) => setTimeout(resolve, 900))
    const [row] = await readAuditPage(database.db, {}, { limit: 10 })
    assert.partialDeepStrictEqual(row, { event: 'signin.succeeded', actor: 'u1', outcome: 'success', seq: 1 })
    assert.deepEqual(JSON.parse(row?.details ?? ''), { methods: ['pwd', 'otp'] })
  })

  test('writers on several nodes produce one intact chain', async () => {
    const other =
      place().engine === 'postgres'
        ? await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
        : database
    const logs = [log, open(other, 'two'), open(other, 'three')]
    for (let round = 0; round < 30; round++) {
      for (const writer of logs) {
        for (let index = 0; index < 50; index++) writer.record({ event: 'token.revoked', actor: `user-${index}` })
      }
      await Promise.all(logs.map((writer) => writer.flush()))
    }
    assert.partialDeepStrictEqual(await verifyAuditLog(database), { rows: 4500, head: { seq: 4500 }, faults: [] })
    if (other !== database) await other.close()
  })

  test('characters that a database cannot store are removed, and the chain is intact', async () => {
    log.record({ event: 'signin.refused', actor: 'a\0b', details: { username: `\ud800"'\n${'x'.repeat(2000)}` } })
    await log.flush()
    assert.deepEqual(await faults(), [])
    const [row] = await readAuditPage(database.db, {}, { limit: 1 })
    assert.equal(row?.actor, 'ab')
    assert.ok((row?.details.length ?? 0) < 600)
  })

  for (const [column, value] of Object.entries({
    at: 1,
    event: 'signout.succeeded',
    outcome: 'refused',
    actor: 'somebody-else',
    client: null,
    target: 't',
    address: '203.0.113.9',
    request_id: 'r',
    node: 'two',
    details: '{}',
    hash: '0'.repeat(64),
  })) {
    test(`an altered ${column} is detected`, async () => {
      await recordMany(10)
      await database.db
        .updateTable('audit_log')
        .set({ [column]: value })
        .where('seq', '=', 5)
        .execute()
      const found = await faults()
      assert.ok(found.includes('altered 5'), String(found))
    })
  }

  test('a missing row, a missing beginning and a missing end are detected', async () => {
    await recordMany(10)
    await database.db.deleteFrom('audit_log').where('seq', '=', 4).execute()
    assert.deepEqual(await faults(), ['missing 4'])
    await database.db.deleteFrom('audit_log').where('seq', '<=', 4).execute()
    assert.deepEqual(await faults(), ['missing 4'])
    await database.db.deleteFrom('audit_log').where('seq', '>', 8).execute()
    assert.deepEqual(await faults(), ['missing 4', 'truncated 9'])
  })

  test('two swapped rows are detected', async () => {
    await recordMany(6)
    await database.db.updateTable('audit_log').set({ seq: 100 }).where('seq', '=', 2).execute()
    await database.db.updateTable('audit_log').set({ seq: 2 }).where('seq', '=', 3).execute()
    await database.db.updateTable('audit_log').set({ seq: 3 }).where('seq', '=', 100).execute()
    assert.deepEqual(await faults(), ['altered 2', 'altered 3', 'altered 4'])
  })

  test('a row inserted after the end and an emptied log are detected', async () => {
    await recordMany(3)
    const [last] = await readAuditPage(database.db, {}, { limit: 1 })
    assert.ok(last)
    await database.db
      .insertInto('audit_log')
      .values({ ...last, seq: 4 })
      .execute()
    assert.deepEqual(await faults(), ['unexpected 4'])
    await database.db.deleteFrom('audit_log').execute()
    assert.deepEqual(await faults(), ['truncated 1'])
  })

  test('a chain that was rewritten as a whole is detected with a head recorded earlier', async () => {
    await recordMany(5)
    const { head } = await verifyAuditLog(database)
    await database.db.deleteFrom('audit_log').execute()
    await database.db.updateTable('audit_head').set({ seq: 0, hash: '' }).execute()
    await recordMany(7)
    assert.deepEqual((await verifyAuditLog(database)).faults, [])
    assert.deepEqual(
      (await verifyAuditLog(database, head)).faults.map(({ kind, seq }) => `${kind} ${seq}`),
      ['head-mismatch 5'],
    )
  })

  test('retention removes old rows and records it, and the chain continues', async () => {
    await recordMany(10)
    const cut = clock() - 3_500
    const removed = await pruneAuditLog(database, { before: cut, now: clock(), node: 'one' })
    assert.equal(removed, 6)
    await recordMany(2)
    assert.partialDeepStrictEqual(await verifyAuditLog(database), { rows: 7, head: { seq: 13 }, faults: [] })
    const { faults: found } = await verifyAuditLog(database, { seq: 3, hash: 'of a row that was pruned' })
    assert.partialDeepStrictEqual(found, [{ kind: 'missing', seq: 3 }])
    await database.db.deleteFrom('audit_log').where('seq', '=', 7).execute()
    assert.deepEqual(await faults(), ['missing 7'])
  })

  test('the export has one JSON object per line, oldest first, and can be filtered', async () => {
    await recordMany(3)
    log.record({ event: 'signin.refused', actor: 'mallory', details: { reason: 'password' } })
    await log.flush()
    const lines = (await Array.fromAsync(exportAuditLog(database.db, {}))).map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ seq, event }) => `${seq} ${event}`),
      ['1 token.revoked', '2 token.revoked', '3 token.revoked', '4 signin.refused'],
    )
    assert.partialDeepStrictEqual(lines[3], { actor: 'mallory', outcome: 'refused', details: { reason: 'password' } })
    assert.equal((await Array.fromAsync(exportAuditLog(database.db, { event: 'signin' }))).length, 1)
    assert.equal((await readAuditPage(database.db, { actor: 'user-1' }, { limit: 5 })).length, 1)
  })
})

onEveryEngine('changes in the audit log', (place) => {
  test('they are found page by page, however many sign-ins are between them, and can be followed and exported', async () => {
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    const clock = createTestClock()
    const log = openAuditLog(database, { clock, node: 'one', onError: (error) => assert.fail(String(error)) })
    for (let count = 0; count < 6; count++) {
      const facts = { actor: 'usr_admin', target: `usr_${count}` }
      log.record({ event: count % 2 === 0 ? 'user.created' : 'client.changed', ...facts })
      for (let other = 0; other < 30; other++) {
        log.record({ event: 'signin.succeeded', actor: `usr_${other}` })
        log.record({ event: 'client.refused', client: `app-${other}` })
      }
    }
    await log.close()
    const { db } = database
    const targets = (rows: readonly { target: string | null }[]) => rows.map(({ target }) => target)
    const page = await scanAuditPage(db, { changes: true }, { limit: 4, scanned: 5 })
    assert.deepEqual(targets(page.rows), ['usr_5', 'usr_4', 'usr_3', 'usr_2'])
    const last = await scanAuditPage(db, { changes: true }, { before: page.next, limit: 4, scanned: 5 })
    assert.deepEqual([targets(last.rows), last.next], [['usr_1', 'usr_0'], undefined])
    const some = await scanAuditPage(db, { changes: true, event: 'client', targets: ['usr_1', 'usr_2'] }, { limit: 9 })
    assert.deepEqual(targets(some.rows), ['usr_1'])
    const none = await scanAuditPage(db, { changes: true, event: 'client.refused' }, { limit: 9 })
    assert.deepEqual(none, { rows: [], next: undefined })
    const followed = await followAuditLog(db, { changes: true }, { after: 0, limit: 100 })
    assert.deepEqual(targets(followed.rows), ['usr_0', 'usr_1', 'usr_2', 'usr_3', 'usr_4', 'usr_5'])
    assert.equal((await Array.fromAsync(exportAuditLog(db, { changes: true }))).length, 6)
    await database.close()
  })

  test('a sign-in, a refusal and a token are none; what an administrator or a person changed is one', () => {
    const unchanged =
      /^(signin|signout|session|authorization|token|access|stream|wire|live|server|audit|device)\.|\.refused$/
    const changes = Object.keys(AUDIT_EVENTS).filter((name) => CHANGES.some((change) => change === name))
    assert.deepEqual(
      changes.filter((name) => unchanged.test(name)),
      [],
    )
    assert.deepEqual(
      Object.keys(AUDIT_EVENTS).filter((name) => !unchanged.test(name) && !changes.includes(name)),
      [
        'query.cancelled',
        'stepup.asked',
        'agent.called',
        'licence.opened',
        'licence.closed',
        'retention.cut',
        'mail.sent',
        'mail.failed',
        'provider.logout',
        'identity.break_glass',
        'backup.taken',
        'backup.verified',
        'backup.interrupted',
      ],
    )
  })
})

onEveryEngine('audit of a server', (place) => {
  test('start and stop of a node are recorded, and a stop flushes the queue', async () => {
    const server = await startTestServer(place(), { isFirstStart: true })
    await server.stop()
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    const rows = await readAuditPage(database.db, { event: 'server' }, { limit: 10 })
    assert.deepEqual(
      rows.map((row) => row.event),
      ['server.stopped', 'server.started'],
    )
    await database.close()
  })
})
