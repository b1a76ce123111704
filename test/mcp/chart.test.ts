/** The tool `chart`: what its page gets, what the model gets, its bounds, and the page as a resource. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { buildConsole } from '../../packages/console/build.js'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const UI = { capabilities: { extensions: { 'io.modelcontextprotocol/ui': {} } } }
const SERIES = 'SELECT i, i * 2 AS twice FROM generate_series(1, :last) AS i ORDER BY i'

onEveryEngineInLongRuns('charts of agents', (place) => {
  let server: TestServer
  let client: McpClient
  let admin: string
  before(async () => {
    await buildConsole()
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--limit-mcp': '' } })
    client = new McpClient(server, await agentToken(server))
    admin = (await signIn(server, ADMIN)).access_token
    await write('CREATE TABLE points (id Integer PRIMARY KEY, n Integer)')
    await write('INSERT INTO points (id, n) VALUES (1, 10), (2, 20)')
  })
  after(() => server.stop())

  async function write(statement: string): Promise<void> {
    const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'text/plain; charset=utf-8' },
      body: statement,
    })
    assert.equal(reply.status, 200, await reply.text())
  }

  const drawn = ({ _meta: meta }: { _meta: Record<string, unknown> }) =>
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, it asserts.
    meta['gatehouse/chart'] as any

  test('MCP Apps: the tool names its page, in both eras, and the server the extension', async () => {
    const { body } = await client.request('tools/list')
    const { _meta: meta } = body.result.tools.find(({ name }: { name: string }) => name === 'chart')
    assert.equal(meta.ui.resourceUri, 'ui://gatehouse/chart')
    const discovered = await client.request('server/discover')
    assert.deepEqual(discovered.body.result.capabilities.extensions, { 'io.modelcontextprotocol/ui': {} })
    const { result } = (await client.legacy('initialize', { protocolVersion: '2025-11-25' })).body
    assert.deepEqual(result.capabilities.extensions, { 'io.modelcontextprotocol/ui': {} })
  })

  test('the page is one document of at most 150 KiB that loads nothing, under a policy of its own', async () => {
    const { body } = await client.request('resources/read', { uri: 'ui://gatehouse/chart' })
    const [{ mimeType, text, _meta: meta }] = body.result.contents
    assert.equal(mimeType, 'text/html;profile=mcp-app')
    assert.deepEqual(meta.ui.csp, { connectDomains: [], resourceDomains: [] })
    assert.ok(Buffer.byteLength(text) <= 150 * 1024, `${Buffer.byteLength(text)} bytes`)
    assert.match(text, /content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /)
    assert.doesNotMatch(text, /(?:src|href)="|@import|url\((?!data:)|fetch\(|XMLHttpRequest|WebSocket\(/)
  })

  test('the rows are for the page, the first of them for the model, which learns that there are others', async () => {
    const args = { statement: SERIES, parameters: { last: 500 }, view: 'line', x: 'I', y: ['twice'] }
    const result = await client.call('chart', args, UI)
    assert.equal(result.structuredContent, undefined)
    const { columns, rows, more, view } = drawn(result)
    assert.deepEqual(
      columns.map(({ name }: { name: string }) => name),
      ['i', 'twice'],
    )
    assert.deepEqual([rows.length, rows[499], more], [500, [500, 1000], false])
    assert.deepEqual(view, { view: 'line', x: 'I', y: ['twice'] })
    const lines = result.content[0].text.split('\n')
    assert.equal(lines[0], 'chart of 500 rows')
    assert.match(lines[1], /^20 rows, more follow · /)
    assert.doesNotMatch(result.content[0].text, /after "/)
    const { content } = await client.call('chart', args)
    assert.match(content[0].text, /\n200 rows, more follow · /, 'of a client without pages the text is the answer')
    assert.ok((await client.legacy('tools/call', { name: 'chart', arguments: args })).body.result._meta !== undefined)
  })

  test('at most 1,000 rows and 256 KiB are drawn, and the text says so', async () => {
    const many = await client.call('chart', { statement: SERIES, parameters: { last: 5000 } }, UI)
    assert.deepEqual([drawn(many).rows.length, drawn(many).more], [1000, true])
    assert.match(many.content[0].text, /^chart of 1000 rows, more are not drawn: aggregate\n/)
    const wide = "SELECT i, repeat('x', 900) AS a, repeat('y', 900) AS b FROM generate_series(1, 900) AS i"
    const large = await client.call('chart', { statement: wide }, UI)
    assert.equal(drawn(large).more, true)
    assert.ok(JSON.stringify(large).length < 300 * 1024)
  })

  test('columns that do not exist, or are not numbers, are errors that name what there is', async () => {
    const args = { statement: SERIES, parameters: { last: 3 } }
    assert.match(await client.error('chart', { ...args, x: 'minute' }), /no column "minute": it has i, twice/)
    assert.match(await client.error('chart', { statement: "SELECT 'a' AS t, 1 AS n", y: ['t'] }), /t is Text/)
    assert.match(await client.error('chart', { statement: "SELECT 'a' AS t" }), /no column of numbers/)
    assert.match(await client.error('chart', { ...args, view: 'pie' }), /view/)
    assert.match(
      await client.error('chart', { statement: 'DELETE FROM points ALL', live: true }),
      /^Request.WritesRefused/,
    )
    assert.match(await client.error('chart', { statement: 'SELEC 1', live: true }), /Corrected: SELECT 1/)
  })

  test('live: rows have keys, and changes gives what is new, different or gone by them', async () => {
    const result = await client.call('chart', { statement: 'SELECT id, n FROM points ORDER BY id', live: true }, UI)
    const { id, since, rows, keys } = drawn(result)
    assert.deepEqual(
      [rows, keys.length],
      [
        [
          [1, 10],
          [2, 20],
        ],
        2,
      ],
    )
    assert.match(result.content[0].text, new RegExp(`^chart of 2 rows · live: watch ${id} · since ${since}\n`))
    await write('UPDATE points SET n = 21 WHERE id = 2')
    await write('DELETE FROM points WHERE id = 1')
    const { structuredContent } = await client.call('changes', { id, since, wait: 10, format: 'json' })
    assert.deepEqual(structuredContent.remove, [keys[0]])
    assert.deepEqual(structuredContent.put, [{ key: keys[1], row: [2, 21] }])
    assert.equal(structuredContent.more, false)
  })
})
