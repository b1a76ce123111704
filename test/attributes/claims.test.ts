/** Claims of attributes: with their scope, by the claims parameter, at userinfo, and in the access tokens of APIs that list them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import type { AttributeDefinition } from '../../packages/server/src/store/attributes/attributes.ts'
import { onSqlite } from '../support/engines.ts'
import { basic } from '../support/identity.ts'
import { ALICE, authorizeUrl, openSignInPlace, readAnswer, SECRET, type SignInPlace } from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { visit } from '../support/visitor.ts'

const ORDERS = 'https://orders.example.com'

const attribute = (name: string, change: Partial<AttributeDefinition>): AttributeDefinition => ({
  ...{ name, type: 'Text', many: false, claim: undefined, scope: undefined, scim: undefined },
  ...change,
})

onSqlite('claims of attributes', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at(), {
      clients: [
        {
          client_id: 'robot',
          grant_types: ['client_credentials'],
          scope: 'Platform/Market orders:read',
          attributes: { desk: ['Rates'] },
        },
        {
          client_id: 'app',
          token_endpoint_auth_method: 'none',
          grant_types: ['password'],
          scope: 'openid profile email orders:read Platform/Market',
        },
      ],
    })
    const { stores } = place
    for (const definition of [
      attribute('desk', { many: true, claim: 'desk', scope: 'profile' }),
      attribute('grade', { type: 'Integer', claim: 'https://example.com/grade', scope: 'email' }),
      attribute('since', { type: 'Date', claim: 'since' }),
      attribute('hidden', {}),
      attribute('unset', { many: true, claim: 'unset', scope: 'profile' }),
    ])
      await stores.attributes.put(definition)
    await stores.apis.put({
      resource: ORDERS,
      name: 'Orders',
      accessTokenLifetime: undefined,
      claims: ['role', 'desk', 'since', 'unset'],
      scopes: [{ name: 'orders:read', text: {} }],
    })
    await stores.roles.put({ name: 'reader', scopes: ['Platform/Market', 'orders:read'] })
    const attributes = { desk: ['FX', 'Rates'], grade: [7], since: ['2024-02-29'], hidden: ['x'] }
    await stores.users.update(place.aliceId, { attributes })
    await stores.events.append({ kind: 'attributes-changed' })
    await stores.events.append({ kind: 'apis-changed' })
    await until('the definitions are known', 5000, async () => {
      const metadata = await fetch(`${place.server.issuer}/.well-known/oauth-authorization-server`)
      const { claims_supported: claims, scopes_supported: scopes } = JSON.parse(await metadata.text())
      return claims.includes('desk') && scopes.includes('orders:read')
    })
  })
  after(() => place.close())

  const token = async (form: Record<string, string>, headers = {}): Promise<Record<string, string>> => {
    const body = new URLSearchParams(form)
    const reply = await fetch(`${place.server.issuer}/connect/token`, { method: 'POST', body, headers })
    const text = await reply.text()
    assert.equal(reply.status, 200, text)
    return JSON.parse(text)
  }
  const signIn = (scope: string, more = {}) =>
    token({ grant_type: 'password', client_id: 'app', ...ALICE, scope, ...more })
  const userinfo = async (accessToken = ''): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${accessToken}` }
    const { sub, updated_at, ...claims } = JSON.parse(
      await (await fetch(`${place.server.issuer}/connect/userinfo`, { headers })).text(),
    )
    return claims
  }
  const authorize = async (client: 'web' | 'code-only', scope: string, claims: object) => {
    const redirect = client === 'web' ? {} : { redirect_uri: 'https://code.example.com/cb' }
    const more = { client_id: client, scope, nonce: 'n', claims: JSON.stringify(claims), ...redirect }
    const url = authorizeUrl(place.server.issuer, {
      ...more,
      response_type: client === 'web' ? 'id_token token' : 'code',
    })
    const agent = place.newAgent()
    const { end, seen } = await visit(agent, await agent.get(url), ALICE)
    return { answer: readAnswer(end), seen }
  }

  test('a scope gives the claims of its attributes: a list iff there may be many values, and none without a value', async () => {
    assert.deepEqual(await userinfo((await signIn('openid')).access_token), {})
    const { desk, since, unset, hidden, ...others } = await userinfo((await signIn('openid profile')).access_token)
    assert.deepEqual(
      { desk, since, unset, hidden },
      {
        ...{ desk: ['FX', 'Rates'], since: undefined, unset: undefined, hidden: undefined },
      },
    )
    assert.ok(!Object.hasOwn(others, 'https://example.com/grade'))
    const email = await userinfo((await signIn('openid email')).access_token)
    assert.equal(email['https://example.com/grade'], 7)
  })

  test('the access tokens of the built-in services have none', async () => {
    const claims = decodeJwt((await signIn('openid profile Platform/Market')).access_token ?? '')
    assert.deepEqual([claims.desk, claims.since], [undefined, undefined])
  })

  test('the claims parameter requests them for the ID token or userinfo, also one without a scope', async () => {
    const requested = { id_token: { since: null, hidden: null }, userinfo: { desk: { essential: true } } }
    const { answer } = await authorize('web', 'openid', requested)
    const { since, hidden, desk } = decodeJwt(answer.get('id_token') ?? '')
    assert.deepEqual([since, hidden, desk], ['2024-02-29', undefined, undefined])
    assert.deepEqual(await userinfo(answer.get('access_token') ?? ''), { desk: ['FX', 'Rates'] })
  })

  test('a client that may not request the scope of a claim does not get it by name', async () => {
    const requested = { id_token: { desk: null, since: null, 'https://example.com/grade': null } }
    const { answer } = await authorize('code-only', 'openid', requested)
    const form = { grant_type: 'authorization_code', code: answer.get('code') ?? '' }
    const headers = { authorization: basic('code-only', SECRET) }
    const { id_token } = await token({ ...form, redirect_uri: 'https://code.example.com/cb' }, headers)
    const { desk, since, 'https://example.com/grade': grade } = decodeJwt(id_token ?? '')
    assert.deepEqual([desk, since, grade], [undefined, undefined, 7])
  })

  test('what is requested by name before an attribute has that claim is not given later', async () => {
    const { answer } = await authorize('web', 'openid', { userinfo: { later: null } })
    await place.stores.attributes.put(attribute('hidden', { claim: 'later', scope: 'email' }))
    await place.stores.events.append({ kind: 'attributes-changed' })
    await until('the claim is known', 5000, async () => {
      return (await userinfo((await signIn('openid email')).access_token)).later === 'x'
    })
    assert.deepEqual(await userinfo(answer.get('access_token') ?? ''), {})
  })

  test('an API has the claims that it lists in its access tokens: of the user, or of the client without one', async () => {
    const { access_token } = await signIn('orders:read', { resource: ORDERS })
    const { aud, role, desk, since, unset, ...others } = decodeJwt(access_token ?? '')
    assert.deepEqual(
      { aud, role, desk, since, unset },
      {
        ...{ aud: ORDERS, role: ['reader'], desk: ['FX', 'Rates'], since: '2024-02-29', unset: undefined },
      },
    )
    assert.ok(!Object.hasOwn(others, 'https://example.com/grade') && !Object.hasOwn(others, 'hidden'))
    const headers = { authorization: basic('robot', SECRET) }
    const own = await token({ grant_type: 'client_credentials', scope: 'orders:read', resource: ORDERS }, headers)
    const claims = decodeJwt(own.access_token ?? '')
    assert.deepEqual([claims.sub, claims.desk, claims.since, claims.role], ['robot', ['Rates'], undefined, undefined])
  })

  test('a changed value is in the next answer of userinfo', async () => {
    const { access_token } = await signIn('openid profile')
    await place.stores.users.update(place.aliceId, { attributes: { desk: ['Equities'] } })
    await place.stores.events.append({ kind: 'user-changed', subject: place.aliceId, attributes: ['desk'] })
    await until('the value arrives', 1000, async () => {
      return JSON.stringify((await userinfo(access_token)).desk) === '["Equities"]'
    })
  })

  test('the OpenID document stays as it is', async () => {
    const document = await (await fetch(`${place.server.issuer}/.well-known/openid-configuration`)).text()
    assert.doesNotMatch(document, /desk/)
  })
})
