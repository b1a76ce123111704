/** A full disk under SQLite: writes are refused with 503 and Retry-After, reads go on, and all is well once there is room. */
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { after, before, mock, test } from 'node:test'
import Sqlite, { type Database } from 'better-sqlite3'
import { openPlace } from '../support/engines.ts'
import { type Answer, startGate, type TestGate } from '../support/identity.ts'
import { until } from '../support/until.ts'

/** The connections that write, by file name: SQLite limits the size of a file for each connection, and answers SQLITE_FULL. */
const writers: { readonly name: string; readonly database: Database }[] = []
let leave: () => Promise<void>
let gate: TestGate
let token: string
before(async () => {
  const pragma = Sqlite.prototype.pragma
  mock.method(Sqlite.prototype, 'pragma', function (this: Database, source: string, options?: Sqlite.PragmaOptions) {
    if (/^journal_mode/.test(source)) writers.push({ name: basename(this.name), database: this })
    return pragma.call(this, source, options)
  })
  const opened = await openPlace('sqlite')
  leave = opened.leave
  gate = await startGate(opened.place)
  token = (await gate.signIn({ username: 'boss', scope: 'Platform/Admin' })).access_token
  assert.equal((await query('CREATE TABLE notes (id Integer PRIMARY KEY, t Text)')).status, 200)
})
after(async () => {
  mock.restoreAll()
  await gate.stop()
  await leave()
})

async function query(statement: string): Promise<Answer> {
  const response = await fetch(`${gate.server.issuer}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: statement,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

let count = 0
const WRITES = [
  {
    file: 'identity.db',
    check: 'database',
    log: 'identity',
    write: () => gate.post('/connect/deviceauthorization', { client_id: 'tv', scope: 'openid profile email roles' }),
  },
  {
    file: 'query.db',
    check: 'query',
    log: 'query',
    write: () => query(`INSERT INTO notes VALUES (${++count}, '${'x'.repeat(1000)}')`),
  },
] as const

for (const { file, check, log, write } of WRITES) {
  test(`${file} on a full disk`, async () => {
    const connections = writers.filter(({ name, database }) => name === file && database.open)
    assert.ok(connections.length > 0)
    const limit = (pages: number) => {
      for (const { database } of connections) database.pragma(`max_page_count = ${pages}`)
    }
    limit(1)
    // The pages that the file has are filled first.
    let answer = await write()
    for (let tries = 0; tries < 500 && answer.status === 200; tries++) answer = await write()
    assert.equal(answer.status, 503, answer.text)
    assert.equal(answer.headers.get('retry-after'), '5')
    assert.match(answer.text, /its disk is full/)
    const ready = await gate.get('/readyz')
    assert.equal(ready.status, 503)
    assert.equal((ready.body.checks as Record<string, string>)[check], 'its disk is full')
    assert.equal((await query('SELECT t FROM notes WHERE id = 0')).status, 200)
    assert.equal((await gate.get('/healthz')).status, 200)

    limit(1_000_000)
    assert.equal((await write()).status, 200)
    assert.equal((await gate.get('/readyz')).status, 200)
    const lines = () =>
      gate.server.log.flatMap((line) => {
        const { database, msg, reason } = JSON.parse(line)
        return database === log ? [[msg, reason]] : []
      })
    await until('the end is logged', 10_000, async () => {
      await gate.get('/readyz')
      return lines().length >= 2
    })
    assert.deepEqual(lines(), [
      ['the database is not available', 'its disk is full'],
      ['the database is available again', undefined],
    ])
  })
}
