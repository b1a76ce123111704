/** Numbers keep their digits on every way between a table, a feed and a model. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const LONG = '9007199254740993'
const DECIMAL = '1234567890123456789012345678.0123456789'
const JSON_TEXT = '{"n":12345678901234567890.10}'

onEveryEngine('digits for agents', (place) => {
  let server: TestServer
  let client: McpClient
  let headers: Record<string, string>
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--limit-mcp': '' } })
    client = new McpClient(server, await agentToken(server))
    headers = { authorization: `Bearer ${(await signIn(server, ADMIN)).access_token}` }
    await write('CREATE TABLE exact (id Integer PRIMARY KEY, d Decimal(38, 10), f Double, j Json, at Timestamp)')
    await write(insert(LONG))
  })
  after(() => server.stop())

  const insert = (id: string) =>
    `INSERT INTO exact (id, d, f, j, at) VALUES (${id}, ${DECIMAL}, 0.1e0, JSON '${JSON_TEXT}', TIMESTAMP '2026-01-31T09:30:00.123456Z')`
  async function write(statement: string): Promise<void> {
    const reply = await post('/query', statement, 'text/plain; charset=utf-8')
    assert.equal(reply.status, 200, await reply.text())
  }
  const post = (path: string, body: string, type = 'application/json') =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body,
    })

  const ROW = `${LONG},${DECIMAL},0.1,"{""n"":12345678901234567890.10}",2026-01-31T09:30:00.123456Z`
  const VALUES = [LONG, DECIMAL, 0.1, JSON.parse(JSON_TEXT), '2026-01-31T09:30:00.123456Z']
  const hasAll = (text: string) => {
    for (const digits of [LONG, DECIMAL, '12345678901234567890.10']) assert.ok(text.includes(digits), text)
  }

  test('query, as text and as JSON, also of the reply itself', async () => {
    assert.ok((await client.text('query', { statement: 'SELECT * FROM exact' })).endsWith(`\n${ROW}`))
    const reply = await client.request('tools/call', {
      name: 'query',
      arguments: { statement: 'SELECT * FROM exact', format: 'json' },
    })
    const { structuredContent, content } = reply.body.result
    assert.deepEqual(structuredContent.rows, [VALUES])
    hasAll(content[0].text)
    hasAll(reply.text.slice(reply.text.indexOf('structuredContent')))
  })

  test('parameters: numbers of the request, and of a saved query', async () => {
    const { body: request, headers: envelope } = client.envelope('tools/call', {
      name: 'query',
      arguments: { statement: 'SELECT id FROM exact WHERE id = :id AND d = :d', parameters: {} },
    })
    const text = JSON.stringify(request).replace('"parameters":{}', `"parameters":{"id":${LONG},"d":${DECIMAL}}`)
    assert.ok(text.includes(DECIMAL))
    const reply = await client.post(text, envelope)
    assert.match(reply.body.result.content[0].text, new RegExp(`^1 row .*\\nid\\n${LONG}$`, 's'))
    const saved = await post(
      '/saved',
      `{"kind":"query","name":"Exact","shared":"everyone","body":{"statement":"SELECT id FROM exact WHERE id = :id","parameters":{"id":"${LONG}"}}}`,
    )
    assert.equal(saved.status, 201, await saved.text())
    assert.match(await client.text('saved_query', { name: 'Exact' }), new RegExp(`\\n${LONG}$`))
  })

  test('watch and changes, as text and as JSON', async () => {
    const watch = await client.call('watch', { statement: 'SELECT * FROM exact', format: 'json' })
    assert.deepEqual(watch.structuredContent.rows, [VALUES])
    hasAll(watch.content[0].text)
    const { id, since } = watch.structuredContent
    assert.ok((await client.text('watch', { statement: 'SELECT * FROM exact' })).endsWith(`\n${ROW}`))
    await write(insert('9007199254740995'))
    const changed = await client.call('changes', { id, since, wait: 10, format: 'json' })
    const [put] = changed.structuredContent.put
    assert.deepEqual(put.row, ['9007199254740995', ...VALUES.slice(1)])
    assert.ok(changed.content[0].text.includes('"key":["9007199254740995"]'), changed.content[0].text)
    const text = await client.text('changes', { id, since })
    assert.ok(text.includes(ROW.replace(LONG, '9007199254740995')), text)
  })

  test('read_feed', async () => {
    const rights = { read: 'Platform/Market', write: 'Platform/Admin' }
    assert.ok((await post('/admin/feeds', JSON.stringify({ name: 'Exact', ...rights, keep: 'latest' }))).ok)
    const message = `[{"Topic": "a", "Data": {"n": ${LONG}, "d": ${DECIMAL}}}]`
    const published = await post('/feeds/Exact', message)
    assert.ok(published.ok, await published.text())
    const text = await client.text('read_feed', { feed: 'Exact', topic: 'a' })
    for (const digits of [LONG, DECIMAL]) assert.ok(text.includes(digits), text)
  })
})
