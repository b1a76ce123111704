/** Requests to /query over raw sockets: bodies in one or many pieces, headers, log, metrics, rate limits. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestClock, useServer } from '../support/server.ts'

const STATEMENT = 'SELECT 1 AS one'
const PLAIN = 'text/plain; charset=utf-8'

describe('requests to /query', () => {
  let token: string
  const clock = createTestClock()
  const flags = {
    '--demo': 'true',
    '--issuer': 'https://id.example/gate',
    '--metrics-port': '0',
    '--trusted-proxies': '127.0.0.1',
    '--limit-exempt': '',
    '--limit-query': 'address=10/60 user=8/60',
  }
  const server = useServer({ clock, flags }, async () => {
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const reply = await ask('/connect/token', { body: new URLSearchParams(form) })
    token = /"access_token":"([^"]+)"/.exec(await reply.text())?.[1] ?? ''
  })
  // To the beginning of an unused rate-limit window.
  beforeEach(() => clock.advance(120_000 - (clock() % 60_000)))

  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', ...init })
  const query = (path = '/query', headers: Record<string, string> = {}, body = STATEMENT) =>
    ask(path, { headers: { authorization: `Bearer ${token}`, 'content-type': PLAIN, ...headers }, body })

  /** Sends the parts in separate packets and returns everything until the server closes. */
  async function send(...parts: readonly string[]): Promise<string> {
    const socket = connect(server.port, '127.0.0.1').setNoDelay(true)
    await once(socket, 'connect')
    const answer = text(socket)
    for (const part of parts) {
      socket.write(part)
      await sleep(20)
    }
    return answer
  }
  const head = (...headers: readonly string[]) =>
    [
      'POST /query HTTP/1.1',
      'host: x',
      `authorization: Bearer ${token}`,
      `content-type: ${PLAIN}`,
      ...headers,
      '',
      '',
    ].join('\r\n')
  const last = 'connection: close'
  const whole = () => `${head(`content-length: ${STATEMENT.length}`)}${STATEMENT}`

  test('a body is read in one piece, in several, and chunked', async () => {
    const answers = await Promise.all([
      send(head(last, `content-length: ${STATEMENT.length}`) + STATEMENT),
      send(head(last, `content-length: ${STATEMENT.length}`), 'SELECT', ' 1 AS', ' one'),
      send(`${head(last, 'transfer-encoding: chunked')}6\r\nSELECT\r\n`, '9\r\n 1 AS one\r\n', '0\r\n\r\n'),
    ])
    for (const answer of answers) assert.match(answer, /^HTTP\/1.1 200 OK\r\n.*"Rows":\[\{"one":1\}\],"RowCount":1/s)
  })

  test('RFC 9112 §9.3.2: pipelined requests are answered in order', async () => {
    const answer = await send(whole() + whole() + whole().replace('host: x', `host: x\r\n${last}`))
    assert.equal(answer.split('"Rows":[{"one":1}]').length - 1, 3)
  })

  test('a body past the limit is 413, with Content-Length or chunked, and the connection is closed', async () => {
    const said = await send(`${head('content-length: 100000000')}SELECT`)
    const long = 'x'.repeat(65_536)
    const chunk = `${long.length.toString(16)}\r\n${long}\r\n`
    const unsaid = await send(head('transfer-encoding: chunked'), chunk, chunk, chunk, chunk)
    for (const answer of [said, unsaid]) {
      assert.match(answer, /^HTTP\/1.1 413 /)
      assert.match(answer, /\r\nconnection: close\r\n/i)
      assert.match(answer, /"Code":"Request.TooLarge"/)
    }
  })

  test('a client that disconnects before the end of its body does no harm', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`${head('content-length: 100')}SELECT`)
    await sleep(50)
    socket.resetAndDestroy()
    await sleep(50)
    assert.equal((await query()).status, 200)
  })

  test('the path is case-insensitive and decoded, with or without the base path', async () => {
    for (const path of ['/query', '/QUERY', '/quer%79', '/gate/query', '/gate/Query?x=%'])
      assert.equal((await query(path)).status, 200, path)
    const encoded = await ask('/query/%63ataloguetables/%53elect', { headers: { authorization: `Bearer ${token}` } })
    assert.equal(encoded.status, 200)
    await encoded.text()
  })

  for (const [name, path] of [
    ['that is not UTF-8', '/query/%ff/select'],
    ['with U+0000', '/query/a%00b/select'],
    ['with a slash in a name', '/query/a%2Fb/select'],
  ] as const)
    test(`a table name ${name} is unknown`, async () => {
      const answer = await query(path, { 'content-type': 'application/json' }, '[]')
      assert.equal(answer.status, 404)
      assert.match(await answer.text(), /"Code":"Data.UnknownTable"/)
    })

  test('RFC 9110 §15.5.6: another method is 405 with Allow; an unknown path is 404', async () => {
    const wrong = await ask('/query', { method: 'PUT' })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, POST'])
    const cancel = await ask('/query/some-id', { method: 'PUT' })
    assert.deepEqual([cancel.status, cancel.headers.get('allow')], [405, 'DELETE'])
    for (const path of ['/query/', '/query/a/b/c', '/query//select'])
      assert.equal((await query(path)).status, 404, path)
  })

  test('an address of 8 KiB and more is 414', async () => {
    const answer = await query(`/query?x=${'x'.repeat(8192)}`)
    assert.equal(answer.status, 414)
    assert.match(await answer.text(), /"Code":"request.url_too_long"/)
  })

  test('every reply has its request id, the security headers, a log line without the query string, and a metric', async () => {
    const from = { 'request-id': 'mine-8', 'x-forwarded-for': '198.51.100.9' }
    for (const [status, headers] of [
      [200, from],
      [401, { ...from, authorization: 'Bearer nonsense' }],
    ] as const) {
      const answer = await query(
        '/query?p.secret=1',
        headers,
        status === 200 ? 'SELECT CAST(:secret AS Text) AS s' : STATEMENT,
      )
      assert.equal(answer.status, status)
      assert.equal(answer.headers.get('request-id'), 'mine-8')
      assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000')
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      const line = JSON.parse(server.log.findLast((text) => text.includes('mine-8')) ?? '{}')
      assert.partialDeepStrictEqual(line, {
        reqId: 'mine-8',
        req: { method: 'POST', path: '/query', address: '198.51.100.9' },
        res: { status },
        msg: 'request',
      })
      assert.equal(typeof line.ms, 'number')
      const metrics = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
      const counted = `^gatehouse_http_requests_total{method="POST",route="/query",status="${status}"} \\d+$`
      assert.match(metrics, new RegExp(counted, 'm'))
    }
    assert.match((await query()).headers.get('request-id') ?? '', /^[0-9a-f-]{36}$/)
  })

  test('rate limits count the address before the token is read, then the user', async () => {
    const stranger = { 'x-forwarded-for': '198.51.100.10', authorization: 'Bearer nonsense' }
    const first = await query('/query', stranger)
    assert.deepEqual(
      [first.status, first.headers.get('ratelimit-policy')],
      [401, '"address";q=10;w=60'],
      await first.text(),
    )
    for (let count = 0; count < 9; count++) assert.equal((await query('/query', stranger)).status, 401)
    const refused = await query('/query', stranger)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    const known = { 'x-forwarded-for': '198.51.100.11' }
    const allowed = await query('/query', known)
    assert.deepEqual([allowed.status, allowed.headers.get('ratelimit-policy')], [200, '"user";q=8;w=60'])
    for (let count = 0; count < 7; count++) assert.equal((await query('/query', known)).status, 200)
    const tooOften = await query('/query', known)
    assert.equal(tooOften.status, 429)
    assert.match(tooOften.headers.get('ratelimit') ?? '', /^"user";r=0;/)
    const metrics = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
    assert.match(metrics, /^gatehouse_http_rejected_total{group="query",by="address"} 1$/m)
    assert.match(metrics, /^gatehouse_http_rejected_total{group="query",by="user"} 1$/m)
  })
})
