/** A live result of 100,000 rows: in pieces, in order, and with a change of every row. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Refusal } from 'gatehouse-protocol'
import type { LiveMessage } from '../../../packages/server/src/query/live/contract.ts'
import { inLongRuns } from '../../support/engines.ts'
import { longestTurn } from '../event-loop.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

const ROWS = 100_000

inLongRuns('large live results', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const run = async (statement: string): Promise<void> => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }

  test('100,000 rows arrive in pieces, and so does a change of all of them', async () => {
    const some = Array.from({ length: 1000 }, (_, id) => `(${id}, 0)`)
    await run('CREATE TABLE big (id Integer PRIMARY KEY, v Integer NOT NULL)')
    await run(`INSERT INTO big VALUES ${some.join(', ')}`)
    let count = 1000
    for (const factor of [10, 10])
      for (let copy = 1, size = count; copy < factor; copy++, count += size)
        await run(`INSERT INTO big SELECT id + ${copy * size}, v FROM big WHERE id < ${size}`)
    assert.equal(count, ROWS)
    const keys = await LiveClient.follow(server, 'SELECT id, v FROM big')
    const ordered = await LiveClient.follow(server, 'SELECT id, v FROM big ORDER BY v DESC, id')
    assert.deepEqual([keys.applier.size, ordered.applier.size], [ROWS, ROWS])
    assert.ok(keys.applier.seen.pieces > 20 && keys.applier.seen.Snapshot === 1)
    await run('UPDATE big SET v = 1 WHERE id = 99999')
    await keys.until('a row changes', () => keys.applier.seen.Change === 1)
    await ordered.until('a row moves', () => ordered.applier.seen.Change === 1)
    assert.deepEqual(ordered.applier.rows[0], { id: 99_999, v: 1 })
    assert.equal(ordered.texts.length, ordered.applier.seen.pieces)
    assert.equal(JSON.parse(ordered.texts.at(-1) ?? '').Put.length, 1)
    await run('UPDATE big SET v = 2 WHERE id < 50000')
    const sum = (): number => keys.applier.rows.reduce((total: number, row) => total + readQuantity(row), 0)
    await keys.until('half of the rows change', () => keys.applier.isWhole && sum() === 100_001)
    assert.ok(keys.applier.seen.pieces > 40)
    assert.equal(keys.applier.seen.Reset, 0)
    keys.close()
    ordered.close()
  })

  test('no turn of the event loop is long, when all rows are sent first and when all change', async (t) => {
    let round = 2
    let states = 0
    let reached: () => void = () => {}
    const sink = {
      maySend: true,
      send({ position }: LiveMessage): void {
        if (position === undefined) return
        states++
        reached()
      },
      end: (reason: Refusal) => assert.fail(reason),
    }
    const state = (count: number): Promise<void> =>
      new Promise((resolve) => {
        reached = () => void (states === count && resolve())
        reached()
      })
    const { admin: principal } = CALLERS
    assert.ok(principal !== undefined)
    const { milliseconds, limit } = await longestTurn(async () => {
      states = 0
      round++
      const subscription = await server.service.live.subscribe(
        {
          principal,
          statement: `SELECT id, v, ${round} AS r FROM big`,
          parameters: new Map(),
          maxRate: 50,
          resume: undefined,
          encoding: { rows: 'objects', integers: 'numbers' },
          connectionId: 'c',
          requestId: `turns-${round}`,
          address: '127.0.0.1',
        },
        sink,
      )
      await state(1)
      await run(`UPDATE big SET v = ${round} ALL`)
      await state(2)
      subscription.close()
    })
    t.diagnostic(`the longest turn took ${milliseconds.toFixed()} of ${limit.toFixed()} ms`)
    assert.ok(milliseconds <= limit, `${milliseconds} ms of at most ${limit} ms`)
  })
})

function readQuantity(row: unknown): number {
  return typeof row === 'object' && row !== null && 'v' in row ? Number(row.v) : Number.NaN
}
