/** `gatehouse config export` and GET /admin/declaration: what exists as a declarative file, and back. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { EMPTY, onEveryEngineInLongRuns, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer } from '../support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-export-'))
after(() => rmSync(folder, { recursive: true }))

const FILE = `
roles:
  - { name: trader, scopes: [Platform/Market], require_second_factor: true }
  - { name: chief, description: May do everything, scopes: [Identity/Admin, Platform/Admin] }
users:
  - { username: zoe, roles: [trader, chief], email: zoe@example.com, email_verified: true, zoneinfo: Europe/Paris }
  - { username: Bob, password: correct-horse-battery, disabled: true }
clients:
  - client_id: desk-app
    client_secret: a-secret-of-the-first-installation
    redirect_uris: [https://desk.example.com/callback]
    grant_types: [authorization_code, refresh_token]
    skip_consent: true
    access_token_lifetime: 600
  - { client_id: desk_app, client_secret: another-secret-of-it-all, grant_types: [client_credentials], response_types: [], scope: Platform/Market }
  - { client_id: page, token_endpoint_auth_method: none, redirect_uris: [https://page.example.com/], disabled: true }
tables:
  - name: prices
    description: 'Closing: prices'
    columns:
      - { name: symbol, type: Text, primary_key: true }
      - { name: day, type: Date, primary_key: true }
      - { name: price, type: 'Decimal(18,4)', nullable: false }
      - { name: isin, type: Text, unique: true }
    read_scope: Platform/Market
    row_filter: symbol = :roles
    checks: { positive: price > 0, named: "symbol <> '' OR isin IS NOT NULL" }
    live: false
views:
  - { name: newest, query: 'SELECT symbol, max(day) AS day FROM prices GROUP BY symbol', columns: [name, day], read_scope: Platform/Admin }
feeds:
  - { name: Quotes }
  - name: Fills
    description: What was traded
    class: Trading
    read: Platform/Trading
    write: Platform/Trading
    keep: all
    history: { messages: 5, time: 36 hours }
    topics: 50
controllers:
  - { name: Orders, url: 'https://oms.internal/gatehouse', topics: [{ name: Place, needs: Platform/Trading }] }
  - name: Alerts
    class: News
    url: http://10.0.0.7:8091/
    topics: [{ name: List/*, needs: identity }, { name: Acknowledge, needs: Platform/Market }]
    timeout: 90 seconds
    concurrency: 4
`

onEveryEngineInLongRuns('exporting a declarative file', EMPTY, (place) => {
  test('an empty installation to which the file is applied gives the same file again, which has no secret', async (t) => {
    const other = await openPlace(place().databaseUrl === '' ? 'sqlite' : 'postgres')
    t.after(() => other.leave())
    const written = await apply(place(), FILE)
    for (const secret of ['correct-horse', 'secret-of', 'argon2']) assert.doesNotMatch(written, new RegExp(secret))
    assert.match(written, /client_secret:\n {6}env: CLIENT_SECRET_DESK_APP\n/)
    assert.match(written, /checks:\n {6}positive: price > 0\n {6}named: symbol <> '' OR isin IS NOT NULL\n/)
    assert.match(written, /client_secret:\n {6}env: CLIENT_SECRET_DESK_APP_2\n/)
    const environment = {
      CLIENT_SECRET_DESK_APP: 'a-new-secret-of-desk',
      CLIENT_SECRET_DESK_APP_2: 'a-new-secret-of-app',
    }
    assert.equal(await apply(other.place, written, environment), written)
    // The same as JSON, which is a declarative file too.
    const json = await runInProcess(['config', 'export', '--json', '--without-users', ...databaseFlags(other.place)])
    assert.deepEqual(Object.keys(JSON.parse(json.stdout)), [
      'roles',
      'clients',
      'tables',
      'views',
      'controllers',
      'feeds',
    ])
  })
})

test('a client and a provider of one name have a variable each for their secrets', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const written = await apply(
    place,
    `
clients: [{ client_id: corp, client_secret: the-secret-of-the-client, redirect_uris: ['https://corp.example.com/'] }]
providers: [{ id: corp, issuer: 'https://id.example.com', client_id: gatehouse, client_secret: that-of-the-provider }]`,
  )
  assert.deepEqual(written.match(/env: .*/g), ['env: CLIENT_SECRET_CORP', 'env: CLIENT_SECRET_CORP_2'])
  assert.doesNotMatch(written, /the-secret|that-of/)
})

test('more clients than a file can hold are refused', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  await apply(
    place,
    "clients: [{ client_id: page, token_endpoint_auth_method: none, redirect_uris: ['https://page.example.com/'] }]",
  )
  const database = new Sqlite(join(place.dataFolder, 'identity.db'))
  const columns = database.prepare<[], string>("SELECT name FROM pragma_table_info('clients')").pluck().all()
  const copied = columns.map((name) => (name === 'client_id' ? "client_id || '-' || n.i" : `"${name}"`))
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
    INSERT INTO clients (${columns.join(', ')}) SELECT ${copied.join(', ')} FROM clients, n`)
  database.close()
  const { status, stderr } = await runInProcess(['config', 'export', ...databaseFlags(place)])
  assert.equal(status, 1)
  assert.match(stderr, /There are more than 10000 clients: .*GET \/admin\/clients/)
})

async function apply(place: TestPlace, text: string, environment: Record<string, string> = {}): Promise<string> {
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(file, text)
  const flags = databaseFlags(place)
  await runInProcess(['migrate', '--create', ...flags])
  const applied = await runInProcess(['apply', '--config', file, ...flags], { environment })
  assert.equal(applied.status, 0, applied.stderr)
  const exported = await runInProcess(['config', 'export', ...flags])
  assert.deepEqual([exported.status, exported.stderr], [0, ''])
  return exported.stdout
}

function databaseFlags({ dataFolder, databaseUrl }: TestPlace): string[] {
  return ['--data', dataFolder, ...(databaseUrl === '' ? [] : ['--database-url', databaseUrl])]
}

test('a server exports its own state, names what a file cannot describe, and shows tables only to Platform/Admin', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  t.after(() => server.stop())
  const read = async (scope: string, query = '') => {
    const { access_token: token } = await signIn(server, Object.assign({ scope }, ADMIN))
    return fetch(`${server.issuer}/admin/declaration${query}`, bearer(token))
  }
  const { access_token: token } = await signIn(server, ADMIN)
  const statement = 'CREATE INDEX by_high ON bars_1m (high)'
  const created = await fetch(`${server.issuer}/query`, {
    method: 'POST',
    headers: { ...bearer(token).headers, 'content-type': 'text/plain' },
    body: statement,
  })
  assert.equal(created.status, 200, await created.text())

  const reply = await read('Identity/Admin Platform/Admin')
  const { declaration, omitted } = (await reply.json()) as {
    declaration: Record<string, Record<string, unknown>[]>
    omitted: string[]
  }
  assert.ok(omitted.includes('the index by_high of bars_1m'))
  const trades = declaration.tables?.find(({ name }) => name === 'trades')
  assert.deepEqual(trades?.indexes, [{ name: 'trades_symbol', columns: ['symbol', 'executed_at'] }])
  assert.ok(declaration.clients?.some(({ client_id }) => client_id === 'demo-web'))
  assert.ok(!declaration.clients?.some(({ client_id }) => client_id === 'gatehouse-console'), 'built in')
  const less = (await (await read('Identity/Admin', '?users=false')).json()) as { declaration: object }
  assert.deepEqual(Object.keys(less.declaration), ['roles', 'clients', 'agents'])
  assert.equal((await read('Platform/Admin')).status, 403)
})
