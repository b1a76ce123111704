/** The system tables `alertstates` and `alertevents`: each caller reads their own, by every way, and live. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { AlertClient } from './alert-client.ts'

onEveryEngine('the system tables of alerts', (place) => {
  let server: TestServer
  let admin: AlertClient
  let alice: AlertClient
  let id: string
  const read = async (client: AlertClient, statement: string) => (await client.query(statement)).Rows
  const set = (level: number) => admin.query(`UPDATE levels SET level = ${level} WHERE id = 7`)

  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--wire-port': '0' } })
    admin = await AlertClient.signIn(server)
    alice = await AlertClient.signIn(server, ALICE)
    await admin.query(
      "CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Admin'",
    )
    await admin.query('INSERT INTO levels VALUES (7, 20)')
    const level = { statement: 'SELECT id, level FROM levels', when: 'level > 10', group: '0 seconds' }
    id = (await alice.create({ name: 'Of Alice', ...level })).id
    await admin.create({ name: 'Of the administrator', ...level })
    await until('it fires', 10_000, async () => (await read(alice, 'SELECT alert FROM alertstates')).length === 1)
  })
  after(() => server.stop())

  test('each sees the keys and the history of their own alerts, with the row', async () => {
    const [state, ...others] = await read(alice, 'SELECT * FROM alertstates')
    assert.deepEqual(others, [])
    const { since, ...rest } = state
    assert.deepEqual(rest, { alert: id, name: 'Of Alice', key: '[7]', state: 'firing', row: { id: 7, level: 20 } })
    assert.ok(Math.abs(Date.now() - Date.parse(since)) < 60_000, since)
    const [event] = await read(alice, 'SELECT alert, seq, name, type, key, row FROM alertevents')
    assert.deepEqual(event, {
      ...{ alert: id, seq: 1, name: 'Of Alice', type: 'firing', key: '[7]' },
      row: { id: 7, level: 20 },
    })
    assert.deepEqual(await read(admin, 'SELECT name, count(*) AS n FROM alertstates GROUP BY name'), [
      { name: 'Of the administrator', n: 1 },
    ])
  })

  test('a token with fewer rights than the alert was written with sees none of it, also not by an error', async () => {
    const narrow = await AlertClient.withScope(server, 'Platform/Market', ALICE)
    for (const table of ['alertstates', 'alertevents'])
      assert.deepEqual(await read(narrow, `SELECT * FROM ${table}`), [])
    const ways = [
      `SELECT alert FROM alertstates WHERE 1 / (CASE WHEN state = 'firing' THEN 0 ELSE 1 END) = 1`,
      `SELECT max(1 / (CASE WHEN type = 'firing' THEN 0 ELSE 1 END)) AS x FROM alertevents`,
    ]
    for (const way of ways) assert.equal((await narrow.request('POST', '/query', { Statement: way })).status, 200, way)
    const [way = ''] = ways
    assert.equal((await alice.request('POST', '/query', { Statement: way })).status, 400, 'the owner sees the row')
  })

  test('nobody writes them', async () => {
    for (const [statement, code] of [
      ["DELETE FROM alertstates WHERE alert = ''", 'IQL.NotWritable'],
      ["UPDATE alertevents SET type = 'resolved' WHERE seq = 1", 'IQL.NotWritable'],
      ['DROP TABLE alertstates', 'IQL.SystemTable'],
    ] as const) {
      const reply = await admin.request('POST', '/query', { Statement: statement })
      assert.equal(JSON.parse(await reply.text()).Code, code, statement)
    }
  })

  test("over PostgreSQL's protocol too", async () => {
    const client = new pg.Client({ host: '127.0.0.1', port: server.wirePort, user: 'alice', password: ALICE.password })
    await client.connect()
    try {
      const { rows } = await client.query('SELECT name, key, state FROM alertstates WHERE alert = $1', [id])
      assert.deepEqual(rows, [{ name: 'Of Alice', key: '[7]', state: 'firing' }])
    } finally {
      await client.end()
    }
  })

  test('follow(): the end is seen, and the next beginning', async () => {
    const gate = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ALICE }) })
    try {
      const live = gate.alerts.follow(id)
      const unsubscribe = live.subscribe(() => {})
      await until('it fires', 20_000, () => live.rows?.[0]?.state === 'firing')
      await set(1)
      await until('it is over', 20_000, () => live.rows?.length === 0)
      await set(30)
      await until('it fires again', 20_000, () => live.rows?.length === 1)
      assert.deepEqual(live.rows?.[0]?.row, { id: 7, level: 30 })
      unsubscribe()
      live.close()
    } finally {
      gate.close()
    }
  })

  test('the rows of an alert go with it', async () => {
    await alice.call('DELETE', `/alerts/${id}`)
    await until('nothing is left', 10_000, async () => {
      const [states, events] = [
        await read(alice, 'SELECT 1 AS x FROM alertstates'),
        await read(alice, 'SELECT 1 AS x FROM alertevents'),
      ]
      return states.length + events.length === 0
    })
    assert.ok((await read(await AlertClient.signIn(server, ADMIN), 'SELECT 1 AS x FROM alertevents')).length > 0)
  })
})
