/** A server that is killed while it keeps views: the next one goes on from the position, and no row is wrong. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onEveryEngine } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const PROGRAM = fileURLToPath(new URL('./kept-server.ts', import.meta.url))
const KILLS = 3
const COMMITS = 60
const VIEWS = {
  minutes: `SELECT symbol, time_bucket('1 minute', at) AS minute, count(*) AS n, sum(quantity) AS q FROM trades GROUP BY symbol, minute`,
  totals: 'SELECT symbol, sum(n) AS n, max(q) AS q FROM minutes GROUP BY symbol',
}

onEveryEngine('materialized views after a kill', (place) => {
  test('rows and position are those of one commit, without a build', async () => {
    await withServer(async (server) => {
      await must(
        server,
        'CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, quantity Integer NOT NULL, at Timestamp NOT NULL)',
      )
      await must(server, 'CREATE INDEX trades_symbol ON trades (symbol, at)')
      for (const [name, query] of Object.entries(VIEWS))
        await must(server, `CREATE MATERIALIZED VIEW ${name} AS ${query}`)
    })
    // The last commit before a kill is perhaps not acknowledged: the next writes begin far behind it.
    let first = 0
    for (let kill = 0; kill < KILLS; kill++) {
      first = 1000 + (await writeUntilKilled(first))
      await withServer(async (server) => {
        await must(server, 'REFRESH MATERIALIZED VIEW totals')
        for (const [name, query] of Object.entries(VIEWS)) {
          const [held, wanted] = [
            await must(server, `SELECT * FROM ${name} ORDER BY 1, 2`),
            await must(server, `${query} ORDER BY 1, 2`),
          ]
          assert.deepEqual(held.Rows, wanted.Rows, name)
          assert.equal((await server.service.views.find(name))?.builds, 1 + kill)
          assert.equal((await must(server, `REFRESH MATERIALIZED VIEW ${name} FULL`)).RowsAffected, 0, name)
        }
      })
    }
  })

  /** Returns the last commit that was acknowledged. */
  async function writeUntilKilled(first: number): Promise<number> {
    const child = spawn(process.execPath, [PROGRAM, place().dataFolder, place().databaseUrl, String(first)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = once(child, 'exit')
    let last = first
    let commits = 0
    for await (const line of createInterface(child.stdout)) {
      if (line === 'ready') continue
      assert.match(line, /^\d+$/)
      last = Number(line)
      if (++commits === COMMITS) child.kill('SIGKILL')
    }
    await exited
    return last
  }

  async function withServer(act: (server: QueryServer) => Promise<void>): Promise<void> {
    const server = await startQueryServer(place())
    try {
      await act(server)
    } finally {
      await server.stop()
    }
  }
})

async function must(server: QueryServer, statement: string) {
  const reply = await server.query(statement)
  assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
  return reply.json
}
