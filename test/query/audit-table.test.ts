/** The audit log as a table of IQL: complete for administrators, nonexistent for everyone else, read-only for all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import { openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { verifyAuditLog } from '../../packages/server/src/store/audit/verify.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { pruneAuditLog } from '../../packages/server/src/store/prune.ts'
import { onEveryEngine, onEveryEngineInLongRuns, type TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startQueryServer } from './query-server.ts'

interface Reply {
  readonly status: number
  readonly Code?: string
  readonly detail?: string
  readonly Rows?: readonly Record<string, unknown>[]
}

onEveryEngineInLongRuns('the table auditlog', (place, engine) => {
  let server: TestServer
  let database: Database
  let admin: string
  /** May define every table, but not administer users. */
  let platformAdmin: string
  let trader: string

  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    admin = await requestToken('admin', 'admin-please-change')
    platformAdmin = await requestToken('admin', 'admin-please-change', 'Platform/Admin Platform/Market')
    trader = await requestToken('alice', 'wonderland-1')
  })
  after(async () => {
    await database.close()
    await server.stop()
  })

  async function requestToken(username: string, password: string, scope?: string): Promise<string> {
    const form = { grant_type: 'password', username, password, client_id: 'demo-cli', ...(scope && { scope }) }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    return String(JSON.parse(await response.text()).access_token)
  }

  async function call(
    path: string,
    token: string,
    body: unknown,
    at: Pick<TestServer, 'issuer'> = server,
  ): Promise<Reply> {
    const isText = typeof body === 'string'
    const response = await fetch(at.issuer + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': isText ? 'text/plain' : 'application/json' },
      body: isText ? body : JSON.stringify(body),
    })
    return { status: response.status, ...JSON.parse(await response.text()) }
  }
  const query = (statement: string, token = admin, at: Pick<TestServer, 'issuer'> = server) =>
    call('/query', token, statement, at)

  async function rows(
    statement: string,
    at: Pick<TestServer, 'issuer'> = server,
  ): Promise<readonly Record<string, unknown>[]> {
    const reply = await query(statement, admin, at)
    assert.equal(reply.status, 200, `${statement}: ${reply.detail}`)
    return reply.Rows ?? []
  }

  async function fromLog(): Promise<Record<string, unknown>[]> {
    const found = await database.db.selectFrom('audit_log').selectAll().orderBy('seq').execute()
    return found.map((row) => ({
      ...row,
      at: new Date(row.at).toISOString().replace(/\.?0+Z$/, 'Z'),
      details: JSON.parse(row.details),
    }))
  }

  test('it has every row of the log, including the newest', async () => {
    await requestToken('alice', 'not-her-password')
    const [last] = await rows('SELECT event, client, outcome, details FROM auditlog ORDER BY seq DESC LIMIT 1')
    assert.partialDeepStrictEqual(last, { event: 'token.refused', client: 'demo-cli', outcome: 'refused' })
    assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq'), await fromLog())
    await requestToken('alice', 'nor-this-one')
    const newest = await fetch(`${server.issuer}/admin/audit?limit=1`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    const { items } = (await newest.json()) as { items: { seq: number }[] }
    const byKey = await rows(`SELECT event FROM auditlog WHERE seq = ${items[0]?.seq}`)
    assert.deepEqual(byKey, [{ event: 'token.refused' }])
  })

  test('it can be joined, grouped, looked up by key and selected by criteria', async () => {
    for (const statement of [
      'CREATE TABLE watched (event Text PRIMARY KEY, owner Text NOT NULL)',
      `INSERT INTO watched VALUES ('token.refused', 'ops')`,
    ])
      assert.equal((await query(statement)).status, 200, statement)
    const expected = (await fromLog()).filter(({ event }) => event === 'token.refused').length
    assert.deepEqual(
      await rows('SELECT w.owner, count(*) AS n FROM auditlog a JOIN watched w ON w.event = a.event GROUP BY w.owner'),
      [{ owner: 'ops', n: expected }],
    )
    // As the documentation shows it: a row may stand for many.
    const times = "sum(coalesce(CAST(json_text(details, 'count') AS Integer), 1))"
    assert.deepEqual(await rows(`SELECT ${times} AS n FROM auditlog WHERE event = 'token.refused' GROUP BY event`), [
      { n: String(expected) },
    ])
    assert.equal((await rows('SELECT seq FROM auditlog WHERE seq = 1')).length, 1)
    assert.ok((await rows("SELECT seq FROM auditlog WHERE at > now() - INTERVAL '1 hour'")).length > 3)
    const criteria = [{ ColumnName: 'event', Operator: 'startswith', Value: 'server.' }]
    const reply = await call('/Query/AuditLog/Select?columns=event&limit=1', admin, criteria)
    assert.deepEqual(reply.Rows, [{ event: 'server.started' }])
    const kept = await query('INSERT INTO watched SELECT DISTINCT event, outcome FROM auditlog ON CONFLICT DO NOTHING')
    assert.equal(kept.status, 200)
  })

  test('the catalogue shows it to administrators', async () => {
    assert.partialDeepStrictEqual(await rows("SELECT * FROM cataloguetables WHERE name = 'auditlog'"), [
      { issystem: true, readscope: 'Identity/Admin', columns: 12 },
    ])
    assert.equal((await rows("SELECT * FROM cataloguecolumns WHERE tablename = 'auditlog'")).length, 12)
    assert.ok((await rows('SHOW TABLES')).some(({ name }) => name === 'auditlog'))
  })

  test('for everyone else there is no such table, whichever call names it', async () => {
    for (const token of [platformAdmin, trader]) {
      for (const statement of [
        'SELECT * FROM $',
        'SELECT event, client, outcome, details FROM $ ORDER BY seq DESC LIMIT 1',
        'SELECT w.owner FROM watched w JOIN $ a ON a.event = w.event',
        'SELECT (SELECT count(*) FROM $) AS n',
        'WITH x AS (SELECT * FROM $) SELECT * FROM x',
        'EXPLAIN SELECT * FROM $',
        'DESCRIBE $',
        'SHOW COLUMNS FROM $',
      ]) {
        // First as an administrator, so that a plan is cached.
        assert.equal((await query(statement.replaceAll('$', 'auditlog'))).status, 200, statement)
        const hidden = await query(statement.replaceAll('$', 'auditlog'), token)
        const absent = await query(statement.replaceAll('$', 'aubsent'), token)
        assert.equal(hidden.Code, 'IQL.UnknownTable', statement)
        const essence = ({ status, Code, detail }: Reply) => ({
          status,
          Code,
          detail: detail?.replace(/aubsent/g, 'auditlog'),
        })
        assert.deepEqual(essence(hidden), essence(absent), statement)
      }
      assert.equal((await call('/Query/auditlog/Select', token, [])).Code, 'Data.UnknownTable')
      for (const statement of [
        "SELECT name FROM cataloguetables WHERE name = 'auditlog'",
        "SELECT name FROM cataloguecolumns WHERE tablename = 'auditlog'",
      ])
        assert.deepEqual((await query(statement, token)).Rows, [], statement)
      assert.doesNotMatch(JSON.stringify(await query('SHOW TABLES', token)), /auditlog/)
      assert.doesNotMatch(JSON.stringify(await query('SELECT * FROM auditlo', token)), /auditlog/)
    }
  })

  test('a cached plan is not used for a caller without the scope of the table, whatever that scope is', async () => {
    assert.equal((await query("CREATE TABLE inner_matters (id Integer) READ SCOPE 'Identity/Admin'")).status, 200)
    assert.equal((await query('SELECT * FROM inner_matters')).status, 200)
    assert.equal((await query('SELECT * FROM inner_matters', trader)).Code, 'IQL.UnknownTable')
    assert.equal((await query('SELECT * FROM inner_matters', platformAdmin)).Code, 'IQL.Forbidden')
  })

  test('it cannot be written, redefined or dropped', async () => {
    for (const statement of [
      `INSERT INTO auditlog VALUES (1, now(), 'x', 'x', NULL, NULL, NULL, NULL, NULL, 'x', '{}', 'x')`,
      `UPDATE auditlog SET actor = 'nobody' WHERE seq = 1`,
      'DELETE FROM auditlog WHERE seq = 1',
      'DELETE FROM auditlog ALL',
      'DROP TABLE auditlog',
      'ALTER TABLE auditlog ADD COLUMN note Text',
      'ALTER TABLE auditlog DROP COLUMN hash',
      'CREATE INDEX auditlog_actor ON auditlog (actor)',
      'CREATE TABLE auditlog (id Integer)',
      `INSERT INTO CatalogueTable (name, columns) VALUES ('auditlog', '[{"name": "id", "type": "Integer"}]')`,
    ]) {
      const { status, Code, detail } = await query(statement)
      assert.ok(status === 400 || status === 403 || status === 409, `${statement}: ${status} ${detail}`)
      assert.match(String(Code), /^(IQL|Data)\./)
      const other = await query(statement, platformAdmin)
      assert.ok(other.status >= 400 && other.status < 500, `${statement}: ${other.status}`)
    }
    for (const statement of [
      `DELETE FROM CatalogueTable WHERE name = 'auditlog'`,
      `UPDATE CatalogueTable SET readscope = NULL WHERE name = 'auditlog'`,
    ])
      assert.deepEqual((await query(statement)).Rows ?? [], [], statement)
    for (const [path, body] of [
      ['/Query/auditlog/Insert', { seq: 1 }],
      ['/Query/auditlog/Delete', [{ ColumnName: 'seq', Operator: '=', Value: 1 }]],
      [
        '/Query/auditlog/Update',
        { Criteria: [{ ColumnName: 'seq', Operator: '=', Value: 1 }], Assignments: { actor: 'x' } },
      ],
    ] as const)
      assert.ok([400, 403].includes((await call(path, admin, body)).status), path)
    assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq'), await fromLog())
    assert.deepEqual((await verifyAuditLog(database)).faults, [])
  })

  test('changes of the copy do not change the log, nor the reverse', async () => {
    await rows('SELECT count(*) AS n FROM auditlog')
    await database.db.updateTable('audit_log').set({ actor: 'somebody else' }).where('seq', '=', 1).execute()
    const { faults } = await verifyAuditLog(database)
    assert.deepEqual(
      faults.map(({ kind, seq }) => `${kind} ${seq}`),
      ['altered 1'],
    )
    assert.deepEqual(await rows('SELECT actor FROM auditlog WHERE seq = 1'), [{ actor: null }])
    await database.db.updateTable('audit_log').set({ actor: null }).where('seq', '=', 1).execute()
  })

  test('rows past their retention are deleted with those of the log, and a long log is copied completely', async () => {
    const log = openAuditLog(database, {
      clock: Date.now,
      node: 'other',
      onError: (error) => assert.fail(String(error)),
    })
    for (let index = 0; index < 2_500; index++) log.record({ event: 'token.issued', actor: `user-${index}` })
    await log.close()
    const [before] = await rows('SELECT count(*) AS n FROM auditlog')
    assert.equal(before?.n, (await fromLog()).length)
    const { at } = await database.db
      .selectFrom('audit_log')
      .select('at')
      .where('node', '=', 'other')
      .orderBy('seq')
      .limit(1)
      .executeTakeFirstOrThrow()
    assert.ok((await pruneAuditLog(database, { before: at, now: Date.now(), node: 'other' })) > 3)
    assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq LIMIT 3'), (await fromLog()).slice(0, 3))
    assert.equal((await rows('SELECT seq FROM auditlog')).length, (await fromLog()).length)
  })

  test('copying continues after a restart, and starts over when another log was restored', async () => {
    await server.stop()
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await requestToken('admin', 'admin-please-change')
    assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq'), await fromLog())
    await server.stop()
    await database.db.deleteFrom('audit_log').execute()
    await database.db.updateTable('audit_head').set({ seq: 0, hash: '' }).execute()
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await requestToken('admin', 'admin-please-change')
    assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq'), await fromLog())
  })

  test('several nodes that copy at the same time leave no gap and no duplicate', {
    skip: engine === 'sqlite',
  }, async () => {
    const second = await startTestServer(place(), { flags: { '--demo': 'true', '--issuer': server.issuer } })
    const beside = { issuer: `http://127.0.0.1:${second.port}` }
    try {
      await Promise.all(
        Array.from({ length: 20 }, async (_value, index) => {
          await requestToken('alice', `wrong-${index}`)
          await rows('SELECT count(*) AS n FROM auditlog', index % 2 === 0 ? server : beside)
        }),
      )
      for (const node of [server, beside]) {
        await rows('SELECT count(*) AS n FROM auditlog', beside)
        assert.deepEqual(await rows('SELECT * FROM auditlog ORDER BY seq', node), await fromLog())
      }
    } finally {
      await second.stop()
    }
  })
})

