/** Live statements running alongside queries: they count as queries, wait behind them, and a slow one ends at the time limit. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

/** Nothing while the table gate is empty, else about 10^12 rows. */
function slow(gate: string): string {
  const names = ['a', 'b', 'c', 'd']
  const isOpen = names.map((name) => `${name}.n < 1000 * (SELECT count(*) FROM ${gate})`)
  return `SELECT count(*) AS n FROM ${names.map((name) => `nums ${name}`).join(' CROSS JOIN ')}
    WHERE ${isOpen.join(' AND ')} AND a.n + b.n + c.n + d.n < 0`
}

onEveryEngineInLongRuns('live statements beside queries', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { limits: { milliseconds: 1500, concurrency: 4 } })
    await run('CREATE TABLE nums (n Integer PRIMARY KEY)')
    await run(`INSERT INTO nums VALUES ${Array.from({ length: 1000 }, (_, n) => `(${n})`).join(', ')}`)
    // The time limit is short: readers are started before it counts.
    await until('readers have started', 30_000, async () => {
      const warm = [0, 1].map((n) => LiveClient.open(server, `SELECT count(*) AS n FROM nums WHERE n % 3 = ${n}`))
      const outcomes = await Promise.allSettled(warm)
      const { status: code } = await server.query('SELECT count(*) AS n FROM nums WHERE n % 2 = 0')
      return code === 200 && outcomes.every(({ status }) => status === 'fulfilled')
    })
    LiveClient.closeAll()
  })
  afterEach(() => LiveClient.closeAll())
  after(() => server.stop())

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const metric = (name: string): number => {
    const lines = server.metrics.render().split('\n')
    return Number(
      lines
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  }

  test('each run counts as a query', async () => {
    await run('CREATE TABLE c (id Integer PRIMARY KEY)')
    const counted = (): number => metric('gatehouse_queries_total{outcome="ok"}')
    const before = counted()
    const client = await LiveClient.follow(server, 'SELECT count(*) AS n FROM c')
    await run('INSERT INTO c VALUES (1)')
    await client.holds([{ n: 1 }])
    assert.equal(counted() - before, 3, 'the first state, the insert and the second state')
  })

  test('a statement that reaches the time limit three times in a row ends; half of the readers are left to others', async () => {
    const gates = ['g0', 'g1', 'g2', 'g3']
    for (const gate of gates) await run(`CREATE TABLE ${gate} (id Integer PRIMARY KEY)`)
    const clients = await Promise.all(gates.map((gate) => LiveClient.follow(server, slow(gate), { as: 'trader' })))
    for (const gate of gates) await run(`INSERT INTO ${gate} VALUES (1)`)
    await until('one runs and three wait: one user does not take what there is for all', 10_000, () => {
      return metric('gatehouse_queries_running') === 1 && metric('gatehouse_queries_waiting') === 3
    })
    // Another user's first state does not wait for them.
    const other = await LiveClient.follow(server, 'SELECT count(*) AS n FROM nums WHERE n % 2 = 0', { as: 'market' })
    await other.holds([{ n: 500 }])
    assert.ok(clients.every(({ ended }) => ended === undefined))
    const query = await server.query('SELECT count(*) AS n FROM nums WHERE n % 2 = 0', { as: 'trader' })
    assert.equal(query.status, 200)
    const [first] = clients
    for (const client of clients.slice(1)) client.close()
    await first?.until('the end', () => first.ended !== undefined)
    assert.equal(first?.ended?.code, 'Limit.Time')
    assert.ok(metric('gatehouse_queries_total{outcome="Limit.Time"}') >= 3)
    assert.equal(first?.applier.seen.Reset, 0)
  })
})
