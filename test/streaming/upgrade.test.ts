/** The WebSocket upgrade: path, version, sub-protocol, compression, authentication by header, origin, deadline. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { Refusal } from 'gatehouse-protocol'
import { startGateway } from '../support/gateway.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'

const QUERY_SERVER_INFO = { Topic: 'QueryServerInfo', TransactionID: 1 }

test('the path is case-insensitive', async (t) => {
  const { port } = await startGateway(t)
  for (const path of ['/Platform?version=1.1', '/platform?version=1.1', '/PLATFORM']) {
    const client = await connect(port, { path })
    assert.equal((await client.request(QUERY_SERVER_INFO)).TransactionID, 1, path)
  }
  assert.equal((await refusedUpgrade(port, { path: '/Elsewhere?version=1.1' })).status, 404)
  assert.equal((await refusedUpgrade(port, { path: '/echo' })).status, 404)
})

test('version 1.x selects profile 1; 2.x or no version selects profile 2', async (t) => {
  const { port } = await startGateway(t)
  for (const [path, version] of [
    ['/Platform?version=1.0', '1.x'],
    ['/Platform?version=1.1', '1.x'],
    ['/Platform?version=1.27', '1.x'],
    ['/platform?VERSION=1.1', '1.x'],
    ['/Platform?Version=1.1', '1.x'],
    ['/Platform?version=2.0', '2.x'],
    ['/Platform?version=2.9', '2.x'],
    ['/Platform', '2.x'],
  ] as const) {
    const client = await connect(port, { path })
    const { Data } = await client.request(QUERY_SERVER_INFO)
    assert.deepEqual(Data, { Name: 'test', Class: 'Gatehouse', Version: '0.0.0', Protocol: version }, path)
  }
})

test('a malformed or unknown version gets 400 with the supported versions', async (t) => {
  const { port } = await startGateway(t)
  for (const version of [
    '3.0',
    '0.9',
    '1',
    '1.',
    '.1',
    '1.1.1',
    'x.y',
    '',
    '-1.0',
    '1.0&version=2.0',
    '1.0&VERSION=2.0',
  ]) {
    const { status, headers, body } = await refusedUpgrade(port, { path: `/Platform?version=${version}` })
    assert.equal(status, 400, version)
    assert.match(headers['content-type'] ?? '', /^application\/problem\+json/)
    assert.deepEqual(body.SupportedVersions, ['1.x', '2.x'])
    assert.equal(body.Code, 'stream.version')
  }
})

test('a supported sub-protocol must be offered, at any position, and is returned', async (t) => {
  const { port } = await startGateway(t)
  for (const [offered, chosen] of [
    [['PlatformJson'], 'PlatformJson'],
    [['chat', 'PlatformJson'], 'PlatformJson'],
    [['PlatformJson', 'PlatformMsgPack'], 'PlatformJson'],
    [['PlatformMsgPack', 'PlatformJson'], 'PlatformMsgPack'],
  ] as const) {
    const client = await connect(port, { protocols: [...offered] })
    assert.equal(client.socket.protocol, chosen)
  }
  for (const offered of [[], ['chat'], ['platformjson']]) {
    const { status, body } = await refusedUpgrade(port, { protocols: offered })
    assert.equal(status, 400)
    assert.deepEqual(body.SupportedSubProtocols, ['PlatformJson', 'PlatformMsgPack'])
  }
})

test('permessage-deflate is negotiated when offered, without context takeover and with a bounded window', async (t) => {
  const { port } = await startGateway(t)
  for (const [offer, agreed] of [
    [undefined, ''],
    ['permessage-deflate', 'server_no_context_takeover; client_no_context_takeover; server_max_window_bits=12'],
    [
      'permessage-deflate; client_max_window_bits',
      'client_max_window_bits=12; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=12',
    ],
    [
      'permessage-deflate; server_max_window_bits=10; client_max_window_bits=11',
      'server_max_window_bits=10; client_max_window_bits=11; server_no_context_takeover; client_no_context_takeover',
    ],
  ] as const) {
    const { headers } = await requestUpgrade(port, offer === undefined ? {} : { 'Sec-WebSocket-Extensions': offer })
    const parameters = (text: string) => text.split(/; ?/).sort()
    assert.deepEqual(
      parameters(headers['sec-websocket-extensions'] ?? ''),
      parameters(agreed === '' ? '' : `permessage-deflate; ${agreed}`),
    )
  }
})

test('compressed messages work in both directions', async (t) => {
  const { port } = await startGateway(t, { settings: { streamDeflateThreshold: 16 } })
  const client = await connect(port, { perMessageDeflate: { threshold: 0 } })
  assert.match(client.socket.extensions, /permessage-deflate/)
  for (let id = 0; id < 20; id++) {
    const reply = await client.request({ ...QUERY_SERVER_INFO, TransactionID: id, Data: 'x'.repeat(5000) })
    assert.equal(reply.TransactionID, id)
  }
})

test('compression can be turned off', async (t) => {
  const { port } = await startGateway(t, { settings: { streamDeflate: false } })
  const client = await connect(port, { perMessageDeflate: true })
  assert.equal(client.socket.extensions, '')
})

test('Authorization: the scheme is case-insensitive; the token is Base64 or raw', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue()
  for (const Authorization of [
    `Bearer ${token}`,
    `bearer ${token}`,
    `BEARER   ${token}`,
    `Bearer ${Buffer.from(token).toString('base64')}`,
  ]) {
    const client = await connect(port, { headers: { Authorization } })
    const { Data } = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })
    assert.equal((Data as { Result: string }).Result, 'Success')
  }
})

test('an invalid or expired token gets 401 with the invalid_token challenge', async (t) => {
  const { port, mint, clock } = await startGateway(t)
  const expired = await mint.issue({ lifetime: 10 })
  clock.advance(10_000)
  const wrongAudience = await mint.issue({ scopes: ['openid', 'Identity/Admin'] })
  const tampered = `${(await mint.issue()).slice(0, -4)}AAAA`
  for (const token of [expired, wrongAudience, tampered, 'nonsense', 'a.b.c']) {
    const { status, headers, body } = await refusedUpgrade(port, { headers: { Authorization: `Bearer ${token}` } })
    assert.equal(status, 401)
    assert.equal(headers['www-authenticate'], 'Bearer error="invalid_token"')
    assert.equal(body.Code, 'stream.invalid_token')
    assert.ok(!JSON.stringify(body).includes(token))
  }
})

test('an unknown provider gets 401', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue()
  for (const Authorization of [`Basic ${token}`, `Other ${token}`, token, 'Bearer']) {
    assert.equal((await refusedUpgrade(port, { headers: { Authorization } })).status, 401, Authorization.slice(0, 8))
  }
})

test('Bearer without a token gets a specific error, not that of an unknown provider', async (t) => {
  const { port } = await startGateway(t)
  for (const Authorization of ['Bearer', 'bearer ']) {
    const { status, headers, body } = await refusedUpgrade(port, { headers: { Authorization } })
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'])
    assert.equal(body.Code, 'stream.token_needed')
  }
})

test('a token in the query string is never accepted', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue()
  const client = await connect(port, { path: `/Platform?version=1.1&access_token=${token}&token=${token}` })
  const { Data } = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })
  assert.deepEqual(Data, { Result: 'Reject' })
})

test('a fault in the token check gets a bare 500 and is logged', async (t) => {
  const { port, log } = await startGateway(t, { authenticate: () => Promise.reject(new Error('database is away')) })
  const { status, body } = await refusedUpgrade(port, { headers: { Authorization: 'Bearer x.y.z' } })
  assert.equal(status, 500)
  assert.ok(!JSON.stringify(body).includes('database'))
  assert.ok(log.some((line) => line.includes('database is away')))
})

test('a connection that has not authenticated within the deadline is closed with 1008', async (t) => {
  const { port, clock, mint } = await startGateway(t)
  const idle = await connect(port)
  const authenticated = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  clock.advance(59_900)
  await idle.expectSilence()
  clock.advance(100)
  assert.deepEqual(await idle.closed, { code: 1008, reason: 'not authenticated in time' })
  assert.equal(authenticated.socket.readyState, authenticated.socket.OPEN)
})

test('Origin is checked against the list, if set; clients without an Origin are accepted', async (t) => {
  const open = await startGateway(t)
  await connect(open.port, { origin: 'https://anywhere.test' })
  const { port } = await startGateway(t, { settings: { streamOrigins: ['https://desk.test'] } })
  await connect(port, { origin: 'https://desk.test' })
  await connect(port)
  for (const origin of ['https://evil.test', 'https://desk.test.evil.test', 'http://desk.test', 'null']) {
    assert.equal((await refusedUpgrade(port, { origin })).status, 403)
  }
})

test('RFC 6455 §4.2.1: a malformed handshake is a refusal with a code and a request id, also on the echo endpoint', async (t) => {
  const { port, gateway } = await startGateway(t, { settings: { streamEcho: true } })
  for (const path of ['/Platform?version=1.1', '/echo']) {
    for (const [headers, status, code] of [
      [{ 'Sec-WebSocket-Key': 'short' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Key': '' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAAAA' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAB==' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Extensions': 'permessage-deflate; =' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Extensions': 'permessage deflate' }, 400, 'stream.handshake'],
      [{ 'Sec-WebSocket-Version': '12' }, 426, 'stream.websocket_version'],
      [{ 'Sec-WebSocket-Version': '8' }, 426, 'stream.websocket_version'],
      [{ 'Sec-WebSocket-Version': '13, 8' }, 426, 'stream.websocket_version'],
      [{ 'Sec-WebSocket-Version': '' }, 426, 'stream.websocket_version'],
    ] as const) {
      const reply = await requestUpgrade(port, { ...headers }, path)
      assert.deepEqual([reply.status, JSON.parse(reply.body).Code], [status, code], JSON.stringify(headers))
      assert.ok(reply.headers['request-id'])
      // §4.4: the reply names the version that the server speaks.
      assert.equal(reply.headers['sec-websocket-version'], status === 426 ? '13' : undefined)
    }
  }
  assert.equal(gateway.counters.refusals.get('stream.handshake'), 6)
  assert.equal((await requestUpgrade(port, {})).status, 101)
  // RFC 9110 §7.8: another protocol is not upgraded to; the request is an ordinary one.
  assert.equal((await requestUpgrade(port, { Upgrade: 'h2c' })).status, 426)
})

test('RFC 7692 §7: an offer with invalid parameters is declined; the next one is taken', async (t) => {
  const { port } = await startGateway(t)
  for (const [offers, accepted] of [
    ['permessage-deflate; server_max_window_bits=7', undefined],
    ['permessage-deflate; server_max_window_bits=0.5', undefined],
    ['permessage-deflate; server_max_window_bits', undefined],
    ['permessage-deflate; client_max_window_bits=16', undefined],
    ['permessage-deflate; server_no_context_takeover=1', undefined],
    ['permessage-deflate; client_max_window_bits; client_max_window_bits', undefined],
    ['permessage-deflate; unknown', undefined],
    ['x-webkit-deflate-frame', undefined],
    ['permessage-deflate; unknown, permessage-deflate; server_max_window_bits="9"', 'server_max_window_bits=9'],
  ] as const) {
    const { status, headers } = await requestUpgrade(port, { 'Sec-WebSocket-Extensions': offers })
    assert.equal(status, 101)
    const agreed = headers['sec-websocket-extensions']
    assert.equal(
      accepted === undefined ? agreed : agreed?.includes(accepted),
      accepted === undefined ? undefined : true,
    )
  }
})

test('RFC 6455 §4.2.2: Sec-WebSocket-Accept is derived from the key', async (t) => {
  const { port } = await startGateway(t)
  const { headers } = await requestUpgrade(port, { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' })
  assert.equal(headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

test('accept rejects with a Refusal before anything is written, also after the token check', async (t) => {
  const { gateway, mint } = await startGateway(t)
  const server = createServer()
  const outcomes: unknown[] = []
  server.on('upgrade', (upgrade, socket, head) => {
    gateway.accept(upgrade, socket, head, '192.0.2.7').catch((refusal: Refusal) => {
      outcomes.push([refusal.code, (socket as Socket).bytesWritten])
      socket.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  await assert.rejects(requestUpgrade(port, { 'Sec-WebSocket-Protocol': 'chat' }))
  await assert.rejects(requestUpgrade(port, { Authorization: 'Bearer no.such.token' }))
  assert.deepEqual(outcomes, [
    ['stream.sub_protocol', 0],
    ['stream.invalid_token', 0],
  ])
  assert.equal((await requestUpgrade(port, { Authorization: `Bearer ${await mint.issue()}` })).status, 101)
  assert.equal(gateway.connections()[0]?.address, '192.0.2.7')
})

async function requestUpgrade(
  port: number,
  headers: Record<string, string>,
  path = '/Platform?version=1.1',
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  const upgrade = request({
    port,
    host: '127.0.0.1',
    path,
    headers: {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Protocol': 'PlatformJson',
      ...headers,
    },
  })
  upgrade.end()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    upgrade.once('upgrade', (reply, socket) => {
      socket.destroy()
      resolve(reply)
    })
    upgrade.once('response', resolve)
    upgrade.once('error', reject)
  })
  const body = response.statusCode === 101 ? '' : Buffer.concat(await Array.fromAsync(response)).toString()
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

test('RFC 6455 §4.1: an upgrade by another method than GET gets 405, and the connection ends', async (t) => {
  const { port, gateway } = await startGateway(t, { settings: { streamEcho: true } })
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])
    for (const path of ['/Platform?version=1.1', '/echo']) {
      const asked = request({
        port,
        method,
        path,
        headers: {
          Upgrade: 'websocket',
          Connection: 'Upgrade',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'Sec-WebSocket-Protocol': 'PlatformJson',
          ...(method === 'POST' ? { 'Content-Length': 2 } : {}),
        },
      })
      asked.once('upgrade', (_reply, socket) => socket.destroy(new Error(`${method} was accepted`)))
      asked.end(method === 'POST' ? '{}' : undefined)
      const [reply] = (await once(asked, 'response')) as [IncomingMessage]
      assert.deepEqual([reply.statusCode, reply.headers.allow, reply.headers.connection], [405, 'GET', 'close'], method)
      reply.resume()
      await once(reply, 'close')
    }
  assert.equal(gateway.counters.connectionsOpened, 0)
})