onEveryEngine('a table of this name that was there before', (place) => {
  test('keeps its rows and its name', async () => {
    const before = await startQueryServer(place())
    await forgetSystemTable(place())
    for (const statement of ['CREATE TABLE AuditLog (id Integer PRIMARY KEY)', 'INSERT INTO AuditLog VALUES (7)'])
      assert.equal((await before.query(statement)).status, 200, statement)
    await before.stop()
    const now = await startQueryServer(place())
    try {
      assert.deepEqual((await now.query('SELECT * FROM auditlog')).json.Rows, [{ id: 7 }])
      assert.equal((await now.query('INSERT INTO auditlog VALUES (8)')).json.RowsAffected, 1)
      const reply = await now.query("SELECT name, issystem FROM cataloguetables WHERE lower(name) = 'auditlog'")
      assert.deepEqual(reply.json.Rows, [{ name: 'AuditLog', issystem: false }])
    } finally {
      await now.stop()
    }
  })
})

/** As in a database of a release without this system table. */
async function forgetSystemTable({ dataFolder, databaseUrl }: TestPlace): Promise<void> {
  if (databaseUrl === '') {
    const file = new SqliteDatabase(`${dataFolder}/query.db`)
    file.exec("DELETE FROM _gh_tables WHERE key = 'auditlog'")
    file.close()
    return
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("DELETE FROM gatehouse_data._gh_tables WHERE key = 'auditlog'")
  await client.end()
}
