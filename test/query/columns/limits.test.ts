/** Settings of column segments, and two processes that write them. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onSqlite } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, type ServerOptions, startQueryServer } from '../query-server.ts'

/** Segments are written with the lowest priority: other tests come first. */
const BUILT_MS = 20_000
const TIMING = {
  tickMs: 20,
  sweepMs: 50,
  rebuildSeconds: 0,
  orphanMs: 500,
  pauseMs: 20,
  segmentRows: 500,
  smallRows: 500,
}
const STATEMENT = 'SELECT v, count(*) AS n FROM t GROUP BY v ORDER BY v'

onSqlite('settings of columns', (place) => {
  const folder = () => join(place().dataFolder, 'columns')
  const files = () => (existsSync(folder()) ? readdirSync(folder()).filter((name) => name.endsWith('.seg')) : [])
  const must = async (server: QueryServer, statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json.Rows
  }
  const status = async (server: QueryServer) => (await server.service.columns?.status())?.[0]
  async function withServers(options: readonly ServerOptions[], use: (...servers: QueryServer[]) => Promise<void>) {
    const servers: QueryServer[] = []
    try {
      for (const option of options) servers.push(await startQueryServer(place(), { columnTiming: TIMING, ...option }))
      await use(...servers)
    } finally {
      for (const server of servers) await server.stop()
    }
  }
  const explained = async (server: QueryServer) =>
    Object.values((await must(server, `EXPLAIN ${STATEMENT}`)).at(-1) ?? {})[0]

  test('with query_columns = false none is written or read', async () => {
    await withServers([{ limits: { columnSegments: false } }], async (server) => {
      await must(server, 'CREATE TABLE t (id Integer PRIMARY KEY, v Integer) WITH (columns = on)')
      await must(server, 'INSERT INTO t SELECT n, n % 3 FROM generate_series(1, 3000) AS n')
      await sleep(300)
      assert.equal(existsSync(folder()), false)
      assert.equal(await explained(server), 'columns: not read (the setting query_columns is false)')
    })
  })

  test('no more bytes than the limit are written', async () => {
    await withServers([{ limits: { columnBytes: 1 } }], async (server) => {
      await until('one segment is ready', BUILT_MS, async () => (await status(server))?.ready === 1)
      await sleep(300)
      assert.equal((await status(server))?.ready, 1)
    })
  })

  test('two processes on one folder write each segment once', async () => {
    await withServers([{}, {}], async (one, other) => {
      await until('all segments are ready', BUILT_MS, async () => (await status(one))?.ready === 5)
      assert.deepEqual(await must(one, STATEMENT), [
        { v: 0, n: 1000 },
        { v: 1, n: 1000 },
        { v: 2, n: 1000 },
      ])
      const all = 'columns: 5 segments, 0 from rows, 0 skipped'
      await until('the other process reads them too', BUILT_MS, async () => (await explained(other)) === all)
      await must(other, 'UPDATE t SET v = 5 WHERE id = 1200')
      await must(one, 'DELETE FROM t WHERE id = 100')
      await until('they are ready again', BUILT_MS, async () => (await status(other))?.ready === 5)
      for (const server of [one, other])
        assert.deepEqual(
          (await must(server, STATEMENT)).map(({ n }) => n),
          [999, 999, 1000, 1],
        )
      await until('former files are removed', BUILT_MS, () => files().length === 5)
    })
  })

  test('while files cannot be written, as on a full disk, rows are read; then they are written', async () => {
    rmSync(folder(), { recursive: true })
    // A file in the place of the folder fails as every other error of the disk.
    writeFileSync(folder(), '')
    await withServers([{}], async (server) => {
      try {
        await until('the error is logged', BUILT_MS, () => server.log.some((line) => line.includes('EEXIST')))
        assert.deepEqual(
          (await must(server, STATEMENT)).map(({ n }) => n),
          [999, 999, 1000, 1],
        )
        await must(server, 'UPDATE t SET v = 5 WHERE id = 1300')
        assert.equal((await must(server, STATEMENT)).at(-1)?.n, 2)
        await must(server, 'UPDATE t SET v = 1 WHERE id = 1300')
        assert.equal((await status(server))?.ready, 0)
      } finally {
        rmSync(folder(), { force: true })
      }
      await until('they are written', BUILT_MS, async () => (await status(server))?.ready === 5)
      assert.equal((await server.service.columns?.verify('t', new AbortController().signal))?.equal, 5)
    })
  })

  test('a copy of the database without its files writes them again', async () => {
    rmSync(folder(), { recursive: true })
    await withServers([{}], async (server) => {
      assert.deepEqual(
        (await must(server, STATEMENT)).map(({ n }) => n),
        [999, 999, 1000, 1],
      )
      await until(
        'all segments are ready',
        BUILT_MS,
        async () => (await status(server))?.ready === 5 && files().length === 5,
      )
      assert.equal((await server.service.columns?.verify('t', new AbortController().signal))?.equal, 5)
    })
  })
})
