/** Agents and materialized views, retention and alerts: what they see of them, and that they change none. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const BARS = `SELECT symbol, time_bucket('1 minute', at) AS bar, max(price) AS high, count(*) AS n FROM prices GROUP BY symbol, bar`

onEveryEngineInLongRuns('agents and materialized views', (place) => {
  let server: TestServer
  let client: McpClient
  let admin: string
  before(async () => {
    const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-scan-rows': '20' }
    server = await startTestServer(place(), { flags })
    client = new McpClient(server, await agentToken(server))
    admin = (await signIn(server, ADMIN)).access_token
    await write(
      "CREATE TABLE prices (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, price Decimal(12, 4)) READ SCOPE 'Platform/Market'",
    )
    await write('CREATE INDEX prices_symbol ON prices (symbol, at)')
    await write(
      `INSERT INTO prices SELECT i, 'S' || CAST(i % 2 AS Text), now() - INTERVAL '1 hour' + i * INTERVAL '1 minute', i FROM generate_series(1, 40) AS i`,
    )
    await write(`CREATE MATERIALIZED VIEW bars READ SCOPE 'Platform/Market' AS ${BARS}`)
    await until('it is built', 20_000, async () => (await post('SELECT * FROM bars')).status === 200)
  })
  after(() => server.stop())

  const send = (method: string, path: string, token: string, body?: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
      ...(body === undefined ? {} : { body }),
    })
  const post = (statement: string) => send('POST', '/query', admin, statement)
  async function write(statement: string): Promise<void> {
    const reply = await post(statement)
    assert.equal(reply.status, 200, `${statement}: ${await reply.text()}`)
  }

  test('list_tables and describe_table say that it is one, what it is kept from, and how many rows it has', async () => {
    const listed = await client.text('list_tables', { search: 'bars' })
    assert.match(listed, /\nbars \(materialized view, 40 rows\): /)
    const text = await client.text('describe_table', { table: 'bars' })
    assert.match(text, /^materialized view bars\n {2}symbol Text NOT NULL KEY\n {2}bar Timestamp NOT NULL KEY\n/)
    assert.match(text, /\nkept from: SELECT symbol, .* \(a moment behind it\)\nlive: .*\n\n3 rows · symbol Text, /)
    const read = await client.request('resources/read', { uri: 'gatehouse://table/bars' })
    assert.match(read.body.result.contents[0].text, /^materialized view bars\n/)
  })

  test('it is read, watched and drawn as a table is, and a whole read of it counts its own rows', async () => {
    const statement = "SELECT bar, high FROM bars WHERE symbol = 'S1' ORDER BY bar"
    assert.match(await client.text('query', { statement }), /^20 rows · bar Timestamp, high Decimal\(12, 4\)/)
    assert.match(await client.text('chart', { statement }), /^chart of 20 rows\n/)
    const watched = await client.call('watch', { statement, format: 'json' })
    const { id, since } = watched.structuredContent
    await write("INSERT INTO prices (id, symbol, at, price) VALUES (100, 'S1', now() + INTERVAL '1 day', 7)")
    const changed = await client.call('changes', { id, since, wait: 20, format: 'json' })
    assert.deepEqual(
      changed.structuredContent.put.map(({ row }: { row: unknown[] }) => row[1]),
      ['7.0000'],
    )
    const error = await client.error('query', { statement: 'SELECT symbol, max(high) AS h FROM bars GROUP BY symbol' })
    assert.match(error, /^mcp\.expensive: It reads all of bars \(more than 20 rows\)/)
  })

  test('one of a table with a row filter: own rows, the filter, and no count of others', async () => {
    await write("CREATE TABLE own (id Integer PRIMARY KEY, who Text NOT NULL, n Integer) READ SCOPE 'Platform/Market'")
    await write('CREATE INDEX own_who ON own (who)')
    await write(
      "INSERT INTO own SELECT i, CASE WHEN i = 1 THEN 'alice' ELSE 'user ' || CAST(i AS Text) END, i FROM generate_series(1, 50) AS i",
    )
    await write('ALTER TABLE own SET ROW FILTER (who = :username)')
    await write(
      "CREATE MATERIALIZED VIEW sums READ SCOPE 'Platform/Market' AS SELECT who, sum(n) AS n FROM own GROUP BY who",
    )
    const statement = 'SELECT who, n FROM sums'
    await until('it is built', 20_000, async () => (await client.call('query', { statement })).isError === undefined)
    assert.match(await client.text('query', { statement }), /\nwho,n\nalice,1$/)
    assert.match(await client.text('list_tables', { search: 'sums' }), /\nsums \(materialized view\): /)
    assert.match(await client.text('describe_table', { table: 'sums' }), /\nrow filter: \(?who = :username\)? /)
    // Nobody is asked: the question would reveal how many rows there are.
    assert.match(await client.text('query', { statement: 'SELECT count(*) AS n FROM sums' }), /\nn\n1$/)
  })

  test('an aggregate that is computed from column segments is not asked about, other reads of the table are', async () => {
    const { engine } = place()
    const options = engine === 'sqlite' ? 'WITH (columns = on)' : ''
    await write(`CREATE TABLE wide (id Integer PRIMARY KEY, k Integer, t Text) READ SCOPE 'Platform/Market' ${options}`)
    await write("INSERT INTO wide SELECT i, i % 3, 'x' FROM generate_series(1, 500) AS i")
    const groups = { statement: 'SELECT k, count(*) AS n FROM wide GROUP BY k ORDER BY k' }
    if (engine === 'sqlite') assert.match(await client.text('query', groups), /\nk,n\n0,166\n1,167\n2,167$/)
    else assert.match(await client.error('query', groups), /^mcp\.expensive: /)
    assert.match(await client.error('query', { statement: "SELECT id FROM wide WHERE t = 'y'" }), /^mcp\.expensive: /)
  })

  test('describe_table says how long rows are kept', async () => {
    await write("CREATE TABLE short (id Integer PRIMARY KEY, at Timestamp NOT NULL) READ SCOPE 'Platform/Market'")
    await write('CREATE INDEX short_at ON short (at)')
    await write("ALTER TABLE short SET WITH (retention = '1 hour' ON at)")
    assert.match(await client.text('describe_table', { table: 'short' }), /\nretention: 1 hour by at \(older rows are/)
  })

  test('no agent creates, refreshes, keeps or deletes any of them, nor an alert', async () => {
    for (const statement of [
      'CREATE MATERIALIZED VIEW mine AS SELECT symbol, count(*) AS n FROM prices GROUP BY symbol',
      'REFRESH MATERIALIZED VIEW bars',
      'REFRESH MATERIALIZED VIEW bars FULL',
      'DROP MATERIALIZED VIEW bars',
      "ALTER TABLE prices SET WITH (retention = '1 hour' ON at)",
      'ALTER TABLE prices SET WITH (columns = on)',
    ])
      for (const tool of ['query', 'watch', 'chart'])
        assert.match(
          await client.error(tool, { statement }),
          /^Request\.WritesRefused: .*\nHint: .*\/console/,
          statement,
        )
    const { result } = (await client.request('tools/list')).body
    const names: string[] = result.tools.map(({ name }: { name: string }) => name)
    assert.deepEqual(
      names.filter((name) => /alert|create|write|delete/.test(name)),
      [],
    )
    const token = await agentToken(server, ADMIN)
    for (const [method, path] of [
      ['GET', '/alerts'],
      ['POST', '/alerts'],
      ['GET', '/licences'],
      ['GET', '/admin/alerts'],
      ['GET', '/admin/views'],
      ['GET', '/admin/retention/prices'],
    ] as const)
      assert.equal((await send(method, path, token, method === 'POST' ? '{}' : undefined)).status, 401, path)
  })
})
