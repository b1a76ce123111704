/** Requests that a client library would not send, byte by byte over a socket to the whole server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { useServer } from '../support/server.ts'

describe('edge cases of HTTP', () => {
  const server = useServer({ flags: { '--demo': 'true', '--metrics-port': '0' } })

  /** Everything that the server sends until it closes the connection. */
  async function send(...lines: readonly string[]): Promise<string> {
    const socket = connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(lines.join('\r\n'))
    return text(socket)
  }
  const LAST = 'Connection: close'
  const FORM = 'Content-Type: application/x-www-form-urlencoded'
  const statuses = (replies: string) =>
    [...replies.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

  test('RFC 6585 §5: header fields past the limit are answered with 431, not with a reset', async () => {
    for (const headers of [[`X: ${'x'.repeat(20_000)}`], Array.from({ length: 3000 }, (_, index) => `X${index}: a`)]) {
      const reply = await send('GET /healthz HTTP/1.1', 'Host: x', ...headers, '', '')
      assert.match(reply, /^HTTP\/1.1 431 /)
      assert.match(reply, /\r\nrequest-id: [0-9a-f-]{36}\r\n/)
      assert.match(reply, /"Code":"http.headers_too_large"/)
    }
  })

  for (const [name, ...hosts] of [
    ['two Host headers', 'Host: a', 'Host: b'],
    ['two equal Host headers', 'Host: a', 'Host: a'],
    ['no Host header'],
    ['a Host header that is a list', 'Host: a, b'],
    ['a Host header with a path', 'Host: a/b'],
    ['a Host header with a user', 'Host: u@a'],
    ['a Host header with a space', 'Host: a b'],
    ['a Host header with a port that is not a number', 'Host: a:x'],
  ] as const)
    test(`RFC 9112 §3.2: ${name} is answered with 400, before anything else`, async () => {
      for (const path of ['/healthz', '/no-such-path', '/Platform?version=1.1']) {
        const reply = await send(`GET ${path} HTTP/1.1`, ...hosts, '', '')
        assert.match(reply, /^HTTP\/1.1 400 /, path)
        assert.match(reply, /"Code":"http.bad_request"/)
        assert.match(reply, /Host header/)
        assert.match(reply, /\r\nconnection: close\r\n/i)
      }
      const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
      const upgrade = ['GET /Platform?version=1.1 HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', ...key]
      assert.match(await send(...upgrade, ...hosts, '', ''), /^HTTP\/1.1 400 /)
    })

  for (const host of ['a', 'a:80', 'a.example:', '[::1]:5080', '127.0.0.1', 'a_b.example', ''])
    test(`RFC 9112 §3.2: the Host header "${host}" is accepted`, async () => {
      assert.deepEqual(statuses(await send('GET /healthz HTTP/1.1', `Host: ${host}`, LAST, '', '')), [200])
    })

  test('RFC 9112 §3.2: HTTP/1.0 needs no Host header', async () => {
    assert.deepEqual(statuses(await send('GET /healthz HTTP/1.0', '', '')), [200])
  })

  for (const [name, bytes] of [
    ['a header field without a colon', 'GET / HTTP/1.1\r\nbad header\r\n\r\n'],
    ['an unknown method', 'BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    [
      'a malformed chunk',
      `POST /connect/token HTTP/1.1\r\nHost: x\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    ],
  ] as const)
    test(`RFC 9112 §2.2: ${name} is answered with 400 as a problem document, logged and counted`, async () => {
      const reply = await send(bytes)
      assert.match(reply, /^HTTP\/1.1 400 Bad Request\r\n/)
      assert.match(reply, /\r\nstrict-transport-security: /)
      assert.match(reply, /"Code":"http.bad_request"/)
      const id = /\r\nrequest-id: (\S+)/.exec(reply)?.[1] ?? '-'
      assert.ok(server.log.some((line) => line.includes(id)))
      const metrics = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
      assert.match(metrics, /^gatehouse_http_requests_total{method="none",route="none",status="400"} \d+$/m)
    })

  /** Its reply takes a while: the password is hashed. */
  const slowForm = 'grant_type=password&client_id=demo-cli&username=alice&password=wrong-password'
  const slow = `POST /connect/token HTTP/1.1\r\nHost: x\r\n${FORM}\r\nContent-Length: ${slowForm.length}\r\n\r\n${slowForm}`

  test('RFC 9112 §9.3.2: malformed bytes after a request are not answered in its place', async () => {
    const reply = await send(`${slow}garbage\r\n\r\n`)
    assert.deepEqual(statuses(reply), [400])
    assert.match(reply, /"error":"invalid_grant"/)
  })

  test('RFC 9112 §9.3.2: an upgrade is not accepted before the reply to an earlier request', async () => {
    const upgrade = ['GET /Platform?version=1.1 HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket']
    const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
    const replies = await send(slow + upgrade.join('\r\n'), ...key, 'Sec-WebSocket-Protocol: PlatformJson', '', '')
    assert.deepEqual(statuses(replies), [])
  })

  test('RFC 9112 §6.1: a transfer coding other than chunked is 501', async () => {
    const head = ['POST /connect/token HTTP/1.1', 'Host: x', FORM, 'Transfer-Encoding: gzip, chunked']
    assert.deepEqual(statuses(await send(...head, '', '0', '', '')), [501])
  })

  test('RFC 9110 §10.1.1: Expect: 100-continue is answered before the body, another expectation with 417', async () => {
    const head = ['POST /connect/token HTTP/1.1', 'Host: x', FORM, 'Content-Length: 3', LAST]
    assert.deepEqual(statuses(await send(...head, 'Expect: 100-continue', '', 'a=b')), [100, 400])
    assert.deepEqual(statuses(await send(...head, 'Expect: tea', '', 'a=b')), [417])
  })

  test('RFC 9110 §10.1.1: what is refused for its head is not asked to send its body', async () => {
    for (const [status, ...head] of [
      [413, 'POST /connect/token HTTP/1.1', FORM, 'Content-Length: 100000'],
      [415, 'POST /sign-in HTTP/1.1', 'Content-Type: text/x', 'Content-Length: 100'],
      [401, 'POST /admin/users HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 100'],
      [404, 'POST /nothing HTTP/1.1', 'Content-Length: 100'],
      [405, 'POST /healthz HTTP/1.1', 'Content-Length: 100'],
    ] as const) {
      // Without a body and without `Connection: close`: the reply comes at once, and ends the connection.
      const reply = await send(...head, 'Host: x', 'Expect: 100-continue', '', '')
      assert.deepEqual(statuses(reply), [status], head[0])
    }
    const old = await send('POST /connect/token HTTP/1.0', FORM, 'Content-Length: 3', 'Expect: 100-continue', '', 'a=b')
    assert.deepEqual(statuses(old), [400])
  })

  test('RFC 9112 §9.3.2: a request that follows an error on the same connection is answered', async () => {
    const next = `GET /healthz HTTP/1.1\r\nHost: x\r\n${LAST}\r\n\r\n`
    for (const [status, first] of [
      [404, 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'],
      [404, 'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'],
      [400, 'POST /connect/token HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\n{}'],
      [415, 'POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\n{}'],
      [401, 'POST /admin/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'],
    ] as const)
      assert.deepEqual(statuses(await send(first + next)), [status, 200], first)
  })

  test('a body past the limit is 413, and the connection is closed', async () => {
    for (const path of ['/connect/token', '/sign-in']) {
      const reply = await send(
        `POST ${path} HTTP/1.1`,
        'Host: x',
        FORM,
        'Content-Length: 100000',
        '',
        'a'.repeat(70_000),
      )
      assert.match(reply, /^HTTP\/1.1 413 /)
      assert.match(reply, /\r\nconnection: close\r\n/i)
    }
  })

  test('RFC 9110 §9.3.7: OPTIONS * is answered for the server as a whole', async () => {
    assert.match(await send('OPTIONS * HTTP/1.1', 'Host: x', LAST, '', ''), /^HTTP\/1.1 204 /)
  })

  test('malformed JSON is 422 with the fault, and never repeats the text', async () => {
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const reply = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    const { access_token: token } = JSON.parse(await reply.text())
    const refused = await fetch(`${server.issuer}/admin/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"password": "hunter2"',
    })
    assert.equal(refused.status, 422)
    assert.ok(!(await refused.text()).includes('hunter2'))
  })

  test('RFC 6455 §4.2.2: an upgrade has a request id and a log line, and its refusal is a reply like any other', async () => {
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    const key = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Protocol: PlatformJson']
    for (const [target, status] of [
      ['/Platform?version=9', 400],
      ['/other', 404],
    ] as const) {
      const reply = await send(`GET ${target} HTTP/1.1`, 'Host: x', 'Request-Id: up-1', ...upgrade, ...key, '', '')
      assert.match(reply, new RegExp(`^HTTP/1.1 ${status} `))
      assert.match(reply, /\r\nrequest-id: up-1\r\n/)
      assert.match(reply, /\r\nx-content-type-options: nosniff\r\n/)
      assert.ok(server.log.some((line) => line.includes('up-1') && line.includes(`"status":${status}`)))
    }
    const socket = connect(server.port, '127.0.0.1')
    const accepted = ['GET /platform?version=1.1 HTTP/1.1', 'Host: x', 'Request-Id: up-2', ...upgrade, ...key, '', '']
    socket.write(accepted.join('\r\n'))
    const [reply] = await once(socket, 'data')
    assert.match(String(reply), /^HTTP\/1.1 101 /)
    assert.match(String(reply), /\r\nRequest-Id: up-2\r\n/)
    assert.ok(server.log.some((line) => line.includes('up-2') && line.includes('"status":101')))
    socket.destroy()
  })
})
