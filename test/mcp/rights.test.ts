/** Agents where rights are finer than scopes: licences of tables and feeds, row filters, step-up, tables kept by column, retention. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type LicenceServer, startLicenceServer } from '../licences/licence-server.ts'
import { fill, insert, PRODUCTS, type TablePlace, tablePlace } from '../licences/tables/table-licences.ts'
import { ADMIN } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { until } from '../support/until.ts'

const DECLARED = `${PRODUCTS}
  - { product: PRICES, user: alice, access: realtime }
  - { product: PRICES, client: handler, access: realtime, kind: exempt }
feeds:
  - { name: Prices, read: Platform/Market, write: Platform/Market, keep: all, history: { messages: 100 } }
  - { name: Plain, read: Platform/Market, write: Platform/Market, keep: all, history: { messages: 100 } }
`.replace('products:\n', 'products:\n  - { name: PRICES, covers: [{ feed: Prices, topics: ["XNYS/*"] }] }\n')

onEveryEngineInLongRuns('agents and rights', (at) => {
  let place: TablePlace
  let server: LicenceServer
  let client: McpClient
  /** The entitlements of alice, by product. */
  const entitlements = new Map<string, string>()

  before(async () => {
    server = await startLicenceServer(at(), DECLARED, { flags: { '--limit-mcp': '' } })
    place = tablePlace(server)
    await fill(place)
    client = new McpClient(server, await agentToken(server))
    const { body } = await place.admin('GET', '/entitlements?limit=100')
    for (const { id, product, user } of body.items) if (user !== undefined) entitlements.set(product, id)
  })
  after(() => server.stop())

  async function define(statement: string): Promise<void> {
    const { status, body } = await place.query(statement, server.admin)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
  }
  const publish = async (topic: string, data: string, feed = 'Prices') => {
    const headers = { 'content-type': 'application/json' }
    const path = `/feeds/${feed}/${topic}`
    const { status, body } = await server.send('POST', path, { token: server.handler, body: { data }, headers })
    assert.equal(status, 200, JSON.stringify(body))
  }
  /** Ends the licence while `act` waits, and resolves with what it gives, and how long that took. */
  async function whileItEnds<Result>(product: string, act: () => Promise<Result>): Promise<[Result, number]> {
    const acting = act()
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const started = performance.now()
    const id = entitlements.get(product)
    const ended = await place.admin('DELETE', `/entitlements/${id}`)
    assert.equal(ended.status, 204, JSON.stringify(ended.body))
    return [await acting, performance.now() - started]
  }

  test('licences: rows that are licensed, by every tool; counts say nothing', async () => {
    const statement = 'SELECT id, price FROM ticks ORDER BY id'
    assert.match(await client.text('query', { statement }), /\nid,price\n1,1\n2,2\n# LSE is not licensed: [^\n]*$/)
    assert.match(await client.text('watch', { statement }), /\nid,price\n1,1\n2,2\n# LSE is not licensed: [^\n]*$/)
    for (const live of [false, true]) {
      const { _meta: meta } = await client.call('chart', { statement, live })
      assert.deepEqual(meta['gatehouse/chart'].rows, [
        [1, 1],
        [2, 2],
      ])
    }
    assert.match(await client.text('describe_table', { table: 'ticks' }), /\n2 rows · /)
    assert.match(await client.text('list_tables', { search: 'ticks' }), /\nticks: /)
    const robot = new McpClient(server, await robotToken())
    for (const [tool, args] of [
      ['query', { statement: 'SELECT * FROM secrets' }],
      ['query', { statement: 'EXPLAIN ANALYZE SELECT * FROM secrets' }],
      ['watch', { statement: 'SELECT * FROM secrets' }],
      ['chart', { statement: 'SELECT * FROM secrets' }],
      ['describe_table', { table: 'secrets' }],
    ] as const)
      for (const agent of [client, robot]) assert.match(await agent.error(tool, args), /^Licence\.Needed: /, tool)
  })

  async function robotToken(): Promise<string> {
    const secret = 'the secret of a program in tests'
    const form = { grant_type: 'client_credentials', client_id: 'robot', client_secret: secret }
    const reply = await fetch(`${server.url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, resource: `${server.issuer}/mcp` }),
    })
    return ((await reply.json()) as { access_token: string }).access_token
  }

  test('uses of a feed are recorded as what they are: a stream of events, or reads', async () => {
    const ways = async () => {
      const { body } = await place.admin('GET', '/audit?event=licence.opened&limit=200')
      return body.items.map(({ details }: { details: Record<string, unknown> }) => details.way)
    }
    const seen = (await ways()).length
    const topic = { feed: 'Prices', topic: 'XNYS/ACME' }
    const listener = new McpClient(server, await agentToken(server))
    const notifications = { resourceSubscriptions: ['gatehouse://feed/Prices/XNYS/ACME'] }
    const { body, headers } = listener.envelope('subscriptions/listen', { notifications })
    const left = new AbortController()
    await listener.open(body, headers, left.signal)
    const follower = new McpClient(server, await agentToken(server))
    const { structuredContent } = await follower.call('watch', { ...topic, format: 'json' })
    await follower.call('changes', { id: structuredContent.id, since: 1 })
    await until('both are recorded', 5_000, async () => (await ways()).length >= seen + 2)
    assert.deepEqual((await ways()).slice(0, 2).sort(), ['events', 'query'])
    left.abort()
  })

  test('a product that begins to cover a feed while a watch of it waits leaves out the rest of its topics', async () => {
    const { structuredContent } = await client.call('watch', { feed: 'Plain', topic: '*', format: 'json' })
    const { id, since } = structuredContent
    const waiting = client.call('changes', { id, since, wait: 25 })
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const covers = [{ feed: 'Plain', topics: ['OPEN/*'] }]
    const created = await place.admin('POST', '/products', { name: 'OPEN', default: 'realtime', covers })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const hidden = { feed: 'Plain', topic: 'HIDDEN/a' }
    const refused = async () => /^Licence\./.test((await client.call('read_feed', hidden)).content[0].text)
    await until('it is covered', 5_000, refused)
    await publish('HIDDEN/a', 'of nobody', 'Plain')
    await publish('OPEN/a', 'of all', 'Plain')
    const { text } = (await waiting).content[0]
    assert.match(text, /OPEN\/a/)
    assert.doesNotMatch(text, /of nobody/)
    assert.match(text, /left out/)
    const again = await client.text('changes', { id, since: since + 1 })
    assert.match(again, /nothing has changed$/)
  })

  test('a feed that a product covers: no state, no history and no list of topics without a licence, none after its end', async () => {
    await publish('XNYS/ACME', 'first')
    assert.match(await client.text('read_feed', { feed: 'Prices', topic: 'XNYS/ACME' }), /first/)
    const watched = await client.call('watch', { feed: 'Prices', topic: 'XNYS/ACME', format: 'json' })
    const { id, since } = watched.structuredContent
    const notifications = { resourceSubscriptions: ['gatehouse://feed/Prices/XNYS/ACME'] }
    const { body, headers } = client.envelope('subscriptions/listen', { notifications })
    const left = new AbortController()
    const stream = await client.open(body, headers, left.signal)
    const wait = () => client.call('changes', { id, since, wait: 25 })
    const [reply, took] = await whileItEnds('PRICES', wait)
    assert.equal(reply.isError, true, reply.content[0].text)
    assert.match(reply.content[0].text, /^Licence\./)
    assert.ok(took < 3_000, `${took} ms`)
    await publish('XNYS/ACME', 'second')
    const ref = { type: 'ref/resource', uri: 'gatehouse://feed/{feed}/{+topic}' }
    const context = { arguments: { feed: 'Prices' } }
    const argument = { name: 'topic', value: 'XNYS' }
    const completed = await client.request('completion/complete', { ref, argument, context })
    assert.deepEqual(completed.body.result.completion.values, [])
    const uri = 'gatehouse://feed/Prices/XNYS/ACME'
    assert.equal((await client.request('resources/read', { uri })).body.error.code, -32602)
    assert.match(await client.error('read_feed', { feed: 'Prices', topic: 'XNYS/ACME' }), /^Licence\./)
    assert.match(await client.error('changes', { id, since }), /^Licence\./)
    const sent = await stream.text()
    assert.match(sent, /"resultType":"complete"/)
    left.abort()
  })

  test('a licence that ends while a watch waits ends the wait within a second, and the streams of its listeners', async () => {
    const statement = 'SELECT id, price FROM ticks ORDER BY id'
    const { structuredContent } = await client.call('watch', { statement, format: 'json' })
    const { id, since } = structuredContent
    const notifications = { resourceSubscriptions: [`gatehouse://watch/${id}`] }
    const { body, headers } = client.envelope('subscriptions/listen', { notifications })
    const left = new AbortController()
    const stream = await client.open(body, headers, left.signal)
    const sent = collect(stream)
    const [reply, took] = await whileItEnds('NYSE', () => client.call('changes', { id, since, wait: 25 }))
    assert.match(reply.content[0].text, /^Licence\.Needed/)
    assert.ok(took < 3_000, `${took} ms`)
    await until('the stream has ended', 3_000, () => sent.text.includes('"resultType":"complete"'))
    assert.match(sent.text, /notifications\/resources\/updated/)
    const again = await client.open(body, headers, left.signal)
    const acknowledged = collect(again)
    await until('it is acknowledged', 3_000, () => acknowledged.text.includes('acknowledged'))
    assert.doesNotMatch(acknowledged.text, /gatehouse:\/\/watch/)
    left.abort()
    assert.match(await client.error('query', { statement }), /^Licence\.Needed/)
  })

  test('row filters: own rows by every tool, and no count of others', async () => {
    await define("CREATE TABLE own (id Integer PRIMARY KEY, who Text, n Integer) READ SCOPE 'Platform/Market'")
    await define("INSERT INTO own (id, who, n) VALUES (1, 'alice', 10), (2, 'bob', 20)")
    await define('ALTER TABLE own SET ROW FILTER (who = :username)')
    const statement = 'SELECT id, n FROM own ORDER BY id'
    for (const tool of ['query', 'watch', 'chart'])
      assert.match(await client.text(tool, { statement }), /\nid,n\n1,10$/)
    const { _meta: meta } = await client.call('chart', { statement, live: true })
    assert.deepEqual(meta['gatehouse/chart'].rows, [[1, 10]])
    assert.match(await client.text('describe_table', { table: 'own' }), /\n1 row · /)
    assert.match(await client.text('list_tables', { search: 'own' }), /\nown: /)
  })

  test('step-up: a result that says to connect anew, and not a 401 that clients would repeat', async () => {
    await define(
      "CREATE TABLE guarded (id Integer PRIMARY KEY, n Integer) READ SCOPE 'Platform/Market' REQUIRE (acr = 2)",
    )
    for (const [tool, args] of [
      ['query', { statement: 'SELECT * FROM guarded' }],
      ['watch', { statement: 'SELECT * FROM guarded' }],
      ['chart', { statement: 'SELECT * FROM guarded' }],
      ['chart', { statement: 'SELECT * FROM guarded', live: true }],
      ['describe_table', { table: 'guarded' }],
    ] as const)
      assert.match(await client.error(tool, args), /disconnect this server and to connect it anew/, tool)
    assert.match(await client.text('list_tables', { search: 'guarded' }), /\nguarded: /)
  })

  test('tables that are kept by column, and with a retention, answer as all others', async () => {
    const options = at().engine === 'sqlite' ? 'WITH (columns = on)' : ''
    await define(
      `CREATE TABLE kept (id Integer PRIMARY KEY, at Timestamp NOT NULL, n Integer) READ SCOPE 'Platform/Market' ${options}`,
    )
    await define("INSERT INTO kept SELECT i, TIMESTAMP '2026-01-01T00:00:00Z', i FROM generate_series(1, 500) AS i")
    const statement = 'SELECT n % 5 AS k, sum(n) AS s FROM kept GROUP BY k ORDER BY k'
    for (const tool of ['query', 'watch', 'chart'])
      assert.match(await client.text(tool, { statement }), /\nk,s\n0,25250\n1,24850\n/, tool)
    const { structuredContent } = await client.call('watch', { statement, format: 'json' })
    const { id, since } = structuredContent
    await define('DELETE FROM kept WHERE n % 5 = 0')
    const changed = await client.call('changes', { id, since, wait: 20, format: 'json' })
    assert.deepEqual([changed.structuredContent.put, changed.structuredContent.remove.length], [[], 1])
  })

  test('an administrator as an agent reads what agents may, and no more', async () => {
    const boss = new McpClient(server, await agentToken(server, ADMIN))
    assert.doesNotMatch(await boss.text('list_tables'), /catalogue|^_gh/im)
    assert.match(await boss.error('query', { statement: 'SELECT * FROM secrets' }), /^Licence\.Needed/)
    await insert(place, 'free', 2, 'X', 2)
    assert.match(await boss.text('query', { statement: 'SELECT count(*) AS n FROM free' }), /\n2$/)
  })
})

/** What a stream has sent so far. */
function collect(stream: Response): { readonly text: string } {
  const sent = { text: '' }
  const read = async () => {
    for await (const piece of stream.body ?? []) sent.text += Buffer.from(piece).toString()
  }
  read().catch(() => {})
  return sent
}
