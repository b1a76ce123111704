/** `gatehouse move` to PostgreSQL and back: everything that clients and administrators see is the same, and old secrets still work. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { fromBase32 } from '../support/base32.ts'
import type { TestPlace } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { freePort } from '../support/free-port.ts'
import { runInProcess } from '../support/in-process.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { createUserAgent, requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const ALICE = { username: 'alice', password: 'wonderland-1' }
const ADMIN = { username: 'admin', password: 'admin-please-change' }
const STEP_MS = 30_000
const clock = createTestClock()
let scratch: string
let postgres: Awaited<ReturnType<typeof createPostgresDatabase>>
let port: number

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-move-'))
  postgres = await createPostgresDatabase()
  port = await freePort()
})
after(async () => {
  await postgres.drop()
  await stopOwnPostgres()
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

/** Tables with every type, at the edges of its range, and everything that a table can have. */
const STATEMENTS = [
  `CREATE TABLE odd (id Integer PRIMARY KEY, t Text, i Integer, d Decimal(18, 6), w Decimal(38, 10), x Double, b Boolean,
    s Timestamp, y Date, h Time, u Uuid, j Json, r Binary)`,
  `INSERT INTO odd VALUES
    (1, '', -9223372036854775807, -999999999999.999999, -9999999999999999999999999999.9999999999, CAST('NaN' AS Double), FALSE,
     TIMESTAMP '0001-01-01T00:00:00Z', DATE '0001-01-01', TIME '00:00:00', CAST('00000000-0000-0000-0000-000000000000' AS Uuid),
     CAST('{"a":1.10,"b":[null,"\\u00e9"]}' AS Json), NULL),
    (2, 'it''s, "quoted" \\ {é,𝒳} \t\r\n\u0001\uffff\ufffd', 9223372036854775807, 999999999999.999999,
     9999999999999999999999999999.9999999999, CAST('Infinity' AS Double), TRUE, TIMESTAMP '9999-12-31T23:59:59.999999Z',
     DATE '9999-12-31', TIME '23:59:59.999999', CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS Uuid), CAST('"NULL"' AS Json), X''),
    (3, 'NULL', 0, 0.000001, 0.0000000001, CAST('-Infinity' AS Double), NULL, TIMESTAMP '2026-11-15T00:26:00.1Z', NULL,
     TIME '12:30:00.000001', NULL, CAST('1e400' AS Json), X'00ff5c78')`,
  'INSERT INTO odd (id, x) VALUES (4, 5e-324), (5, 0.1), (6, -1.7976931348623157e308), (7, -0.0)',
  'CREATE TABLE keyless (a Text, x Double)',
  `INSERT INTO keyless VALUES ('b', 1), (NULL, NULL), ('b', 1), ('é', CAST('NaN' AS Double)), ('Z', -2), (NULL, 3)`,
  `CREATE TABLE "Ledger" (owner Text NOT NULL, day Date NOT NULL, note Text UNIQUE, amount Decimal(12, 2) DEFAULT 7.50,
    PRIMARY KEY (owner, day)) READ SCOPE 'Platform/Trading' WRITE SCOPE 'Platform/Trading' ROW FILTER (owner = :username) COMMENT 'One for each'`,
  `INSERT INTO "Ledger" (owner, day, note) VALUES ('admin', DATE '2026-01-01', 'his')`,
  'CREATE INDEX ledger_by_amount ON "Ledger" (amount DESC, owner)',
  'CREATE TABLE once (id Integer PRIMARY KEY)',
  'CREATE TABLE logins (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id))',
  "INSERT INTO logins VALUES ('2001-02-03', 1)",
  "ALTER TABLE logins SET WITH (retention = '100 years' ON at)",
  'ALTER TABLE logins SET WITH (hold = on)',
  `CREATE MATERIALIZED VIEW totals AS SELECT owner, count(*) AS days, sum(amount) AS total FROM "Ledger" GROUP BY owner`,
  'REFRESH MATERIALIZED VIEW totals',
  `CREATE VIEW rich AS SELECT owner, amount FROM "Ledger" WHERE amount > 1`,
]

/** What callers and administrators can read. */
const LOOKS = [
  'SELECT * FROM odd ORDER BY id',
  'SELECT * FROM keyless ORDER BY a, x',
  'SELECT * FROM "Ledger" ORDER BY owner, day',
  'SELECT * FROM rich ORDER BY owner',
  'SELECT * FROM totals ORDER BY owner',
  'SELECT * FROM logins',
  'SELECT count(*) AS n, sum(price) AS total FROM trades',
  'SELECT * FROM cataloguetables ORDER BY name',
  'SELECT * FROM cataloguecolumns ORDER BY tablename, ordinal',
  'SELECT * FROM CatalogueTable ORDER BY name',
  'SELECT * FROM alertstates',
  'SELECT * FROM alertevents',
]
const PAGES = [
  '/admin/users',
  '/admin/roles',
  '/admin/clients',
  '/admin/keys',
  '/admin/retention',
  '/saved',
  '/saved/demo-market',
  '/.well-known/openid-configuration/jwks',
]

