/** The administration API: authorization, roles, clients, streaming connections, queries and the audit log. Users are in users.test.ts. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { describeAdmin } from '../../packages/server/src/admin/admin.ts'
import { ADMIN_ROUTES } from '../../packages/server/src/admin/routes.ts'
import { describeApi } from '../../packages/server/src/http/openapi.ts'
import { secretMatches } from '../../packages/server/src/identity/clients/client-request.ts'
import { readAuditPage } from '../../packages/server/src/store/audit/read.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

onEveryEngineInLongRuns('administration', (place) => {
  let admin: TestAdmin
  /** The user of the streaming connection; each test may create them. */
  let streaming = 'usr_1'
  before(async () => {
    const here = {
      streams: {
        list: () => [
          {
            connectionId: 'c1',
            subject: streaming,
            username: 'alice',
            clientId: 'app',
            address: '192.0.2.1',
            openedAt: 0,
            expiresAt: undefined,
            subscriptions: 2,
          },
        ],
      },
      queries: {
        list: () => [
          {
            requestId: 'q1',
            kind: 'query' as const,
            subject: 'usr_1',
            clientId: 'app',
            statement: 'SELECT 1',
            startedAt: 0,
          },
        ],
        cancel: (id: string) => id === 'q1',
      },
    }
    const settings = () => [
      { name: 'port', environment: 'GATEHOUSE_PORT', value: '1', source: 'flag', description: 'The port' },
    ]
    admin = await startTestAdmin(place(), { settings }, here)
  })
  after(() => admin.stop())

  describe('every route', () => {
    for (const route of ADMIN_ROUTES) {
      const path = route.path.replace(/\{\w+\}/g, 'x')
      test(`${route.method} ${route.path} refuses a missing token, an invalid one and one without ${route.scope}`, async () => {
        const { call } = admin
        const none = await call(route.method, path, { token: '', ...(route.body && { body: '{' }) })
        assert.equal(none.status, 401)
        assert.equal(
          none.headers.get('www-authenticate'),
          'Bearer realm="gatehouse", DPoP algs="ES256 PS256 Ed25519 EdDSA"',
        )
        const bad = await call(route.method, path, { token: 'bad' })
        assert.equal(bad.status, 401)
        assert.match(bad.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
        const other = route.scope === 'Identity/Admin' ? 'Platform-Admin' : 'Identity-Admin'
        const poor = await call(route.method, path, { token: other })
        assert.equal(poor.status, 403)
        assert.equal(poor.body.Code, 'access.insufficient_scope')
        assert.match(poor.headers.get('www-authenticate') ?? '', /error="insufficient_scope"/)
      })
    }
  })

  test('a caller without the scope is recorded in the audit log', async () => {
    await admin.call('GET', '/admin/users', { token: 'Platform-News' })
    await admin.env.audit.flush()
    const [row] = await readAuditPage(admin.env.database.db, { event: 'access.refused' }, { limit: 1 })
    assert.partialDeepStrictEqual(row, { actor: 'usr_operator', client: 'console' })
  })

  test('changing a role changes the rights of its holders', async () => {
    await admin.call('POST', '/admin/roles', { body: { name: 'desk', scopes: ['Platform/News', 'Platform/Market'] } })
    await admin.call('POST', '/admin/users', { body: { username: 'gina', roles: ['desk'] } })
    admin.events.length = 0
    const tag = (await admin.call('GET', '/admin/roles/desk')).headers.get('etag') ?? ''
    const changed = await admin.call('PATCH', '/admin/roles/desk', {
      body: { scopes: ['Platform/News'] },
      ifMatch: tag,
    })
    assert.deepEqual(changed.body.scopes, ['Platform/News'])
    assert.partialDeepStrictEqual(admin.events, [
      { kind: 'roles-changed', roles: [{ name: 'desk', scopes: ['Platform/News'] }] },
    ])
    assert.equal((await admin.call('PATCH', '/admin/roles/desk', { body: { scopes: [] }, ifMatch: tag })).status, 412)
    assert.equal((await admin.call('POST', '/admin/roles', { body: { name: 'desk' } })).status, 409)
    assert.equal((await admin.call('POST', '/admin/roles', { body: { name: 'x', scopes: ['All'] } })).status, 422)
    const { body: scopes } = await admin.call('GET', '/admin/scopes')
    const news = scopes.items.find(({ name }: { name: string }) => name === 'Platform/News')
    assert.deepEqual(news, { name: 'Platform/News', resource: 'platform', roles: ['desk'] })
    assert.equal((await admin.call('DELETE', '/admin/roles/desk')).status, 204)
    assert.deepEqual((await admin.call('GET', '/admin/users/gina')).body.roles, [])
  })

  test('a client secret is shown once, two may overlap, a third is refused', async () => {
    const created = await admin.call('POST', '/admin/clients', {
      body: { client_id: 'desk-app', redirect_uris: ['https://desk.example/callback'] },
    })
    assert.equal(created.status, 201)
    const first = created.body.client_secret
    assert.ok(first.length >= 43)
    const shown = await admin.call('GET', '/admin/clients/desk-app')
    assert.ok(!shown.text.includes(first) && !shown.text.includes('digest'))
    const second = await admin.call('POST', '/admin/clients/desk-app/secrets', { body: { others_expire_in: 3600 } })
    assert.equal(second.status, 201)
    const client = await admin.env.stores.clients.find('desk-app')
    const matches = (secret: string, at: number) => secretMatches(client, 'desk-app', secret, at)
    assert.ok(matches(first, Date.now()) && matches(second.body.client_secret, Date.now()))
    assert.ok(matches(first, Date.now()) && !matches(first, Date.now() + 3_700_000))
    assert.ok(matches(second.body.client_secret, Date.now() + 3_700_000))
    assert.equal((await admin.call('POST', '/admin/clients/desk-app/secrets')).status, 409)
    assert.equal((await admin.call('DELETE', `/admin/clients/desk-app/secrets/${second.body.id}`)).status, 204)
    assert.equal((await admin.call('DELETE', `/admin/clients/desk-app/secrets/${second.body.id}`)).status, 404)
  })

  test('a client is changed with If-Match, disabled and deleted, and its tokens are revoked', async () => {
    await admin.call('POST', '/admin/clients', {
      body: { client_id: 'kiosk', token_endpoint_auth_method: 'none', redirect_uris: ['https://kiosk.example/cb'] },
    })
    const tag = (await admin.call('GET', '/admin/clients/kiosk')).headers.get('etag') ?? ''
    const bad = await admin.call('PATCH', '/admin/clients/kiosk', {
      body: { redirect_uris: ['http://x'] },
      ifMatch: tag,
    })
    assert.equal(bad.status, 422)
    assert.match(bad.body.detail, /^redirect_uris\[0\]/)
    const set = await admin.call('PATCH', '/admin/clients/kiosk', { body: { client_secret: 'mine' }, ifMatch: tag })
    assert.equal(set.status, 422)
    admin.events.length = 0
    const off = await admin.call('PATCH', '/admin/clients/kiosk', { body: { disabled: true }, ifMatch: tag })
    assert.equal(off.body.disabled, true)
    assert.deepEqual(
      admin.events.map(({ kind }) => kind),
      // The cut is recorded again once the change has committed.
      ['clients-changed', 'client-cut', 'client-scopes-changed', 'client-cut'],
    )
    assert.equal((await admin.call('POST', '/admin/clients/kiosk/secrets')).status, 409)
    const { body: visitor } = await admin.call('POST', '/admin/users', { body: { username: 'visitor' } })
    await admin.env.stores.consents.allow(visitor.id, 'kiosk', ['openid'])
    assert.equal((await admin.call('DELETE', '/admin/clients/kiosk')).status, 204)
    assert.equal(await admin.env.stores.consents.find(visitor.id, 'kiosk'), undefined)
    assert.equal((await admin.call('DELETE', '/admin/clients/kiosk')).status, 404)
  })

  test('streaming connections and running queries are listed and ended', async () => {
    const added = { username: 'streamer', password: 'long enough 1', roles: [] }
    const streamer = (await admin.call('POST', '/admin/users', { body: added })).body.id
    await admin.call('POST', '/admin/users', { body: { ...added, username: 'idler' } })
    streaming = streamer
    assert.partialDeepStrictEqual((await admin.call('GET', '/admin/streams')).body.items, [
      { id: 'c1', user: streamer, node: 'test' },
    ])
    for (const user of ['streamer', streamer])
      assert.equal((await admin.call('GET', `/admin/streams?user=${user}`)).body.items.length, 1)
    assert.deepEqual((await admin.call('GET', '/admin/streams?user=idler')).body.items, [])
    admin.events.length = 0
    const kick = async (target: string) => {
      const { status, body } = await admin.call('DELETE', `/admin/streams${target}`)
      return [status, status === 200 ? body.closed : body.detail]
    }
    assert.deepEqual(await kick('/c1'), [200, 1])
    assert.deepEqual(await kick('?user=streamer'), [200, 1])
    assert.deepEqual(await kick('?user=idler'), [200, 0])
    assert.deepEqual(await kick('/c2'), [404, 'There is no streaming connection "c2"'])
    assert.deepEqual(await kick('?user=nobody'), [404, 'There is no user or client "nobody"'])
    assert.equal((await kick(''))[0], 400)
    assert.equal((await admin.call('GET', '/admin/streams?user=usr_2')).status, 404)
    assert.partialDeepStrictEqual(admin.events, [
      { kind: 'stream-kick', connectionId: 'c1' },
      { kind: 'stream-kick', subject: streamer },
      { kind: 'stream-kick' },
    ])
    assert.partialDeepStrictEqual((await admin.call('GET', '/admin/queries')).body.items, [{ id: 'q1' }])
    assert.equal((await admin.call('DELETE', '/admin/queries/q1')).status, 204)
    assert.equal((await admin.call('DELETE', '/admin/queries/q2')).status, 404)
    assert.equal((await admin.call('GET', '/admin/settings')).body.items[0].name, 'port')
  })

  test('the audit log is read by page, exported as NDJSON and verified', async () => {
    // What the tests before have recorded would otherwise follow in a moment.
    await admin.env.audit.flush()
    await admin.call('POST', '/admin/users', { body: { username: 'ida' }, headers: { 'request-id': 'req-ida' } })
    const { body } = await admin.call('GET', '/admin/audit?event=user.created&limit=1')
    assert.partialDeepStrictEqual(body.items[0], {
      event: 'user.created',
      actor: 'usr_operator',
      client: 'console',
      request_id: 'req-ida',
    })
    assert.match(body.next, /before=\d+/)
    assert.ok((await admin.call('GET', body.next)).body.items[0].seq < body.items[0].seq)
    // The operator of the test is not in the table of users, like one who was deleted since.
    assert.ok((await admin.call('GET', '/admin/audit?actor=usr_operator')).body.items.length > 0)
    assert.deepEqual((await admin.call('GET', '/admin/audit?actor=ida')).body.items, [])
    const target = `/admin/audit?target=${body.items[0].target}`
    assert.deepEqual((await admin.call('GET', '/admin/audit?target=IDA')).body.items, [body.items[0]])
    assert.deepEqual((await admin.call('GET', target)).body.items, [body.items[0]])
    for (const path of ['/admin/audit?actor=idda', '/admin/audit/export?actor=idda'])
      assert.equal((await admin.call('GET', path)).status, 404)
    const exported = await admin.call('GET', '/admin/audit/export?event=user')
    assert.match(exported.headers.get('content-type') ?? '', /^application\/x-ndjson/)
    const lines = exported.text.trimEnd().split('\n')
    assert.ok(lines.every((line) => JSON.parse(line).event.startsWith('user.')))
    const forbidden = await admin.call('GET', '/admin/audit', { token: 'Platform-Admin' })
    assert.equal(forbidden.status, 403)
    // Of repeated refusals, only the first get a row each.
    const refusals = (await admin.call('GET', '/admin/audit?event=access.refused')).body.items
    assert.equal(refusals[0].event, 'access.refused')
    const [change] = (await admin.call('GET', '/admin/audit?changes=true')).body.items
    assert.equal(change.event, 'user.created')
    const changes = await admin.call('GET', '/admin/audit/export?changes=true')
    assert.equal(JSON.parse(changes.text.trimEnd().split('\n').at(-1) ?? '').seq, change.seq)
    const verdict = await admin.call('GET', '/admin/audit/verify')
    assert.deepEqual(verdict.body.faults, [])
    const { seq, hash } = verdict.body.head
    assert.deepEqual((await admin.call('GET', `/admin/audit/verify?head=${seq}:${hash}`)).body.faults, [])
    const rewritten = await admin.call('GET', `/admin/audit/verify?head=${seq}:${'0'.repeat(64)}`)
    assert.equal(rewritten.body.faults[0].kind, 'head-mismatch')
    for (const bad of [
      'event=nonsense',
      'since=yesterday',
      'changes=1',
      'limit=0',
      'before=x',
      'constructor=x',
      '__proto__=x',
    ])
      assert.equal((await admin.call('GET', `/admin/audit?${bad}`)).status, 400, bad)
  })
})

test('the OpenAPI document lists every route with its scope', () => {
  const api = JSON.parse(JSON.stringify(describeApi('https://gate.example', describeAdmin())))
  assert.equal(api.openapi, '3.1.0')
  for (const route of ADMIN_ROUTES) {
    const operation = api.paths[route.path]?.[route.method.toLowerCase()]
    assert.deepEqual(operation.security, [{ token: [route.scope] }], `${route.method} ${route.path}`)
    for (const [, name] of route.path.matchAll(/\{(\w+)\}/g))
      assert.ok(operation.parameters.some((parameter: { name: string }) => parameter.name === name))
  }
  const ids = Object.values(api.paths).flatMap((path) =>
    Object.values(path as object).map(({ operationId }) => operationId),
  )
  assert.equal(new Set(ids).size, ids.length)
})
