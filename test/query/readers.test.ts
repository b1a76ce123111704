/** The processes that read: what they keep for the next one, and what happens where none can be started. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openPlace } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { startQueryServer } from './query-server.ts'

const SCARCE = fileURLToPath(new URL('./scarce-descriptors.ts', import.meta.url))

test('a reader keeps its compiled code for the next one, although it will be killed', async () => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startQueryServer(place)
  try {
    assert.equal((await server.query('SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b')).status, 200)
    const kept = async (): Promise<string[]> =>
      readdir(join(place.dataFolder, 'cache'), { recursive: true }).catch((): string[] => [])
    await until('compiled code is kept', 5000, async () => (await kept()).length > 10)
  } finally {
    await server.stop()
    await leave()
  }
})

test('where no process can be started, all queries that need one are 503 at once, and the next one is served', async () => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startQueryServer(place, { limits: { concurrency: 1 } })
  const program = process.execPath
  try {
    process.execPath = '/nowhere/node'
    const started = performance.now()
    const statement = 'SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b'
    const replies = await Promise.all([1, 2, 3].map(() => server.query(statement)))
    assert.deepEqual(
      replies.map(({ status, json }) => [status, json.Code]),
      replies.map(() => [503, 'Limit.Overload']),
    )
    assert.ok(performance.now() - started < 5000, 'nobody waited for the time limit')
    assert.equal(replies[0]?.headers.get('retry-after'), '1')
    process.execPath = program
    assert.equal((await server.query(statement)).status, 200)
  } finally {
    process.execPath = program
    await server.stop()
    await leave()
  }
})

test('a server without descriptors refuses the query, and whoever waits for a reader, and lives on', () => {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', `ulimit -n 60; exec "$0" "$1"`, process.execPath, SCARCE], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.equal(status, 0, stderr)
  assert.equal(stdout, 'Limit.Overload Limit.Overload Limit.Overload alive\n')
})
