/** The HTTP pipeline with test routes: matching, lazy groups, bodies, access rules, errors. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type Principal, Refusal } from 'gatehouse-protocol'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline, type PipelineOptions } from '../../packages/server/src/http/pipeline.ts'
import { requireScope } from '../../packages/server/src/http/request/authentication.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import type { Route, RouteGroup } from '../../packages/server/src/http/route.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { caller } from '../query/query-server.ts'

interface Served {
  readonly port: number
  readonly log: string[]
  readonly metrics: () => string
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>
}

async function serve(
  t: TestContext,
  groups: PipelineOptions['groups'],
  options: Partial<PipelineOptions> = {},
): Promise<Served> {
  const log: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } })
  const metrics = new Metrics()
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  t.after(() => listener.close(0))
  listener.answerWith(new Pipeline({ groups, logger, metrics, readAddress: connectionAddress, ...options }))
  const { port } = listener
  return {
    port,
    log,
    metrics: () => metrics.render(),
    ask: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
  }
}

const echo = (method: Route['method'], path: string, more: Partial<Route> = {}): Route => ({
  method,
  path,
  handle: (context) => context.json({ route: context.route }),
  ...more,
})

test('paths are case-insensitive and decoded; a trailing slash and an empty segment are significant', async (t) => {
  const group: RouteGroup = { at: ['/'], routes: [echo('GET', '/Things'), echo('GET', '/things/:name/Parts')] }
  const { ask } = await serve(t, [group], { base: '/gate' })
  for (const path of ['/things', '/THINGS', '/%74hings', '/gate/things', '/things?x=%'])
    assert.deepEqual(await (await ask(path)).json(), { route: '/Things' }, path)
  assert.equal((await ask('/things/a%2Fb/parts')).status, 200)
  for (const path of ['/things/', '/things//parts', '/thing', '/things/a/b/parts'])
    assert.equal((await ask(path)).status, 404, path)
})

test('RFC 9112 §3.2.2: a target in absolute-form is served as its path', async (t) => {
  const { port } = await serve(t, [{ at: ['/'], routes: [echo('GET', '/things')] }])
  const [reply] = await once(get({ port, path: 'HTTP://localhost:80/things?x=/other' }), 'response')
  assert.equal(reply.statusCode, 200)
  reply.resume()
})

test('RFC 9110 §9.3.2: HEAD is GET without a body, and has no effect where GET has', async (t) => {
  const effectless = echo('GET', '/b', {
    handle: () => assert.fail('HEAD acted'),
    head: (context) => context.end(204),
  })
  const { ask } = await serve(t, [{ at: ['/'], routes: [echo('GET', '/a'), effectless] }])
  const head = await ask('/a', { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text(), head.headers.get('content-length')], [200, '', '14'])
  assert.equal((await ask('/b', { method: 'HEAD' })).status, 204)
  assert.equal((await ask('/b', { method: 'PUT' })).headers.get('allow'), 'GET, HEAD')
})

test('RFC 9110 §15.5.6: 405 lists the methods of the path over all its patterns', async (t) => {
  const routes = [echo('GET', '/a/:x'), echo('POST', '/a/:y'), echo('DELETE', '/a/b')]
  const { ask } = await serve(t, [{ at: ['/'], routes }])
  assert.equal((await ask('/a/c', { method: 'PUT' })).headers.get('allow'), 'GET, HEAD, POST')
})

test('what matches no route counts against the group with the longest prefix', async (t) => {
  const counted: string[] = []
  const rateLimits = {
    countAddress(group: string) {
      counted.push(group)
      return []
    },
    countCaller: () => [],
  }
  const groups: RouteGroup[] = [
    { at: ['/connect'], limit: 'token', routes: [] },
    { at: ['/connect/authorize'], limit: 'pages', routes: [] },
    { at: ['/healthz'], routes: [echo('GET', '/healthz')] },
    { at: ['/'], limit: 'other', routes: [] },
  ]
  const { ask } = await serve(t, groups, { rateLimits })
  for (const path of ['/connect/x', '/Connect', '/%63onnect/y', '/connect/authorize?x', '/connector', '/%', '/healthz'])
    await (await ask(path)).text()
  assert.deepEqual(counted, ['token', 'token', 'token', 'pages', 'other', 'other'])
})

test('lazy groups load once, on the first request below their paths; after a failure the next request tries again', async (t) => {
  let loads = 0
  const load = async (): Promise<readonly RouteGroup[]> => {
    if (++loads === 1) throw new Error('not yet')
    return [{ at: ['/account'], headers: { 'x-group': 'account' }, routes: [echo('GET', '/account')] }]
  }
  const { ask, log } = await serve(t, [{ at: ['/account'], load }])
  assert.equal((await ask('/other')).status, 404)
  assert.equal(loads, 0)
  const failed = await ask('/account')
  assert.equal(failed.status, 500)
  assert.equal(failed.headers.get('x-content-type-options'), 'nosniff')
  assert.partialDeepStrictEqual(await failed.json(), { Code: 'server.fault' })
  assert.ok(log.some((line) => line.includes('not yet') && line.includes(failed.headers.get('request-id') ?? '-')))
  const replies = await Promise.all([ask('/account'), ask('/account'), ask('/account/none')])
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 404],
  )
  assert.equal(replies[0]?.headers.get('x-group'), 'account')
  assert.equal(loads, 2)
})

test('RFC 9110 §15.5.14, §15.5.16: a body past the limit is 413, another media type 415; without a rule a body is ignored', async (t) => {
  const body = { limit: 8, types: ['text/plain'] }
  const handle: Route['handle'] = (context) => context.send('text/plain', context.body)
  const routes = [echo('POST', '/a', { body, handle }), echo('GET', '/b'), echo('POST', '/c')]
  const { ask } = await serve(t, [{ at: ['/'], routes }])
  const post = (text: string, type: string) =>
    ask('/a', { method: 'POST', body: text, headers: { 'content-type': type } })
  assert.equal(await (await post('12345678', 'text/plain; charset=utf-8')).text(), '12345678')
  assert.equal((await post('123456789', 'text/plain')).status, 413)
  assert.equal((await post('{}', 'application/json')).status, 415)
  assert.equal((await ask('/a', { method: 'POST' })).status, 200)
  assert.equal((await ask('/c', { method: 'POST', body: 'anything' })).status, 200)
})

test('RFC 6750 §3: an access rule needs a token, a valid one, and the scope', async (t) => {
  const counted: unknown[] = []
  const rateLimits = {
    countAddress: () => [],
    countCaller(_group: string, _address: string, who: unknown) {
      counted.push(who)
      return []
    },
  }
  const principals = new Map<string, Principal>([
    ['good', caller('anna', ['Platform/Admin'], [])],
    ['poor', caller('bert', ['openid'], [])],
  ])
  const access = requireScope('Platform/Admin')
  const { ask } = await serve(t, [{ at: ['/'], limit: 'x', routes: [echo('GET', '/a', { access })] }], {
    authenticate: (token) => (token === 'good' ? principals.get(token) : Promise.resolve(principals.get(token))),
    rateLimits,
  })
  const as = (authorization: string) => ask('/a', authorization === '' ? {} : { headers: { authorization } })
  const challenge = async (authorization: string) => {
    const reply = await as(authorization)
    return [reply.status, reply.headers.get('www-authenticate')?.replace(/, error_description="[^"]*"/, '')]
  }
  assert.deepEqual(await challenge(''), [401, 'Bearer realm="gatehouse", DPoP algs="ES256 PS256 Ed25519 EdDSA"'])
  for (const bad of ['Bearer unknown', 'Basic x', 'Bearer', 'Bearer a b', 'Bearer good, Bearer good'])
    assert.deepEqual(await challenge(bad), [401, 'Bearer realm="gatehouse", error="invalid_token"'], bad)
  assert.deepEqual(await challenge('Bearer poor'), [
    403,
    'Bearer realm="gatehouse", error="insufficient_scope", scope="Platform/Admin"',
  ])
  assert.deepEqual(counted, [])
  assert.equal((await as('bearer good')).status, 200)
  assert.deepEqual(counted, [{ client: 'anna-client', user: 'anna' }])
})

test('what a handler throws becomes a reply: refusals as they are, anything else a bare 500 that is logged', async (t) => {
  const refused = () => {
    throw new Refusal('http.bad_request', 400, 'No', { headers: { 'x-why': 'because' }, cause: 'the private cause' })
  }
  const routes: Route[] = [
    echo('GET', '/refused', { handle: refused }),
    echo('GET', '/later', { handle: async () => refused() }),
    echo('GET', '/bug', { handle: async () => JSON.parse('private') }),
    echo('GET', '/half', {
      async handle(context) {
        context.stream('text/plain').write('begun')
        throw new Error('broken off')
      },
    }),
  ]
  const { ask, log } = await serve(t, [{ at: ['/'], routes }])
  for (const path of ['/refused', '/later']) {
    const reply = await ask(path)
    assert.deepEqual([reply.status, reply.headers.get('x-why')], [400, 'because'])
    const text = await reply.text()
    assert.match(text, /"Code":"http.bad_request"/)
    assert.ok(!text.includes('private'))
  }
  const bug = await ask('/bug')
  assert.equal(bug.status, 500)
  assert.ok(!(await bug.text()).includes('private'))
  assert.ok(log.some((line) => line.includes('SyntaxError')))
  await assert.rejects(async () => (await ask('/half')).text())
})

test('a group writes its own errors, but not those of paths that match no route', async (t) => {
  const group: RouteGroup = {
    at: ['/pages'],
    fail: (context) => context.send('text/html', '<p>Sorry</p>', 400),
    routes: [
      echo('GET', '/pages/a', {
        handle() {
          throw new Error('x')
        },
      }),
    ],
  }
  const { ask } = await serve(t, [group])
  assert.equal((await ask('/pages/a')).headers.get('content-type'), 'text/html')
  for (const [path, method] of [
    ['/pages/b', 'GET'],
    ['/pages/a', 'PUT'],
  ] as const)
    assert.match((await ask(path, { method })).headers.get('content-type') ?? '', /problem\+json/)
})

test('Fetch §3.2: CORS headers are on every reply to an allowed origin, errors included, and preflights are answered', async (t) => {
  const group: RouteGroup = {
    at: ['/'],
    cors: async (origin) => origin === 'https://app.example',
    routes: [
      echo('POST', '/a', {
        handle() {
          throw new Refusal('http.bad_request', 400, 'No')
        },
      }),
    ],
  }
  const { ask } = await serve(t, [group])
  const from = (origin: string, method: string) => ask('/a', { method, headers: { origin } })
  for (const [method, status] of [
    ['POST', 400],
    ['OPTIONS', 204],
    ['GET', 405],
  ] as const) {
    const reply = await from('https://app.example', method)
    assert.deepEqual(
      [reply.status, reply.headers.get('access-control-allow-origin'), reply.headers.get('vary')],
      [status, 'https://app.example', 'origin'],
    )
  }
  const preflight = await from('https://app.example', 'OPTIONS')
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST')
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /^Authorization, /)
  const foreign = await from('https://evil.example', 'OPTIONS')
  assert.deepEqual(
    [...foreign.headers.keys()].filter((name) => name.startsWith('access-control')),
    [],
  )
})

test('an error reply that fails too is a bare 500, and ends neither the process nor the connection', async (t) => {
  const broken = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  const groups: RouteGroup[] = [
    {
      at: ['/a'],
      routes: [
        // A header that cannot be sent, which the error reply has too.
        broken('/a/sync', (context) => {
          context.setHeader('x-name', 'line\nbreak')
          context.json({})
        }),
        broken('/a/async', async (context) => {
          context.setHeader('x-name', '☃')
          context.json({})
        }),
      ],
    },
    {
      at: ['/b'],
      fail: () => {
        throw new Error('the group fails')
      },
      routes: [
        broken('/b/sync', () => {
          throw new Error('first')
        }),
        broken('/b/async', async () => {
          throw new Error('first')
        }),
      ],
    },
  ]
  const { ask, log } = await serve(t, groups)
  for (const path of ['/a/sync', '/a/async', '/b/sync', '/b/async']) {
    const reply = await ask(path)
    assert.deepEqual([reply.status, await reply.text()], [500, ''], path)
  }
  assert.equal(log.filter((line) => line.includes('the error reply failed')).length, 4)
})
