/** The memory of live results: what counts, what goes first when it is scarce, and that nothing is left behind. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

const LIMIT = 1_500_000

onEveryEngineInLongRuns('the memory of live results', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { liveLimits: { bytes: LIMIT } })
    await run('CREATE TABLE m (id Integer PRIMARY KEY, v Integer NOT NULL, t Text NOT NULL)')
  })
  afterEach(() => LiveClient.closeAll())
  after(() => server.stop())

  const run = async (statement: string): Promise<void> => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }
  const text = 'x'.repeat(1000)
  const insert = async (from: number, count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, n) => ({ id: from + n, v: from + n, t: text }))
    const reply = await server.call('/query/m/insert', rows)
    assert.equal(reply.status, 200, reply.text)
  }
  const metric = (name: string): number => {
    const line = server.metrics
      .render()
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
    return Number(line?.split(' ').at(-1))
  }

  test('empty results that nobody follows count too, and are dropped when there are many', async () => {
    for (let value = 0; value < 400; value++) {
      const client = await LiveClient.open(server, 'SELECT id FROM m WHERE v = :v', { parameters: { v: value } })
      client.close()
    }
    const bytes = metric('gatehouse_live_bytes')
    assert.ok(bytes > LIMIT / 2 && bytes <= LIMIT, `${bytes} bytes`)
    assert.equal(metric('gatehouse_live_families'), 0)
    assert.equal([...server.service.live.list()].length, 0)
  })

  test('positions and changes that are kept for later make room before anything ends', async () => {
    await run('DELETE FROM m ALL')
    await run(`INSERT INTO m VALUES (1, 1, '')`)
    const clients = await Promise.all(
      Array.from({ length: 30 }, (_, n) => LiveClient.follow(server, `SELECT t FROM m WHERE v > ${-n}`)),
    )
    for (let n = 0; n < 25; n++) {
      const t = `${n}${'x'.repeat(4000)}`
      await run(`UPDATE m SET t = '${t}' WHERE id = 1`)
      for (const client of clients) await client.holds([{ t }])
    }
    assert.ok(metric('gatehouse_live_bytes') <= LIMIT)
    assert.ok(clients.every(({ ended, applier }) => ended === undefined && applier.seen.Reset === 0))
  })

  test('what slow readers have not read goes next, and they are reset when they read again', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 200)
    const good = await LiveClient.follow(server, 'SELECT id, v, t FROM m')
    const slow: LiveClient[] = []
    for (let n = 1; n <= 6; n++) {
      const client = await LiveClient.open(server, 'SELECT id, v, t FROM m')
      // It reads the first piece only.
      client.onMessage(() => {
        client.isCongested = true
      })
      slow.push(client)
      await client.until('the first piece', () => client.texts.length === 1)
      await run(`UPDATE m SET v = ${1000 + n} WHERE id = 1`)
      await good.until('the change', () => good.applier.seen.Change === n)
      assert.ok(
        metric('gatehouse_live_bytes') <= LIMIT,
        `${metric('gatehouse_live_bytes')} bytes with ${n} slow readers`,
      )
    }
    for (const client of slow) {
      client.onMessage(() => {})
      client.release()
    }
    for (const client of slow) await client.holds(good.applier.rows)
    assert.equal(good.applier.seen.Reset, 0)
  })

  test('then the largest statement of the user with the most ends, not that of somebody else', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 550)
    const greedy = await LiveClient.follow(server, 'SELECT t FROM m', { as: 'trader' })
    const large = await LiveClient.follow(server, 'SELECT t, id FROM m', { as: 'trader' })
    const modest = await LiveClient.follow(server, 'SELECT id FROM m WHERE v < 10', { as: 'market' })
    await insert(550, 100)
    await run('UPDATE m SET v = 9 WHERE id = 649')
    await modest.until('the change', () => modest.applier.size === 11)
    await large.until('one ends', () => large.ended !== undefined || greedy.ended !== undefined)
    const ended = [greedy, large].filter(({ ended }) => ended !== undefined)
    assert.deepEqual(
      ended.map(({ ended }) => ended?.code),
      ['Limit.Memory'],
    )
    assert.equal(modest.ended, undefined)
    const another = await LiveClient.follow(server, 'SELECT id, v FROM m WHERE v < 10', { as: 'market' })
    assert.equal(another.applier.size, 11, 'there is room for others')
  })
})
