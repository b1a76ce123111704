/** What many slow subscribers, many statements and a long re-run may cost: bounded memory, and nothing that others notice. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

onEveryEngine('bounds of live statements', (place) => {
  const PER_USER = 400
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { liveLimits: { perUser: PER_USER, perConnection: PER_USER } })
    await run('CREATE TABLE t (id Integer PRIMARY KEY, body Text NOT NULL)')
    await run("INSERT INTO t VALUES (1, repeat('x', 2000)), (2, repeat('y', 2000))")
  })
  after(async () => {
    LiveClient.closeAll()
    await server.stop()
  })

  const run = async (statement: string): Promise<void> => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }
  const metric = (name: string): number =>
    Number(new RegExp(`^gatehouse_live_${name} (\\d+)`, 'm').exec(server.metrics.render())?.[1])

  test('subscribers who do not read cost no memory beyond the result and its recent changes', async () => {
    const stalled = await Promise.all(
      Array.from({ length: 300 }, () => LiveClient.open(server, 'SELECT id, body FROM t')),
    )
    // Some have the first state, some do not.
    for (const client of stalled.slice(0, 100)) await client.until('the first state', () => client.applier.isWhole)
    for (const client of stalled) client.maySend = false
    const reader = await LiveClient.follow(server, 'SELECT id, body FROM t')
    for (let round = 1; round <= 80; round++) {
      const body = `${round}.`.padEnd(2000, 'z')
      await run(`UPDATE t SET body = '${body}' WHERE id = 1`)
      await reader.until('the change', () => JSON.stringify(reader.applier.rows).includes(body))
    }
    const most = 150_000
    assert.ok(metric('bytes') < most, `${metric('bytes')} bytes for one result, of which 80 states were sent`)
    for (const client of stalled) client.release()
    for (const client of stalled) {
      await client.holds(reader.applier.rows)
      assert.ok(client.texts.length <= 3, 'a state, a Reset, the last state')
      client.close()
    }
    const { length } = reader.texts
    assert.ok(length <= 81 + 1, `${length} messages`)
    reader.close()
  })

  test('statements beyond the limit are refused, and those that run go on', async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: PER_USER + 200 }, (_client, id) =>
        LiveClient.open(server, 'SELECT body FROM t WHERE id = :id', { parameters: { id } }),
      ),
    )
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.deepEqual(new Set(refused), new Set(['Limit.Live']))
    assert.equal(refused.length, 200)
    const clients = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    assert.equal(metric('families'), 1)
    await run("UPDATE t SET body = 'short' WHERE id = 2")
    await clients[2]?.holds([{ body: 'short' }])
    for (const client of clients) client.close()
  })

  test('a statement that runs for long does not delay the others', async () => {
    await run('CREATE TABLE n (id Integer PRIMARY KEY)')
    const rows = Array.from({ length: 400 }, (_row, id) => ({ id }))
    assert.equal((await server.call('/query/n/insert', rows)).status, 200)
    // 64 million combinations: seconds on any machine.
    const long = LiveClient.open(
      server,
      'SELECT count(*) AS c FROM n a CROSS JOIN n b CROSS JOIN n d WHERE a.id + b.id + d.id < 0',
    )
    let isOver = false
    long.then(
      () => (isOver = true),
      () => (isOver = true),
    )
    const short = await LiveClient.follow(server, 'SELECT body FROM t WHERE id = 2')
    for (let round = 0; round < 10; round++) {
      await run(`UPDATE t SET body = 'round ${round}' WHERE id = 2`)
      await short.holds([{ body: `round ${round}` }])
    }
    assert.equal(isOver, false, 'ten changes were delivered while it ran')
  })

  /** The turns of the event loop between the first and the last of the given number of messages. */
  const turnsBetween = async (clients: readonly LiveClient[], change: string, onMessage = (): void => {}) => {
    const seen: number[] = []
    let turns = 0
    const turn = (): void => {
      turns++
      if (seen.length < clients.length) setImmediate(turn)
    }
    for (const client of clients)
      client.onMessage(() => {
        seen.push(turns)
        onMessage()
      })
    setImmediate(turn)
    await run(change)
    await until('everybody has the change', 30_000, () => seen.length >= clients.length)
    return (seen.at(-1) ?? 0) - (seen[0] ?? 0)
  }

  test('a change for many subscribers leaves the event loop to others in between', async () => {
    const clients = await Promise.all(
      Array.from({ length: 96 }, () => LiveClient.follow(server, 'SELECT id, body FROM t WHERE id = 1')),
    )
    const takeLong = (): void => {
      const end = performance.now() + 1
      while (performance.now() < end);
    }
    const turns = await turnsBetween(clients, "UPDATE t SET body = 'for many' WHERE id = 1", takeLong)
    assert.ok(turns >= 3, `${turns} turns while 96 ms of messages were sent`)
    for (const client of clients) client.close()
  })

  test('a change of many rows that many statements read leaves the event loop to others in between', async () => {
    await run('CREATE TABLE many (id Integer PRIMARY KEY, v Integer)')
    const rows = Array.from({ length: 200 }, (_row, id) => ({ id, v: id }))
    assert.equal((await server.call('/query/many/insert', rows)).status, 200)
    const clients = await Promise.all(
      Array.from({ length: 80 }, (_client, n) =>
        LiveClient.follow(server, `SELECT v FROM many WHERE id = 3 AND v > ${n - 80}`),
      ),
    )
    const turns = await turnsBetween(clients, 'UPDATE many SET v = v + 1 ALL')
    assert.ok(turns >= 10, `${turns} turns while 80 statements were read`)
    for (const client of clients) client.close()
  })

  test('a table that is altered while many statements are planned again is a Definition to all of them', async () => {
    await run('CREATE TABLE d (id Integer PRIMARY KEY)')
    const clients = await Promise.all(
      Array.from({ length: 200 }, (_client, n) =>
        LiveClient.follow(server, `SELECT d.*, ${n} AS n FROM d WHERE id = ${n}`),
      ),
    )
    await Promise.all([
      run('CREATE TABLE other (id Integer PRIMARY KEY)'),
      run('ALTER TABLE d ADD COLUMN t Text'),
      run('CREATE TABLE another (id Integer PRIMARY KEY)'),
    ])
    for (const client of clients) await client.until('a Reset', () => client.applier.seen.Reset > 0)
    assert.deepEqual(new Set(clients.flatMap(({ applier }) => applier.reasons)), new Set(['Definition']))
    for (const client of clients) client.close()
  })
})
