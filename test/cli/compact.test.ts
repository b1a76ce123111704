/** `gatehouse compact` gives the space of deleted rows back to the disk, and leaves every row and every column segment right. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

onSqlite('gatehouse compact', (place) => {
  let server: TestServer
  const start = async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
  }
  before(start)
  after(() => server.stop())

  async function query(statement: string): Promise<{ Rows: readonly Record<string, unknown>[] }> {
    const { access_token: token } = await signIn(server, ADMIN)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
    const response = await fetch(`${server.issuer}/query`, { method: 'POST', body: statement, headers })
    const text = await response.text()
    assert.equal(response.status, 200, `${statement}: ${text}`)
    return JSON.parse(text)
  }
  async function insert(lines: readonly string[]): Promise<void> {
    const { access_token: token } = await signIn(server, ADMIN)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' }
    const url = `${server.issuer}/query/wide/insert`
    const response = await fetch(url, { method: 'POST', body: lines.join('\n'), headers })
    assert.equal(response.status, 200, await response.text())
  }
  const compact = (...flags: string[]) => runInProcess(['compact', '--data', place().dataFolder, ...flags])

  test('it is refused while a server runs, counts without changing, and gives the space back', async () => {
    await query('CREATE TABLE wide (id Integer PRIMARY KEY, t Text) WITH (columns = on)')
    await insert(Array.from({ length: 200 }, (_row, id) => JSON.stringify({ id, t: 'x'.repeat(10_000) })))
    await query('DELETE FROM wide WHERE id < 190')
    // This process is not another one that serves.
    const served = await runGatehouse(['compact', '--data', place().dataFolder])
    assert.equal(served.status, 1)
    assert.match(served.stderr, /A server .* stop it first/)
    await server.stop()
    const file = join(place().dataFolder, 'query.db')
    const before = statSync(file).size
    const tried = JSON.parse((await compact('--dry-run', '--json')).stdout)
    const found = tried.files.find((each: { file: string }) => each.file === 'query.db')
    assert.equal(tried.compacted, false)
    assert.ok(found.after < found.before - 1_000_000, JSON.stringify(found))
    assert.equal(statSync(file).size, before)
    // Of column segments: they are written again.
    const folder = join(place().dataFolder, 'columns')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'one.seg'), '')
    const done = await compact()
    assert.equal(done.status, 0, done.stderr)
    assert.ok(!existsSync(folder))
    assert.match(done.stdout, /query\.db[\s\S]*Given back: \d/)
    assert.ok(statSync(file).size < 2_000_000, done.stdout)
    await start()
    assert.deepEqual((await query('SELECT count(*) AS n, min(id) AS least FROM wide')).Rows, [{ n: 10, least: 190 }])
  })

  test('another program that uses the file, PostgreSQL, and a folder without a database are refused', async () => {
    await server.stop()
    const other = new SqliteDatabase(join(place().dataFolder, 'query.db'))
    try {
      other.exec('CREATE TABLE of_others (x); INSERT INTO of_others VALUES (zeroblob(100000)); DROP TABLE of_others')
      other.exec('BEGIN IMMEDIATE')
      const busy = await compact()
      assert.equal(busy.status, 1)
      assert.match(busy.stderr, /Another program uses .*query\.db/)
    } finally {
      other.close()
    }
    assert.match((await compact('--database-url', 'postgres://nobody@127.0.0.1:1/none')).stderr, /autovacuum/)
    assert.equal((await runInProcess(['compact', '--data', join(place().dataFolder, 'none')])).status, 1)
    await start()
  })
})