test('users, factors, tokens, keys, audit, tables and documents are the same in PostgreSQL, and in SQLite again', async () => {
  const first = { engine: 'sqlite', dataFolder: join(scratch, 'first'), databaseUrl: '' } as const
  const second = { engine: 'postgres', dataFolder: first.dataFolder, databaseUrl: postgres.url } as const
  const third = { engine: 'sqlite', dataFolder: join(scratch, 'third'), databaseUrl: '' } as const

  const { kept, secrets } = await serve(first, { '--demo': 'true', '--mcp': 'false' }, async (server) => {
    const admin = await requestTokens(server, ADMIN)
    for (const statement of STATEMENTS) await query(server, admin.access_token, statement)
    await insertOnce(server, admin.access_token)
    await alertOnce(server, admin.access_token)
    const alice = await requestTokens(server, ALICE)
    await query(
      server,
      alice.access_token,
      `INSERT INTO "Ledger" (owner, day, note) VALUES ('alice', DATE '2026-01-01', 'hers')`,
    )
    const secrets = { admin, alice, ...(await enrol(server)) }
    return { kept: await look(server, admin.access_token), secrets }
  })
  const before = dumpDatabase(first.dataFolder)

  const moved = await gatehouse('move', '--to', postgres.url, '--data', first.dataFolder, '--json')
  assert.doesNotMatch(moved.stderr, /not moved/)
  const tables = new Map<string, number>(
    JSON.parse(moved.stdout).tables.map(({ name, rows }: { name: string; rows: number }) => [name, rows]),
  )
  assert.equal(tables.get('query.odd'), 7)
  assert.equal(tables.get('query.keyless'), 6)
  assert.ok((tables.get('identity.factors') ?? 0) >= 2)
  assert.deepEqual(dumpDatabase(first.dataFolder), before)

  await serve(second, {}, async (server) => {
    await use(server, kept, secrets, 0)
    // SQLite has no negative zero, and IQL shows none.
    await query(server, secrets.admin.access_token, `UPDATE odd SET x = CAST('-0' AS Double) WHERE id = 7`)
  })
  const audit = await gatehouse('audit', 'verify', '--data', second.dataFolder, '--database-url', second.databaseUrl)
  assert.match(audit.stdout, /intact/)
  const back = ['--data', first.dataFolder, '--database-url', postgres.url, '--to', third.dataFolder]
  assert.doesNotMatch((await gatehouse('move', ...back)).stderr, /not moved/)
  assert.deepEqual((await readdir(third.dataFolder)).sort(), [
    'gatehouse.json',
    'identity.db',
    'master.key',
    'query.db',
  ])
  await serve(third, {}, (server) => use(server, kept, secrets, 1))
})

interface Secrets {
  readonly admin: Tokens
  alice: Tokens
  readonly totp: Buffer
  readonly recovery: readonly string[]
}

/** Everything that was there before the move can be read and used, and new rows can be written. */
async function use(server: TestServer, kept: unknown, secrets: Secrets, round: number): Promise<void> {
  // Signed before the move.
  const token = secrets.admin.access_token
  assert.deepEqual(await look(server, token), kept)
  secrets.alice = await tokensBy(server, { grant_type: 'refresh_token', refresh_token: secrets.alice.refresh_token })
  const hers = await query(server, secrets.alice.access_token, 'SELECT owner, amount FROM "Ledger"')
  assert.deepEqual(hers, [{ owner: 'alice', amount: '7.50' }])
  await insertOnce(server, token)
  assert.deepEqual(await query(server, token, 'SELECT id FROM once'), [{ id: 1 }])
  await assert.rejects(
    query(server, token, `INSERT INTO "Ledger" (owner, day, note) VALUES ('admin', DATE '2026-01-02', 'his')`),
    /409/,
  )
  await assert.rejects(query(server, token, 'DELETE FROM logins WHERE id = 1'), /Data\.Held/)
  await assert.rejects(query(server, token, "INSERT INTO logins VALUES ('1900-01-01', 2)"), /Data\.TooOld/)
  await watchChange(server, token, 100 + round)

  clock.advance(STEP_MS)
  await passSecondFactor(server, totpCode(secrets.totp, Math.floor(clock() / STEP_MS)), 'app')
  await passSecondFactor(server, secrets.recovery[round] ?? '', 'recovery')
}

