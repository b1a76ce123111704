/** What operators see and do of materialized views: routes, the command line, the declarative file, and PostgreSQL's catalogue. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { onSqlite } from '../../support/engines.ts'
import { runGatehouse } from '../../support/process.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
type Body = any

const ORDERS = {
  name: 'orders',
  columns: [
    { name: 'desk', type: 'Text', nullable: false, primary_key: true },
    { name: 'id', type: 'Integer', nullable: false, primary_key: true },
    { name: 'qty', type: 'Integer', nullable: false },
  ],
}
const DESKS = {
  name: 'desks',
  query: 'SELECT desk, sum(qty) AS total FROM orders GROUP BY desk',
  materialized: true,
  require_acr: 1,
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-views-'))
after(() => rmSync(folder, { recursive: true }))

onSqlite('administration of materialized views', (place) => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    token = String(JSON.parse(await response.text()).access_token)
    await run('CREATE TABLE deals (symbol Text NOT NULL, id Integer, qty Integer NOT NULL, PRIMARY KEY (symbol, id))')
    await run(`INSERT INTO deals VALUES ('A', 1, 10), ('A', 2, 20), ('B', 3, 30)`)
    await run('CREATE MATERIALIZED VIEW totals AS SELECT symbol, sum(qty) AS total FROM deals GROUP BY symbol')
    // On a busy machine CREATE answers before it is built.
    await run('REFRESH MATERIALIZED VIEW totals')
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
  async function run(statement: string): Promise<Body[]> {
    const { status, body } = await call('POST', '/query', statement)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    return body.Rows
  }

  test('views are listed and shown, brought up to date, and evaluated anew, which the audit log has', async () => {
    const { status, body } = await call('GET', '/admin/views')
    assert.equal(status, 200)
    // The demonstration has others.
    const totals = body.items.find(({ name }: Body) => name === 'totals')
    assert.partialDeepStrictEqual(totals, { base: 'deals', state: 'ready', rows: 2, error: null })
    assert.equal((await call('GET', '/admin/views/TOTALS')).body.query, totals.query)
    await run('DELETE FROM deals WHERE id = 1')
    assert.deepEqual(await call('POST', '/admin/views/totals/refresh'), {
      status: 200,
      body: { view: 'totals', wrong: 0 },
    })
    assert.deepEqual(await run(`SELECT total FROM totals WHERE symbol = 'A'`), [{ total: '20' }])
    assert.equal((await call('POST', '/admin/views/totals/refresh?full=true')).status, 200)
    for (const [method, path] of [
      ['GET', '/admin/views/deals'],
      ['GET', '/admin/views/none'],
      ['POST', '/admin/views/none/refresh'],
    ] as const)
      assert.equal((await call(method, path)).status, 404, path)
    const { body: log } = await call('GET', '/admin/audit?event=view')
    assert.deepEqual(
      log.items.map(({ event, target }: Body) => [event, target]),
      [['view.rebuilt', 'totals']],
    )
  })

  test('the metrics have the views', async () => {
    const text = async (): Promise<string> => {
      const response = await fetch(`${server.issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      return response.text()
    }
    await until('the groups are counted', 5000, async () =>
      /gatehouse_view_groups_total\{view="totals"\} [1-9]/.test(await text()),
    )
    assert.match(await text(), /gatehouse_view_behind_seconds\{view="totals"\} \d/)
  })

  test('a declared view is made, kept while its query is, and built again with another', async () => {
    const file = join(folder, 'file.json')
    const apply = async (declaration: object, ...options: readonly string[]): Promise<string> => {
      writeFileSync(file, JSON.stringify(declaration))
      const data = ['--data', place().dataFolder]
      const { stdout, stderr, status } = await runGatehouse(['apply', ...data, '--config', file, ...options])
      assert.equal(status, 0, stderr)
      return stdout
    }
    assert.match(await apply({ tables: [ORDERS], views: [DESKS] }), /desks/)
    // The server learns of it from the database.
    await until('the view is built', 30_000, async () => {
      const { body } = await call('GET', '/admin/views/desks')
      return body.state === 'ready'
    })
    await run(`INSERT INTO orders VALUES ('X', 1, 5), ('X', 2, 6)`)
    await run('REFRESH MATERIALIZED VIEW desks')
    assert.deepEqual(await run('SELECT desk, total FROM desks'), [{ desk: 'X', total: '11' }])
    const builds = async (): Promise<number> => (await call('GET', '/admin/views/desks')).body.builds
    const before = await builds()
    await apply({ tables: [ORDERS], views: [{ ...DESKS, description: 'By desk' }] })
    assert.equal(await builds(), before)
    let exported = await call('GET', '/admin/declaration')
    const findDeclared = () => exported.body.declaration.views.find(({ name }: Body) => name === 'desks')
    await until('the server has learned of the description', 10_000, async () => {
      exported = await call('GET', '/admin/declaration')
      return findDeclared().description === 'By desk'
    })
    assert.partialDeepStrictEqual(findDeclared(), { materialized: true, require_acr: 1 })
    assert.ok(exported.body.declaration.tables.every(({ name }: Body) => name !== 'desks'))
    await apply({ tables: [ORDERS], views: [{ ...DESKS, query: DESKS.query.replace('sum', 'max') }] })
    await until('the other view is built', 30_000, async () => {
      const { body } = await call('GET', '/admin/views/desks')
      return body.state === 'ready' && /max/.test(body.query)
    })
    await run('REFRESH MATERIALIZED VIEW desks')
    assert.deepEqual(await run('SELECT desk, total FROM desks'), [{ desk: 'X', total: 6 }])
  })

  test('the command line lists and refreshes them at a running server', async () => {
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, 'admin-please-change')
    const gatehouse = (...args: readonly string[]) =>
      runGatehouse([...args, '--server', server.issuer], { environment: { XDG_CONFIG_HOME: folder } })
    const login = await gatehouse('login', '--username', 'admin', '--password-file', passwordFile)
    assert.equal(login.status, 0, login.stderr)
    const listed = await gatehouse('view', 'list', '--json')
    assert.equal(listed.status, 0, listed.stderr)
    assert.match(listed.stdout, /"totals"/)
    const refreshed = await gatehouse('view', 'refresh', 'totals', '--full')
    assert.match(refreshed.stdout, /totals is built: 0 rows were wrong/)
    const { status, stderr } = await runGatehouse(['view', 'list', '--data', place().dataFolder])
    assert.equal(status, 1)
    assert.match(stderr, /--server/)
  })
})
