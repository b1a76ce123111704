/** A SQLite file that another process has locked: the event loop keeps running, writes wait for a while, and are then refused. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { type Answer, startGate, type TestGate } from '../support/identity.ts'
import { until } from '../support/until.ts'

let place: TestPlace
let leave: () => Promise<void>
let gate: TestGate
let token: string
before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  gate = await startGate(place)
  token = (await gate.signIn({ username: 'boss', scope: 'Platform/Admin' })).access_token
  assert.equal((await query('CREATE TABLE notes (id Integer PRIMARY KEY, t Text)')).status, 200)
})
after(async () => {
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

/** Locks both files as another process would; the returned function unlocks them. */
function lock(): () => void {
  const connections = ['identity.db', 'query.db'].map((name) => new Sqlite(join(place.dataFolder, name)))
  for (const connection of connections) connection.exec('BEGIN IMMEDIATE')
  return () => {
    for (const connection of connections) connection.close()
  }
}

let count = 0
/** One of each way to write: a statement and a transaction of the identity store, a short write and a definition of queries. */
const writes = () => [
  gate.post('/connect/deviceauthorization', { client_id: 'tv', scope: 'openid' }),
  gate.post('/connect/token', {
    grant_type: 'password',
    client_id: 'cli',
    username: 'alice',
    password: 'wonderland-1',
    scope: 'offline_access',
  }),
  query(`INSERT INTO notes VALUES (${++count}, 'x')`),
  query(`CREATE INDEX by_text_${count} ON notes (t)`),
]

test('while a file is locked, other requests are served, and the writes succeed once it is free', async () => {
  const unlock = lock()
  const waiting = writes()
  // Far less than the writes would wait for.
  const served = [await gate.get('/healthz'), await query('SELECT t FROM notes WHERE id = 0')]
  unlock()
  assert.deepEqual(
    served.map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ status, text }) => (status === 200 ? status : text)),
    waiting.map(() => 200),
  )
})

test('a file that stays locked: 503 with Retry-After, /readyz 503, and all is well once it is free', async () => {
  const unlock = lock()
  try {
    const answers = await Promise.all(writes())
    for (const { status, headers, text } of answers) {
      assert.equal(status, 503, text)
      assert.equal(headers.get('retry-after'), '5')
      assert.match(text, /another process has locked it/)
    }
    const ready = await gate.get('/readyz')
    assert.equal(ready.status, 503)
    assert.deepEqual(Object.keys(ready.body.checks as object).sort(), ['database', 'installation', 'process', 'query'])
  } finally {
    unlock()
  }
  await until('the server is ready', 10_000, async () => (await gate.get('/readyz')).status === 200)
  for (const { status, text } of await Promise.all(writes())) assert.equal(status, 200, text)
})
