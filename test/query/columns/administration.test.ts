/** What operators see of column segments. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onSqlite } from '../../support/engines.ts'
import { runGatehouse } from '../../support/process.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
type Body = any

onSqlite('administration of columns', (place) => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    token = String(JSON.parse(await response.text()).access_token)
  })
  after(() => server.stop())

  async function call(method: string, path: string, body?: string): Promise<{ status: number; body: Body }> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'text/plain' }),
    }
    const response = await fetch(server.issuer + path, { method, headers, ...(body === undefined ? {} : { body }) })
    const reply = await response.text()
    return { status: response.status, body: reply === '' ? undefined : JSON.parse(reply) }
  }

  test('tables are listed, verified and written anew', async () => {
    assert.equal((await call('POST', '/query', 'CREATE TABLE fast (id Integer) WITH (columns = on)')).status, 200)
    const { status, body } = await call('GET', '/admin/columns')
    assert.equal(status, 200)
    assert.deepEqual(
      body.items.find(({ table }: Body) => table === 'fast'),
      {
        table: 'fast',
        ready: 0,
        marked: 0,
        missing: 0,
        rows: 0,
        bytes: 0,
      },
    )
    const verified = await call('POST', '/admin/columns/FAST/verify')
    assert.deepEqual(verified, { status: 200, body: { table: 'fast', equal: 0, different: 0, changed: 0 } })
    assert.equal((await call('POST', '/admin/columns/fast/rebuild')).status, 204)
    for (const path of ['/admin/columns/none/verify', '/admin/columns/none/rebuild'])
      assert.equal((await call('POST', path)).status, 404, path)
    const { body: log } = await call('GET', '/admin/audit?event=columns')
    assert.deepEqual(
      log.items.map(({ event, target }: Body) => [event, target]),
      [['columns.rebuilt', 'fast']],
    )
  })

  test('the exported file says columnar', async () => {
    const exported = await call('GET', '/admin/declaration')
    assert.equal(exported.status, 200, JSON.stringify(exported.body))
    const fast = exported.body.declaration.tables.find(({ name }: Body) => name === 'fast')
    assert.equal(fast.columnar, true)
  })

  test('the command line needs a running server', async () => {
    const { status, stderr } = await runGatehouse(['columns', 'status', '--data', place().dataFolder])
    assert.equal(status, 1)
    assert.match(stderr, /query service on the embedded engine/)
  })
})
