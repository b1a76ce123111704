/** Attacks on SCIM: tokens out of place, injection, mass assignment, and requests that would cost too much. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN, bearer, signIn } from '../../support/demo-user.ts'
import { openPlace } from '../../support/engines.ts'
import { startTestServer } from '../../support/server.ts'
import { PATCH_OP, type ScimServer } from '../scim-server.ts'

interface Issued {
  readonly id: string
  readonly token: string
}

export function attacksOnScim(server: ScimServer): void {
  let admin: string
  before(async () => {
    admin = (await signIn(server, ADMIN)).access_token
  })

  const call = (method: string, path: string, token: string, body?: object) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' },
      ...(body && { body: JSON.stringify(body) }),
    })

  async function issue(client = 'hr-sync', body: object = {}): Promise<Issued> {
    const reply = await call('POST', `/admin/scim/${client}/tokens`, admin, body)
    assert.equal(reply.status, 201)
    return (await reply.json()) as Issued
  }

  test('a provisioning token is valid at /scim only, two a client, for at most two years, until it is revoked', async () => {
    const one = await issue()
    assert.match(one.token, /^ghscim_/)
    assert.equal((await server.scim('GET', '/Users?count=1', undefined, one)).status, 200)
    for (const [method, path] of [
      ['GET', '/admin/users'],
      ['POST', '/query'],
      ['GET', '/connect/userinfo'],
      ['GET', '/metrics'],
      ['GET', '/feeds/Ticker/topics'],
    ] as const)
      assert.equal(
        (await call(method, path, one.token, method === 'POST' ? { Query: 'SELECT 1 AS x' } : undefined)).status,
        401,
        path,
      )
    const introspected = await fetch(`${server.url}/connect/introspect`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`plain:${encodeURIComponent('the secret of a program in tests')}`).toString('base64')}`,
      },
      body: new URLSearchParams({ token: one.token }),
    })
    assert.deepEqual(await introspected.json(), { active: false })
    const two = await issue()
    assert.equal((await call('POST', '/admin/scim/hr-sync/tokens', admin, {})).status, 409)
    assert.equal((await call('POST', '/admin/scim/hr-sync/tokens', admin, { expires_in: 63_072_001 })).status, 422)
    assert.equal((await call('POST', '/admin/scim/plain/tokens', admin, {})).status, 409)
    const shown = await (await call('GET', '/admin/scim/hr-sync', admin)).text()
    assert.equal(shown.includes(one.token) || shown.includes(two.token), false)
    assert.equal(JSON.parse(shown).tokens.length, 2)
    assert.notEqual(JSON.parse(shown).last_seen_at, null)
    assert.equal((await call('DELETE', `/admin/scim/hr-sync/tokens/${one.id}`, admin)).status, 204)
    assert.equal((await server.scim('GET', '/Users?count=1', undefined, one)).status, 401)
    assert.equal((await server.scim('GET', '/Users?count=1', undefined, { token: `${two.token}x` })).status, 401)
    assert.equal((await call('DELETE', `/admin/scim/other-sync/tokens/${two.id}`, admin)).status, 404)
  })

  test('a provisioning token ends with the right or the activity of its client', async () => {
    const { token } = await issue('other-sync')
    const works = async () => (await server.scim('GET', '/Users?count=1', undefined, { token })).status
    assert.equal(await works(), 200)
    await call('PATCH', '/admin/clients/other-sync', admin, { scope: 'Platform/Market' })
    assert.equal(await works(), 401)
    await call('PATCH', '/admin/clients/other-sync', admin, { scope: 'Identity/Provisioning' })
    assert.equal(await works(), 200)
    await call('PATCH', '/admin/clients/other-sync', admin, { disabled: true })
    assert.equal(await works(), 401)
  })

  test('Identity/Provisioning opens nothing else, and nothing else opens SCIM', async () => {
    assert.equal((await call('GET', '/admin/users', server.token)).status, 403)
    assert.equal((await call('POST', '/query', server.token, { Query: 'SELECT 1 AS x' })).status, 401)
    for (const token of [admin, await server.requestToken('plain')])
      assert.equal((await server.scim('GET', '/Users', undefined, { token })).status, 403)
    assert.equal((await fetch(`${server.url}/scim/v2/Users`)).status, 401)
  })

  test('no role gives Identity/Provisioning, and it does not exist where SCIM is off', async () => {
    const role = await call('POST', '/admin/roles', admin, { name: 'provisioner', scopes: ['Identity/Provisioning'] })
    assert.equal(role.status, 422)
    const opened = await openPlace('sqlite')
    const other = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
    try {
      const { access_token: token } = await signIn(other, ADMIN)
      const url = `http://127.0.0.1:${other.port}`
      assert.equal((await fetch(`${url}/scim/v2/Users`, bearer(token))).status, 404)
      const client = { client_id: 'early', grant_types: ['client_credentials'], scope: 'Identity/Provisioning' }
      const headers = { ...bearer(token).headers, 'content-type': 'application/json' }
      const refused = await fetch(`${url}/admin/clients`, { method: 'POST', headers, body: JSON.stringify(client) })
      assert.equal(refused.status, 422)
      const discovery = (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as {
        scopes_supported: string[]
      }
      assert.equal(discovery.scopes_supported.includes('Identity/Provisioning'), false)
    } finally {
      await other.stop()
      await opened.leave()
    }
  })

  test('filters are no SQL and no patterns', async () => {
    await server.user('injected')
    const find = (filter: string) => server.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)
    for (const text of [
      `' or '1'='1`,
      `x' union select password_hash from users --`,
      `x"'; drop table users; --`,
      '%',
      '_njected',
      'inject%',
      '\\u005c',
    ]) {
      for (const filter of [
        `userName eq ${JSON.stringify(text)}`,
        `userName sw ${JSON.stringify(text)}`,
        `externalId eq ${JSON.stringify(text)}`,
        `emails.value eq ${JSON.stringify(text)}`,
        `userName eq "injected" and displayName co ${JSON.stringify(text)}`,
        `groups.value eq ${JSON.stringify(text)}`,
      ]) {
        const { status, body } = await find(filter)
        assert.deepEqual([status, body.totalResults], [200, 0], filter)
      }
    }
    for (const filter of [
      'password_hash pr',
      'users.id pr',
      `username" or 1=1 --`,
      '1 eq 1',
      'userName eq "a" ; drop table users',
    ])
      assert.equal((await find(filter)).body.scimType, 'invalidFilter', filter)
    assert.equal((await find('userName eq "injected"')).body.totalResults, 1)
  })

  test('mass assignment: only what the schema lists is written', async () => {
    for (const member of [
      'breakGlass',
      'break_glass',
      'rights',
      'disabled',
      'password_hash',
      'email_verified',
      '__proto__',
      'constructor',
    ]) {
      const body = `{"userName":"mass-${member}","${member}":true}`
      const { status, body: reply } = await server.scim('POST', '/Users', body)
      assert.deepEqual([status, reply.scimType], [400, 'invalidPath'], member)
    }
    const id = await server.user('mass', {
      id: 'usr_chosen',
      roles: ['admin'],
      groups: [{ value: 'x' }],
      entitlements: ['Identity/Admin'],
      meta: { created: '1999-01-01' },
      password: 'chosen by a client',
    })
    assert.notEqual(id, 'usr_chosen')
    const stored = (await (await call('GET', `/admin/users/${id}`, admin)).json()) as Record<string, unknown>
    assert.deepEqual([stored.roles, stored.has_password], [[], false])
    for (const path of ['scopes', 'provisioned', 'requireSecondFactor', 'made_by'])
      assert.equal(
        (await server.scim('POST', '/Groups', { displayName: `Mass ${path}`, [path]: ['Identity/Admin'] })).body
          .scimType,
        'invalidPath',
      )
  })

  test('requests that would cost too much are refused: deep, long, many', async () => {
    const id = await server.user('costly')
    const nested = `${'['.repeat(40)}${']'.repeat(40)}`
    assert.equal((await server.scim('POST', '/Users', `{"userName":${nested}}`)).status, 400)
    assert.equal((await server.scim('POST', '/Users', '{"userName":')).body.scimType, 'invalidSyntax')
    assert.equal((await server.scim('POST', '/Users', '[]')).body.scimType, 'invalidSyntax')
    const operations = Array.from({ length: 1001 }, () => ({ op: 'replace', path: 'displayName', value: 'x' }))
    const many = await server.scim('PATCH', `/Users/${id}`, { schemas: [PATCH_OP], Operations: operations })
    assert.deepEqual([many.status, many.body.scimType], [400, 'tooMany'])
    const large = await server.scim('PATCH', `/Users/${id}`, {
      Operations: [{ op: 'add', path: 'displayName', value: 'x'.repeat(1_100_000) }],
    })
    assert.equal(large.status, 413)
    const long = await server.patch(`/Users/${id}`, { op: 'add', path: 'displayName', value: 'x'.repeat(300) })
    assert.equal(long.body.scimType, 'invalidValue')
    const terms = Array.from({ length: 70 }, () => 'not (userName co "zz")').join(' and ')
    const started = performance.now()
    assert.equal((await server.scim('GET', `/Users?filter=${encodeURIComponent(terms)}`)).status, 200)
    assert.ok(performance.now() - started < 2000)
    const xml = await fetch(`${server.url}/scim/v2/Users`, {
      method: 'POST',
      headers: { ...bearer(server.token).headers, 'content-type': 'text/xml' },
      body: '<a/>',
    })
    assert.deepEqual([xml.status, xml.headers.get('content-type')], [415, 'application/scim+json'])
  })
}
