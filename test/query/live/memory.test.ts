/** The memory of live results: what counts, what goes first when it is scarce, and that nothing is left behind. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Refusal } from 'gatehouse-protocol'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { caller, type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

const LIMIT = 1_500_000
const SECOND = caller('second', ['Platform/Market'], [])
const THIRD = caller('third', ['Platform/Market'], [])

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

  const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
  const failures = (): readonly string[] => server.log.filter((line) => line.includes('the query service failed'))

  test('texts count as memory holds them: two bytes for a character where one of them is wide', async () => {
    const toBytes = async (t: string): Promise<number> => {
      await run('DELETE FROM m ALL')
      assert.equal((await server.call('/query/m/insert', [{ id: 1, v: 1, t }])).status, 200)
      const before = metric('gatehouse_live_bytes')
      const client = await LiveClient.follow(server, `SELECT t, '${t[0]}' AS c FROM m`)
      const bytes = metric('gatehouse_live_bytes') - before
      client.close()
      return bytes
    }
    const narrow = await toBytes('e'.repeat(50_000))
    const latin = await toBytes('é'.repeat(50_000))
    const wide = await toBytes('€'.repeat(50_000))
    assert.ok(Math.abs(latin - narrow) < 5_000, `${narrow} bytes for e, ${latin} for é`)
    assert.ok(Math.abs(wide - narrow - 50_000) < 5_000, `${narrow} bytes for e, ${wide} for €`)
  })

  test('empty results without subscribers count too, and are dropped when there are many', async () => {
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
        client.maySend = false
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

  test('a large snapshot that is read slowly is read to its end', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 600)
    const client = await LiveClient.open(server, 'SELECT id, v, t FROM m', { as: 'trader' })
    const step = (): void => {
      client.maySend = false
      setTimeout(() => client.release(), 1)
    }
    client.onMessage(step)
    await client.until('the whole result', () => client.applier.isWhole)
    assert.deepEqual([client.applier.size, client.applier.seen.Reset], [600, 0])
  })

  test('a reader that is reset while its next piece is waiting continues without further changes', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 400)
    const client = await LiveClient.open(server, 'SELECT id, v, t FROM m', { as: 'trader' })
    // After each piece, everything changes: what the reader still has to read is no longer the result, and uses as much memory again.
    let round = 0
    client.onMessage(() => {
      if (++round <= 3) void run(`UPDATE m SET v = v + 1, t = '${'z'.repeat(1000)}${round}' WHERE id >= 0`)
    })
    await client.until('the whole result', () => client.applier.isWhole && client.applier.size === 400)
    await client.until('the last state', () =>
      String(client.applier.rows[0] && JSON.stringify(client.applier.rows[0])).includes('z3'),
    )
    assert.ok(metric('gatehouse_live_bytes') <= LIMIT)
  })

  test('then the largest statement of the user with the most memory ends, not one of another user', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 300)
    const greedy = await LiveClient.follow(server, 'SELECT t FROM m WHERE id < 200', { as: 'trader' })
    const large = await LiveClient.follow(server, 'SELECT t, id FROM m', { as: 'trader' })
    const others = [
      await LiveClient.follow(server, 'SELECT t, v FROM m', { as: SECOND }),
      await LiveClient.follow(server, 'SELECT t, v FROM m WHERE id < 100', { as: SECOND }),
      await LiveClient.follow(server, 'SELECT t, v, id FROM m', { as: THIRD }),
    ]
    const modest = await LiveClient.follow(server, 'SELECT id FROM m WHERE v < 10', { as: 'market' })
    // Nobody has more than a user may, but together they have more than there is.
    for (let n = 0; n < 60; n += 20) await insert(300 + n, 20)
    await large.until('the largest ends', () => large.ended !== undefined)
    assert.equal(large.ended?.code, 'Limit.Memory')
    await run('UPDATE m SET v = 9 WHERE id = 200')
    await modest.until('the change', () => modest.applier.size === 11)
    assert.ok([greedy, modest, ...others].every(({ ended }) => ended === undefined))
    const another = await LiveClient.follow(server, 'SELECT id, v FROM m WHERE v < 10', { as: 'market' })
    assert.equal(another.applier.size, 11, 'there is room for others')
  })

  /** Follows a statement and stops reading after the first piece. */
  const stall = async (statement: string, as: string): Promise<LiveClient> => {
    const client = await LiveClient.open(server, statement, { as })
    client.onMessage(() => {
      client.maySend = false
    })
    await client.until('the first piece', () => client.texts.length > 0 || client.ended !== undefined)
    return client
  }

  test('statements that fill the memory and are not read take nothing from others', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 500)
    await run(`INSERT INTO m VALUES (1000, -1, 'small')`)
    const stalled: LiveClient[] = []
    for (const column of ['id', 'v', 'id + 1 AS n', 'v + 1 AS w']) {
      try {
        stalled.push(await stall(`SELECT t, ${column} FROM m WHERE v >= 0`, 'trader'))
      } catch (error) {
        assert.ok(error instanceof Refusal)
        assert.equal(error.code, 'Limit.Memory')
      }
      assert.ok(metric('gatehouse_live_bytes') <= LIMIT, `${metric('gatehouse_live_bytes')} bytes`)
    }
    const others: LiveClient[] = []
    for (let n = 0; n < 9; n++)
      others.push(await LiveClient.follow(server, `SELECT t, ${n} AS n FROM m WHERE v < 0`, { as: 'market' }))
    await run(`UPDATE m SET t = 'changed' WHERE id = 1000`)
    for (const [n, other] of others.entries()) await other.holds([{ t: 'changed', n }])
    // The results grow, and one is read again.
    for (let from = 2000; from < 2200; from += 50) await insert(from, 50)
    for (const client of stalled) {
      client.onMessage(() => {})
      if (client.ended === undefined) client.release()
    }
    await run(`UPDATE m SET t = 'again' WHERE id = 1000`)
    for (const [n, other] of others.entries()) await other.holds([{ t: 'again', n }])
    assert.ok(others.every(({ ended, applier }) => ended === undefined && applier.seen.Reset === 0))
    assert.ok(metric('gatehouse_live_bytes') <= LIMIT)
    assert.deepEqual(failures(), [])
  })

  test('one user gets at most half of the memory, even if no one else needs any', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 300)
    const first = await LiveClient.follow(server, 'SELECT t FROM m', { as: 'trader' })
    const second = await LiveClient.follow(server, 'SELECT t, id FROM m', { as: 'trader' })
    await assert.rejects(LiveClient.open(server, 'SELECT t, v, id FROM m', { as: 'trader' }), refusedAs('Limit.Memory'))
    assert.deepEqual([first.ended, second.ended], [undefined, undefined])
    await LiveClient.follow(server, 'SELECT t, v FROM m', { as: 'market' })
  })

  test('a result that was kept is refused to a user who would have too much with it, and is not evaluated', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 500)
    const kept = 'SELECT t, v FROM m'
    const left = await LiveClient.follow(server, kept, { as: 'market' })
    const own = await LiveClient.follow(server, 'SELECT t FROM m WHERE id < 300', { as: 'trader' })
    left.close()
    await assert.rejects(LiveClient.open(server, kept, { as: 'trader' }), refusedAs('Limit.Memory'))
    assert.equal(own.ended, undefined)
    assert.equal(metric('gatehouse_live_families'), 1)
    await LiveClient.follow(server, kept, { as: 'market' })
  })

  test('a result that many follow is charged to all of them, and only those of the heaviest owner lose it', async () => {
    await run('DELETE FROM m ALL')
    await insert(0, 300)
    const shared = 'SELECT t FROM m'
    const greedy = await LiveClient.follow(server, shared, { as: 'trader' })
    const others = [
      await LiveClient.follow(server, shared, { as: 'market' }),
      await LiveClient.follow(server, shared, { as: SECOND }),
    ]
    for (let n = 0; n < 7; n++)
      await LiveClient.follow(server, `SELECT t, ${n} AS n FROM m WHERE id < 80`, { as: 'trader' })
    await insert(300, 10)
    await run('UPDATE m SET v = -5 WHERE id = 1')
    for (const client of others) await client.until('all rows', () => client.applier.size === 310)
    await greedy.until('it ends', () => greedy.ended !== undefined)
    assert.equal(greedy.ended?.code, 'Limit.Memory')
    assert.ok(others.every(({ ended }) => ended === undefined))
  })
})