async function passSecondFactor(server: TestServer, code: string, way: 'app' | 'recovery'): Promise<void> {
  const agent = createUserAgent({ home: server.issuer, now: clock })
  const asked = requirePage(await signIn(agent, requirePage(await agent.get('/account')), ADMIN))
  const other = /href="([^"]*way=recovery)"/.exec(asked.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const page = way === 'app' ? asked : requirePage(await agent.get(other))
  const form = page.forms.find(({ id }) => id === 'second-factor')
  assert.ok(form, page.body)
  assert.equal(requirePage(await agent.submit(form, { code })).url.pathname, '/account', way)
}

/** A live query sees a row that is written after the move; the row is removed again. */
async function watchChange(server: TestServer, token: string, id: number): Promise<void> {
  const headers = { 'content-type': 'text/plain' }
  const events = await openEvents(`${server.issuer}/query`, {
    token,
    headers,
    body: `SELECT id, t FROM odd WHERE id > 99`,
  })
  assert.equal((await events.next()).event, 'snapshot')
  await query(server, token, `INSERT INTO odd (id, t) VALUES (${id}, 'new')`)
  const { event, data } = await events.next()
  assert.equal(event, 'change')
  assert.match(JSON.stringify(data), new RegExp(`"id":${id}`))
  events.close()
  await query(server, token, `DELETE FROM odd WHERE id = ${id}`)
}

async function serve<T>(
  place: TestPlace,
  flags: Readonly<Record<string, string>>,
  use: (server: TestServer) => Promise<T>,
): Promise<T> {
  const server = await startTestServer(place, { clock, flags: { '--port': String(port), ...flags } })
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

async function look(server: TestServer, token: string): Promise<unknown> {
  const seen: unknown[] = []
  for (const statement of LOOKS) seen.push(await query(server, token, statement))
  for (const path of PAGES) {
    const reply = await fetch(server.issuer + path, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(reply.status, 200, path)
    // A session that is used was seen just now. The clock of the test stands still, which retention calls a fault after a minute.
    seen.push(JSON.parse(await reply.text(), (key, value) => (['seen_at', 'fault'].includes(key) ? undefined : value)))
  }
  return seen
}

async function query(server: TestServer, token: string, statement: string, headers = {}): Promise<unknown[]> {
  const reply = await fetch(`${server.issuer}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8', ...headers },
    body: statement,
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${reply.status} ${statement}: ${text}`)
  return JSON.parse(text).Rows
}

function insertOnce(server: TestServer, token: string): Promise<unknown[]> {
  return query(server, token, 'INSERT INTO once VALUES (1)', { 'idempotency-key': 'before-the-move' })
}

/** An alert that fires. */
async function alertOnce(server: TestServer, token: string): Promise<void> {
  const reply = await fetch(`${server.issuer}/alerts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Once', statement: 'SELECT id FROM once', when: 'id > 0' }),
  })
  assert.equal(reply.status, 201, await reply.text())
  await until('it fires', 20_000, async () => {
    const rows = await query(server, token, 'SELECT state FROM alertstates')
    return JSON.stringify(rows) === '[{"state":"firing"}]'
  })
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

function requestTokens(server: TestServer, credentials: Readonly<Record<string, string>>): Promise<Tokens> {
  return tokensBy(server, { grant_type: 'password', ...credentials })
}

async function tokensBy(server: TestServer, form: Readonly<Record<string, string>>): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: 'demo-cli', ...form })
  const reply = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body })
  const text = await reply.text()
  assert.equal(reply.status, 200, text)
  return JSON.parse(text)
}

/** An authenticator app and recovery codes for the administrator. */
async function enrol(server: TestServer): Promise<{ totp: Buffer; recovery: string[] }> {
  const agent = createUserAgent({ home: server.issuer, now: clock })
  const page = requirePage(await signIn(agent, requirePage(await agent.get('/account/authenticator')), ADMIN))
  const totp = fromBase32(/id="authenticator-key">([A-Z2-7 ]+)</.exec(page.body)?.[1] ?? '')
  const form = page.forms.find(({ id }) => id === 'authenticator')
  assert.ok(form, page.body)
  const next = requirePage(await agent.submit(form, { code: totpCode(totp, Math.floor(clock() / STEP_MS)) }))
  const recovery = [...next.body.matchAll(/<li><code>([^<]+)</g)].map(([, text = '']) => text)
  assert.equal(recovery.length, 10)
  return { totp, recovery }
}

/** The rows of all tables, without the mark of the move. */
function dumpDatabase(dataFolder: string): unknown {
  return ['identity.db', 'query.db'].map((name) => {
    const file = new SqliteDatabase(join(dataFolder, name), { readonly: true })
    const tables = file
      .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
      .pluck()
      .all()
    const rows = tables
      .filter((table) => table !== 'move_mark')
      .map((table) => [table, file.prepare(`SELECT * FROM "${table}"`).safeIntegers(true).raw(true).all()])
    file.close()
    return rows
  })
}

async function gatehouse(...args: readonly string[]) {
  const finished = await runInProcess(args)
  assert.equal(finished.status, 0, finished.stderr)
  return finished
}
