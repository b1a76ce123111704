/** A bulk insert on a full disk: all or nothing, and the server goes on. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { count, csv, filesIn, post } from './bulk-requests.ts'

const PROGRAM = fileURLToPath(new URL('./crash-server.ts', import.meta.url))

/** A limit on the length of files is a disk that is full, for every file by itself. */
test('a disk that is full while the rows arrive, or while they are written, leaves no row and no file, and the server goes on', {
  skip: process.platform === 'win32',
}, async () => {
  const { place, leave } = await openPlace('sqlite')
  const { url, child } = await startLimited(place, 20_000_000)
  try {
    for (const statement of [
      'CREATE TABLE t (id Integer PRIMARY KEY, a Text, b Text)',
      'CREATE INDEX by_a ON t (a)',
      'CREATE INDEX by_b ON t (b)',
    ])
      assert.equal((await post(url, '/query', 'text/plain', statement)).status, 200)
    const received = await post(url, '/query/t/insert', 'text/csv', csv(5000, 2400))
    assert.deepEqual([received.status, received.json.Code], [503, 'Limit.Overload'], JSON.stringify(received.json))
    assert.match(received.json.detail ?? '', /^The disk has no room for the rows; nothing was inserted/)
    assert.deepEqual([await filesIn(place), await count(url)], [0, 0])
    // The log of the database is longer than the rows, because of the indexes.
    const written = await post(url, '/query/t/insert?duplicates=skip', 'text/csv', csv(85_000, 100))
    assert.deepEqual([written.status, written.json.Code], [503, 'Data.Unavailable'], JSON.stringify(written.json))
    assert.match(written.json.detail ?? '', /^The database is not available: its disk (is full|failed)$/)
    assert.deepEqual([await filesIn(place), await count(url)], [0, 0])
    const small = await post(url, '/query/t/insert', 'text/csv', csv(100, 100))
    assert.deepEqual([small.status, small.json.RowsAffected, await count(url)], [200, 100, 100])
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await leave()
  }
})

async function startLimited(
  { dataFolder }: TestPlace,
  bytes: number,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const command = `ulimit -f ${Math.floor(bytes / 512)}; exec "$@"`
  const child = spawn('sh', ['-c', command, 'sh', process.execPath, PROGRAM, dataFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return { url: String(line).trim(), child }
}
