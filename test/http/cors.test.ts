/** Pages of registered origins may call everything that takes a token, and read every reply; other origins may not. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EXPOSED_HEADERS } from '../../packages/server/src/http/cors.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'

/** Registered for the demonstration's single-page application. */
const PAGE = 'http://localhost:5090'
const FOREIGN = ['http://localhost:5099', 'https://localhost:5090', 'http://localhost:5090.evil.example', 'null']

describe('cross-origin requests', () => {
  let token: string
  const server = useServer(
    {
      flags: { '--demo': 'true', '--limit-exempt': '', '--limit-admin': 'address=1000/60 user=20/3600' },
    },
    async () => {
      token = (await signIn(server, ADMIN)).access_token
    },
  )

  const call = (path: string, method: string, { headers, ...init }: RequestInit = {}, origin = PAGE) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      ...init,
      headers: { origin, authorization: `Bearer ${token}`, ...headers },
    })
  const preflight = (path: string, method: string, origin = PAGE) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  const corsHeaders = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith('access-control'))
  function assertReadable({ headers }: Response): void {
    assert.equal(headers.get('access-control-allow-origin'), PAGE)
    assert.equal(headers.get('access-control-expose-headers'), EXPOSED_HEADERS.join(', '))
    assert.equal(headers.get('access-control-allow-credentials'), null)
    assert.match(headers.get('vary') ?? '', /\borigin\b/i)
  }

  const ENDPOINTS: readonly [path: string, method: string][] = [
    ['/query', 'POST'],
    ['/query?p.symbol=ACME', 'GET'],
    ['/Query/trades/Select', 'POST'],
    ['/Query/trades/Insert', 'POST'],
    ['/query/some-request', 'DELETE'],
    ['/admin/users', 'GET'],
    ['/admin/users/somebody', 'PATCH'],
    ['/admin/clients/somebody', 'DELETE'],
    ['/connect/token', 'POST'],
    ['/connect/revocation', 'POST'],
    ['/connect/deviceauthorization', 'POST'],
    ['/connect/userinfo', 'GET'],
  ]

  test('Fetch §4.8: a preflight of a registered origin is answered and cached; other origins get no CORS header', async () => {
    for (const [path, method] of ENDPOINTS) {
      const allowed = await preflight(path, method)
      assert.equal(allowed.status, 204, path)
      assertReadable(allowed)
      const { headers } = allowed
      assert.ok((headers.get('access-control-allow-methods') ?? '').split(', ').includes(method), path)
      for (const name of [
        'authorization',
        'content-type',
        'idempotency-key',
        'if-match',
        'last-event-id',
        'request-id',
      ])
        assert.match(headers.get('access-control-allow-headers') ?? '', new RegExp(`\\b${name}\\b`, 'i'), path)
      assert.equal(headers.get('access-control-max-age'), '7200')
      for (const origin of FOREIGN) {
        const refused = await preflight(path, method, origin)
        assert.deepEqual([corsHeaders(refused), refused.headers.get('vary')], [[], 'origin'], `${path} ${origin}`)
      }
    }
  })

  test('a reply with a result can be read by its page only, compressed too', async () => {
    const statement = { body: 'SELECT * FROM trades', headers: { 'accept-encoding': 'gzip' } }
    const result = await call('/query', 'POST', statement)
    assert.equal(result.status, 200)
    assertReadable(result)
    assert.equal(result.headers.get('vary'), 'origin, accept-encoding')
    assert.ok(result.headers.get('request-id'))
    for (const origin of FOREIGN) assert.deepEqual(corsHeaders(await call('/query', 'POST', statement, origin)), [])
    const user = await call('/admin/users', 'GET')
    assertReadable(user)
    assert.ok(user.headers.get('ratelimit'))
  })

  test('server-sent events can be read by their page', async () => {
    const done = new AbortController()
    const events = await call('/query', 'POST', {
      body: 'SELECT * FROM instruments',
      headers: { accept: 'text/event-stream' },
      signal: done.signal,
    })
    assert.equal(events.headers.get('content-type'), 'text/event-stream')
    assertReadable(events)
    done.abort()
  })

  test('errors can be read by their page: 400, 401, 403, 404, 405, 413, 415', async () => {
    const alice = { authorization: `Bearer ${(await signIn(server)).access_token}` }
    const huge = 'x'.repeat(300_000)
    const refused: readonly [status: number, path: string, method: string, init?: RequestInit][] = [
      [400, '/query', 'POST', { body: 'SELEC' }],
      [401, '/query', 'POST', { body: 'SELECT 1 AS a', headers: { authorization: 'Bearer nonsense' } }],
      [401, '/admin/users', 'GET', { headers: { authorization: '' } }],
      [401, '/connect/userinfo', 'GET', { headers: { authorization: 'Bearer nonsense' } }],
      [403, '/admin/users', 'GET', { headers: alice }],
      [404, '/Query/nosuch/Select', 'POST'],
      [404, '/query/a/b/c', 'POST'],
      [404, '/admin/nosuch', 'GET'],
      [405, '/admin/users', 'DELETE'],
      [413, '/query', 'POST', { body: huge }],
      [413, '/admin/users', 'POST', { body: huge, headers: { 'content-type': 'application/json' } }],
      [415, '/query', 'POST', { body: 'x', headers: { 'content-type': 'text/html' } }],
      [401, '/connect/token', 'POST', { body: new URLSearchParams({ grant_type: 'none' }) }],
    ]
    for (const [status, path, method, init] of refused) {
      const reply = await call(path, method, init)
      assert.equal(reply.status, status, `${method} ${path}`)
      assertReadable(reply)
      await reply.arrayBuffer()
    }
    // A page whose preflight failed would not see the 404.
    for (const path of ['/query/a/b/c', '/admin/nosuch']) {
      const allowed = await preflight(path, 'POST')
      assert.equal(allowed.status, 204)
      assert.match(allowed.headers.get('access-control-allow-methods') ?? '', /\bPOST\b/)
    }
  })

  test('preflights are not counted against the rate limit, and a 429 can be read', async () => {
    for (let count = 0; count < 30; count++) assert.equal((await preflight('/admin/users', 'GET')).status, 204)
    let reply = await call('/admin/users', 'GET')
    assert.equal(reply.status, 200)
    for (let count = 0; count < 20 && reply.status === 200; count++) reply = await call('/admin/users', 'GET')
    assert.equal(reply.status, 429)
    assertReadable(reply)
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
    assert.equal((await preflight('/admin/users', 'GET')).status, 204)
  })

  test('discovery and keys are public: any origin, preflights too; introspection, authorization and sign-out take none', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/openid-configuration/jwks', '/openapi.json'])
      for (const origin of [PAGE, 'https://anybody.example']) {
        const [document, asked] = [await call(path, 'GET', {}, origin), await preflight(path, 'GET', origin)]
        for (const { headers } of [document, asked]) assert.equal(headers.get('access-control-allow-origin'), '*')
        assert.deepEqual([document.status, asked.status], [200, 204])
        assert.equal(document.headers.get('vary'), path === '/openapi.json' ? 'accept-encoding' : null)
      }
    for (const path of ['/connect/introspect', '/connect/authorize', '/connect/endsession', '/connect/checksession'])
      for (const reply of [await preflight(path, 'POST'), await call(path, 'GET')])
        assert.deepEqual(corsHeaders(reply), [], path)
  })
})
