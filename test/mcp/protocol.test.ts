/** POST /mcp: both eras of the protocol, its errors in their order, headers against bodies, and who may call at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { agentToken, McpClient, MODERN } from '../support/mcp.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'

let client: McpClient
const server = useServer({ flags: { '--demo': 'true', '--limit-mcp': '' } }, async () => {
  client = new McpClient(server, await agentToken(server))
})

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const [VERSION, CAPABILITIES] = ['protocolVersion', 'clientCapabilities'].map(
  (name) => `io.modelcontextprotocol/${name}`,
)
const META = { [VERSION as string]: MODERN, [CAPABILITIES as string]: {} }
const HEADERS = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list' }
const modern = (body: object) => ({ ...LIST, ...body, params: { _meta: META } })

test('server/discover: versions, capabilities and who answers', async () => {
  const { status, body } = await client.request('server/discover')
  assert.equal(status, 200)
  const { supportedVersions, capabilities, instructions, resultType, ttlMs, cacheScope, _meta } = body.result
  assert.deepEqual(supportedVersions, [MODERN, '2025-11-25', '2025-06-18'])
  assert.deepEqual([resultType, ttlMs, cacheScope], ['complete', 3_600_000, 'public'])
  assert.ok('tools' in capabilities)
  assert.ok(instructions.length <= 1_500, `${instructions.length}`)
  assert.equal(_meta['io.modelcontextprotocol/serverInfo'].name, 'gatehouse')
})

test('tools/list is the same in both eras, at most 8 KiB, and says that tools read only', async () => {
  const { body } = await client.request('tools/list')
  const legacy = await client.legacy('tools/list')
  assert.deepEqual(legacy.body.result, { tools: body.result.tools })
  assert.ok(Buffer.byteLength(JSON.stringify(legacy.body.result)) <= 8 * 1024)
  for (const { annotations, inputSchema } of body.result.tools) {
    assert.equal(annotations.readOnlyHint, true)
    assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref|anyOf|oneOf|allOf/)
  }
})

test('arguments that nest too deep or have too many values are refused before they are read', async () => {
  const { body, headers } = client.envelope('tools/call', {
    name: 'query',
    arguments: { statement: 'SELECT 1', parameters: {} },
  })
  const send = (value: string) =>
    client.post(JSON.stringify(body).replace('"parameters":{}', `"parameters":{"a":${value}}`), headers)
  for (const [value, code] of [
    ['['.repeat(100_000) + ']'.repeat(100_000), -32700],
    [`[${'1,'.repeat(150_000)}1]`, -32600],
    ['1'.repeat(2000), -32700],
  ] as const) {
    const { status, body } = await send(value)
    assert.deepEqual([status, body.error.code], [400, code])
  }
})

test('initialize answers the asked version or 2025-11-25; ping and notifications as before', async () => {
  for (const [asked, answered] of [
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2024-11-05', '2025-11-25'],
  ]) {
    const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const { status, body, headers } = await client.legacy('initialize', params)
    assert.deepEqual([status, body.result.protocolVersion, body.result.serverInfo.name], [200, answered, 'gatehouse'])
    assert.equal(headers.get('mcp-session-id'), null)
  }
  assert.deepEqual((await client.legacy('ping')).body.result, {})
  const { status, text } = await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  assert.deepEqual([status, text], [202, ''])
})

const BAD: readonly [
  what: string,
  body: unknown,
  headers: Record<string, string>,
  status: number,
  code: number,
  id?: unknown,
][] = [
  ['no JSON', '{"jsonrpc":', {}, 400, -32700],
  ['no UTF-8', '"\\ud800', {}, 400, -32700],
  ['a batch', [LIST], {}, 400, -32600],
  ['a response', { jsonrpc: '2.0', id: 1, result: {} }, {}, 400, -32600, 1],
  ['id null', { ...LIST, id: null }, {}, 400, -32600],
  ['a fractional id', { ...LIST, id: 1.5 }, {}, 400, -32600],
  ['an id that each message of a stream would repeat', { ...LIST, id: 'x'.repeat(257) }, {}, 400, -32600],
  ['another version of JSON-RPC', { ...LIST, jsonrpc: '1.0' }, {}, 400, -32600, 1],
  ['params that are a list', { ...LIST, params: [] }, {}, 400, -32600, 1],
  ['modern without _meta', { ...LIST, id: 'a' }, HEADERS, 400, -32602, 'a'],
  [
    '_meta without the version',
    { ...LIST, params: { _meta: { [CAPABILITIES as string]: {} } } },
    HEADERS,
    400,
    -32602,
    1,
  ],
  [
    '_meta without capabilities',
    { ...LIST, params: { _meta: { [VERSION as string]: MODERN } } },
    HEADERS,
    400,
    -32602,
    1,
  ],
  ['no version in the headers', modern({}), { 'mcp-method': 'tools/list' }, 400, -32020, 1],
  ['another version in the headers', modern({}), { ...HEADERS, 'mcp-protocol-version': '2025-11-25' }, 400, -32020, 1],
  ['no method in the headers', modern({}), { 'mcp-protocol-version': MODERN }, 400, -32020, 1],
  ['another method in the headers', modern({}), { ...HEADERS, 'mcp-method': 'Tools/List' }, 400, -32020, 1],
]
for (const [what, body, headers, status, code, id] of BAD)
  test(`${what}: ${status} ${code}`, async () => {
    const reply = await client.post(body, headers)
    assert.deepEqual([reply.status, reply.body.error.code, reply.body.id], [status, code, id], reply.text)
  })

test('Mcp-Name is compared after it is decoded, and only one spelling of Base64 is', async () => {
  const name = 'iql_help'
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const ask = (header: string | undefined) => {
    const { body, headers } = client.envelope('tools/call', { name, arguments: {} })
    const { 'mcp-name': _, ...rest } = headers as Record<string, string>
    return client.post(body, header === undefined ? rest : { ...rest, 'mcp-name': header })
  }
  for (const header of [name, encoded(name), ` ${name} `]) assert.equal((await ask(header)).status, 200, header)
  for (const header of [undefined, 'query', encoded('query'), '=?base64?aXFsX2hlbHA?=', encoded(name).toUpperCase()])
    assert.equal((await ask(header)).body.error.code, -32020, header)
})

test('Mcp-Name is that of a prompt, and the URI of a resource', async () => {
  for (const [method, params] of [
    ['prompts/get', { name: 'explore_table', arguments: { table: 'trades' } }],
    ['resources/read', { uri: 'gatehouse://iql' }],
  ] as const) {
    const { body, headers } = client.envelope(method, params)
    assert.equal((await client.post(body, headers)).status, 200, method)
    const { 'mcp-name': _, ...without } = headers as Record<string, string>
    for (const wrong of [without, { ...without, 'mcp-name': 'other' }]) {
      const reply = await client.post(body, wrong)
      assert.deepEqual([reply.status, reply.body.error.code], [400, -32020], method)
    }
    const altered = await client.request(method, { ...params, requestState: '1.x' })
    assert.deepEqual([altered.status, altered.body.error.code], [200, -32602], method)
  }
})

test('another version is -32022 with those that are served', async () => {
  const { status, body } = await client.request('tools/list', {}, { version: '2027-01-01' })
  assert.deepEqual([status, body.error.code], [400, -32022])
  assert.deepEqual(body.error.data, { supported: [MODERN, '2025-11-25', '2025-06-18'], requested: '2027-01-01' })
})

test('unknown methods are 404 -32601, and those of the other era too', async () => {
  for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tools/run', '__proto__']) {
    const { status, body } = await client.request(method)
    assert.deepEqual([status, body.error.code], [404, -32601], method)
  }
  const { status, body } = await client.legacy('server/discover')
  assert.deepEqual([status, body.error.code], [404, -32601])
})

test('an unknown tool is -32602; wrong arguments are a result that says what the tool takes', async () => {
  const { status, body } = await client.request('tools/call', { name: 'drop_tables', arguments: {} })
  assert.deepEqual([status, body.error.code], [200, -32602])
  assert.match(await client.error('query', { statment: 'SELECT 1' }), /query takes statement, parameters/)
  assert.match(await client.error('query', { statement: 'SELECT 1', max_rows: 3000 }), /max_rows/)
})

test('GET and DELETE are 405; other types 415; sessions and Last-Event-ID are ignored', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) assert.equal((await fetch(client.url, { method })).status, 405, method)
  assert.equal((await client.post(LIST, { 'content-type': 'text/plain' })).status, 415)
  const { status, headers } = await client.post(LIST, { 'mcp-session-id': 'x', 'last-event-id': '7' })
  assert.deepEqual([status, headers.get('mcp-session-id')], [200, null])
  assert.equal((await client.post(`"${'x'.repeat(1024 * 1024)}"`)).status, 413)
})

test('RFC 9728: without a token of agents 401 says where the metadata is and which scopes to ask for', async () => {
  const challenge = new RegExp(
    `^Bearer .*resource_metadata="${server.issuer}/.well-known/oauth-protected-resource/mcp", scope="Platform/Market Platform/News"`,
  )
  const ofPlatform = (await signIn(server, ADMIN)).access_token
  for (const authorization of ['', 'Bearer x', `Bearer ${ofPlatform}`]) {
    const reply = await client.post(LIST, { authorization })
    assert.equal(reply.status, 401, authorization)
    assert.match(String(reply.headers.get('www-authenticate')).replace('Bearer error', 'Bearer x, error'), challenge)
    assert.equal(reply.headers.get('content-type')?.split(';')[0], 'application/problem+json')
  }
})

test('pages of other origins are refused, those of the issuer may call', async () => {
  const foreign = await client.post(LIST, { origin: 'https://evil.example' })
  assert.deepEqual([foreign.status, foreign.body.Code], [403, 'mcp.origin'])
  const own = await client.post(LIST, { origin: new URL(server.issuer).origin })
  assert.deepEqual([own.status, own.headers.get('access-control-allow-origin')], [200, new URL(server.issuer).origin])
  const preflight = await fetch(client.url, {
    method: 'OPTIONS',
    headers: { origin: new URL(server.issuer).origin, 'access-control-request-method': 'POST' },
  })
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /Mcp-Method, Mcp-Name/)
})

test('a revoked token is refused at once', async () => {
  const token = await agentToken(server)
  const other = new McpClient(server, token)
  assert.equal((await other.request('tools/list')).status, 200)
  await fetch(`http://127.0.0.1:${server.port}/connect/revocation`, {
    method: 'POST',
    body: new URLSearchParams({ token, client_id: 'demo-cli' }),
  })
  assert.equal((await other.request('tools/list')).status, 401)
})

test('RFC 6750 §3.1: a token to which no right is left is 403 with the scopes and where the metadata is', async () => {
  const { access_token: token } = await signIn(server, ADMIN)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' }
  const send = async (method: string, path: string, body: object) => {
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers, body: JSON.stringify(body) })
    assert.ok(reply.ok, await reply.text())
  }
  const dana = { username: 'dana', password: 'a password of dana' }
  await send('POST', '/admin/roles', { name: 'reader', scopes: ['Platform/News'] })
  await send('POST', '/admin/users', { ...dana, roles: ['reader'] })
  const other = new McpClient(server, await agentToken(server, dana))
  assert.equal((await other.request('tools/list')).status, 200)
  await send('PATCH', '/admin/users/dana', { roles: [] })
  const reply = await other.request('tools/list')
  assert.equal(reply.status, 403, reply.text)
  assert.equal(
    reply.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="Platform/Market Platform/News", resource_metadata="${server.issuer}/.well-known/oauth-protected-resource/mcp"`,
  )
})

const ENDLESS =
  'SELECT count(*) AS n FROM generate_series(1, 100000) AS a CROSS JOIN generate_series(1, 100000) AS b WHERE (a * b) % 7 = 3'

test('a long call sends its progress as events, then the result; a client that leaves ends its statement', async () => {
  const left = new AbortController()
  const start = () => {
    const { body, headers } = client.envelope('tools/call', { name: 'query', arguments: { statement: ENDLESS } })
    return client.open(body, headers, left.signal).catch(() => undefined)
  }
  const asked = [start(), start()]
  const { access_token: token } = await signIn(server, ADMIN)
  const running = async () => {
    const authorization = `Bearer ${token}`
    const reply = await fetch(`http://127.0.0.1:${server.port}/admin/queries`, { headers: { authorization } })
    return (await reply.text()).split('100000) AS a').length - 1
  }
  while ((await running()) < 2);
  // Two at a time: the third waits for its turn.
  const { body, headers } = client.envelope(
    'tools/call',
    { name: 'query', arguments: { statement: 'SELECT 1 AS one' } },
    { meta: { progressToken: 'p' } },
  )
  const third = await client.open(body, headers)
  assert.equal(third.headers.get('content-type'), 'text/event-stream')
  assert.equal(third.headers.get('x-accel-buffering'), 'no')
  left.abort()
  const messages = [...(await third.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string))
  assert.deepEqual([messages[0].method, messages[0].params.progressToken], ['notifications/progress', 'p'])
  assert.equal(messages.at(-1).id, body.id)
  assert.match(messages.at(-1).result.content[0].text, /^1 row · one Integer/)
  await Promise.all(asked)
  await until('both statements have ended', 2_000, async () => (await running()) === 0)
})
