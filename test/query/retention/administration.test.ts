/** What operators see and set of retention, and the declarative file. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onSqlite } from '../../support/engines.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
type Body = any

onSqlite('administration of retention', (place) => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    token = String(JSON.parse(await response.text()).access_token)
  })
  after(() => server.stop())

  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': type }) }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(server.issuer + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: text }),
    })
    const reply = await response.text()
    return { status: response.status, body: reply === '' ? undefined : JSON.parse(reply) }
  }

  test('a retention is tried, set, run, listed, held and ended', async () => {
    const table = 'CREATE TABLE logins (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id))'
    assert.equal((await call('POST', '/query', table)).status, 200)
    const insert = `INSERT INTO logins VALUES ('2001-01-01', 1), ('2002-01-01', 2), ('${new Date().toISOString()}', 3)`
    assert.equal((await call('POST', '/query', insert)).status, 200)
    const retention = { time: '30 days', on: 'at' }
    const tried = await call('POST', '/admin/retention/logins', { retention, dry_run: true })
    assert.partialDeepStrictEqual(tried, { status: 200, body: { rows: 2, stay: [], go: [] } })
    assert.deepEqual((await call('GET', '/admin/retention')).body.items, [])
    const set = await call('POST', '/admin/retention/logins', { retention })
    assert.partialDeepStrictEqual(set, {
      status: 200,
      body: { table: 'logins', time: '30 days', on: 'at', hold: false },
    })
    const { status, body } = await call('POST', '/admin/retention/logins/run')
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['Horizon', 'Cut', 'Rows'])
    const left = await call('POST', '/query', 'SELECT id FROM logins')
    assert.deepEqual(left.body.Rows, [{ id: 3 }])
    assert.equal((await call('GET', '/admin/retention')).body.items.length, 1)
    const { body: shown } = await call('GET', '/admin/retention/LOGINS')
    assert.partialDeepStrictEqual(shown, {
      table: 'logins',
      time: '30 days',
      on: 'at',
      horizon: shown.cut,
      fault: null,
    })
    const wait = Date.parse(shown.next) - Date.now()
    assert.ok(wait > -60_000 && wait <= 60_000, shown.next)
    assert.equal((await call('GET', '/admin/retention/none')).status, 404)
    const { body: nodes } = await call('GET', '/admin/nodes')
    assert.deepEqual(
      nodes.items.map(({ keeper }: Body) => keeper),
      [true],
    )
    assert.equal((await call('POST', '/admin/retention/logins', { hold: true })).body.hold, true)
    assert.equal((await call('GET', '/admin/retention/logins')).body.next, null)
    const held = await call('POST', '/admin/retention/logins/run')
    assert.deepEqual([held.status, held.body.Code], [409, 'Data.Held'])
    const exported = await call('GET', '/admin/declaration')
    const declared = exported.body.declaration.tables.find(({ name }: Body) => name === 'logins')
    assert.deepEqual([declared.retention, declared.hold], [retention, true])
    assert.equal((await call('POST', '/admin/retention/logins', { hold: false, retention: null })).status, 200)
    assert.deepEqual((await call('GET', '/admin/retention')).body.items, [])
    for (const path of ['/admin/retention/none/run', '/admin/retention/logins/run'])
      assert.equal((await call('POST', path)).status, 404, path)
    for (const wrong of [
      {},
      { hold: 1 },
      { retention: { time: '1 day' } },
      { held: true },
      { hold: true, dry_run: true },
    ])
      assert.equal((await call('POST', '/admin/retention/logins', wrong)).status, 422, JSON.stringify(wrong))
    const { body: log } = await call('GET', '/admin/audit?event=table')
    assert.deepEqual(
      log.items.map(({ event }: Body) => event).filter((event: string) => /held|released/.test(event)),
      ['table.released', 'table.held'],
    )
    const { body: defined } = await call('GET', '/admin/audit?event=query.defined')
    const changes = defined.items.filter(({ target }: Body) => target === 'logins')
    assert.deepEqual(
      changes.map(({ details }: Body) => details.retention),
      ['none', undefined, '30 days on at', undefined],
    )
  })
})
