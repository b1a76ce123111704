/** Erasures pass the horizon, not a hold, and are audited without the values of their parameters. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AuditEvent } from 'gatehouse-protocol'
import { onEveryEngine } from '../../support/engines.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query-server.ts'

const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

onEveryEngine('erasure', (place) => {
  let server: QueryServer
  const audited: AuditEvent[] = []
  before(async () => {
    server = await startQueryServer(place(), { audit: { record: (event) => void audited.push(event) } })
    await must('CREATE TABLE orders (at Timestamp NOT NULL, id Integer, customer Text, PRIMARY KEY (at, id))')
    // The third is closed when the retention is set, and not deleted while the table is held.
    const rows = [
      [0, 1, 'ann'],
      [1, 2, 'bob'],
      [40, 3, 'ann'],
      [41, 4, 'bob'],
    ] as const
    const values = rows.map(([days, id, customer]) => `('${ago(days)}', ${id}, '${customer}')`)
    await must(`INSERT INTO orders VALUES ${values.join(', ')}`)
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const ids = async () => (await must('SELECT id FROM orders ORDER BY id')).Rows.map(({ id }) => Number(id))
  const erase = async (where: string, parameters = {}, isDryRun = false, caller = 'admin', table = 'ORDERS') => {
    const principal = CALLERS[caller]
    assert.ok(principal)
    const retention = await server.service.retention()
    return retention.erase(principal, table, { where, parameters, reason: 'request 12', isDryRun })
  }

  test('a hold is not passed, and nothing is recorded', async () => {
    await must(`ALTER TABLE orders SET WITH (retention = '30 days' ON at, hold = on)`)
    audited.length = 0
    await assert.rejects(erase('customer = :c', { c: 'ann' }), /is held/)
    assert.deepEqual([await ids(), audited], [[1, 2, 3, 4], []])
  })

  test('closed rows are erased, in one transaction with open ones; a plain DELETE of them is refused', async () => {
    // Transactions that hold the cut back are not needed: the clock of the node is wrong, so that nothing is deleted.
    await server.stop()
    server = await startQueryServer(place(), {
      clock: () => Date.now() + 3_600_000,
      audit: { record: (event) => void audited.push(event) },
    })
    await must('ALTER TABLE orders SET WITH (hold = off)')
    assert.equal((await server.query("DELETE FROM orders WHERE customer = 'ann'")).json.Code, 'Data.TooOld')
    assert.deepEqual(await erase('customer = :c', { c: 'ann' }, true), { Rows: 2 })
    assert.deepEqual(await erase('customer = :c', { c: 'ann' }), { Rows: 2 })
    assert.deepEqual(await ids(), [2, 4])
    const erased = audited.filter(({ event }) => event === 'retention.erased')
    assert.deepEqual(
      erased.map(({ actor, target, details }) => [actor, target, details]),
      [['admin', 'orders', { table: 'orders', rows: 2, where: 'customer = :c', reason: 'request 12' }]],
    )
    // Only that one transaction may.
    assert.equal((await server.query("DELETE FROM orders WHERE customer = 'bob'")).json.Code, 'Data.TooOld')
    assert.equal((await server.query("UPDATE orders SET customer = 'eve' WHERE id = 4")).json.Code, 'Data.TooOld')
  })

  test('an erasure that fails leaves the horizon as it was; it has the rights of its caller, and is a condition', async () => {
    await assert.rejects(erase("1 / (id - 4) > 0 OR customer = 'bob'"), /zero/i)
    assert.equal((await server.query('DELETE FROM orders WHERE id = 4')).json.Code, 'Data.TooOld')
    await assert.rejects(erase('id = 4', {}, false, 'market'), /Platform\/Admin/)
    await assert.rejects(erase('id = 4) OR (1 = 1'), /\)/)
    await assert.rejects(erase('nothing = 1'), /nothing/)
    assert.equal(await erase('TRUE', {}, false, 'admin', 'nowhere'), undefined)
    assert.deepEqual(await ids(), [2, 4])
  })
})
