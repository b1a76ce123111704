/** `resource` at the authorization endpoint, and consent by API in the language of the page. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  ALICE,
  authorizeUrl,
  CALLBACK,
  decodeClaims,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn, visit } from '../support/visitor.ts'

const ORDERS = 'https://orders.example.com'
const RISK = 'urn:example:risk'
const OWN = 'orders:write orders:read risk'

onEveryEngineInLongRuns('authorization requests for APIs', (at) => {
  let place: SignInPlace
  let issuer: string
  before(async () => {
    const scope = `openid email offline_access Platform/Market ${OWN}`
    const client = {
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'implicit', 'refresh_token'],
      scope,
    }
    place = await openSignInPlace(at(), {
      clients: [
        { ...client, client_id: 'desk', client_name: 'Desk', response_types: ['code', 'token', 'code id_token'] },
        { ...client, client_id: 'silent', skip_consent: true, response_types: ['code', 'token'] },
      ],
    })
    issuer = place.server.issuer
    const { stores } = place
    const none = { accessTokenLifetime: undefined, claims: [] }
    await stores.apis.put({
      ...none,
      resource: ORDERS,
      name: 'Order <desk>',
      scopes: [
        { name: 'orders:write', text: { en: 'Place & change orders', de: 'Orders aufgeben' } },
        { name: 'orders:read', text: { en: 'See orders' } },
      ],
    })
    await stores.apis.put({ ...none, resource: RISK, name: 'Risk', scopes: [{ name: 'risk', text: { fr: 'Risque' } }] })
    await stores.events.append({ kind: 'apis-changed' })
    await stores.roles.put({ name: 'orderer', scopes: OWN.split(' ') })
    await stores.users.setRoles(place.aliceId, ['reader', 'orderer'])
    await until('the node knows the APIs', 5000, async () =>
      (await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).text()).includes('orders:write'),
    )
  })
  after(() => place.close())

  const buildUrl = (scope: string, resources: readonly string[] = [], changes: Record<string, string> = {}) => {
    const url = authorizeUrl(issuer, { client_id: 'silent', scope, ...changes })
    for (const resource of resources) url.searchParams.append('resource', resource)
    return url
  }
  const answer = async (url: URL) => {
    const agent = place.newAgent()
    return readAnswer((await visit(agent, await agent.get(url), ALICE)).end)
  }
  const redeem = async (code: string | undefined, form: Record<string, string> = {}) => {
    const response = await fetch(`${issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: code ?? '',
        redirect_uri: CALLBACK,
        ...form,
      }),
      headers: { authorization: `Basic ${Buffer.from(`silent:${encodeURIComponent(SECRET)}`).toString('base64')}` },
    })
    return (await response.json()) as Record<string, string>
  }

  test('A grant holds the targets that were named; the code is redeemed for one of them', async () => {
    const scope = `openid offline_access Platform/Market ${OWN}`
    const both = await redeem((await answer(buildUrl(scope, [ORDERS, RISK]))).get('code'), { resource: RISK })
    assert.deepEqual(decodeClaims(both.access_token ?? '').aud, [RISK, 'identity'])
    assert.equal(both.scope, 'offline_access openid risk')
    const one = await redeem((await answer(buildUrl(scope, [ORDERS]))).get('code'))
    assert.deepEqual(decodeClaims(one.access_token ?? '').aud, [ORDERS, 'identity'])
    const code = (await answer(buildUrl(scope, [ORDERS, RISK]))).get('code')
    assert.equal((await redeem(code)).error, 'invalid_target')
    const foreign = (await answer(buildUrl(scope, [ORDERS]))).get('code')
    assert.equal((await redeem(foreign, { resource: `${issuer}/query` })).error, 'invalid_target')
  })

  test('None named: all; the built-in services come first, and with openid an ID token as ever', async () => {
    const reply = await redeem((await answer(buildUrl(`openid Platform/Market ${OWN}`))).get('code'))
    assert.deepEqual(decodeClaims(reply.access_token ?? '').aud, ['identity', 'platform'])
    assert.ok(reply.id_token)
  })

  test('Unknown, malformed, eleven, or an API without a registered scope: invalid_target to the client', async () => {
    const bad = [
      [`${ORDERS}/`],
      [`${ORDERS}#f`],
      ['https://ORDERS.example.com'],
      [ORDERS, 'nothing'],
      Array(11).fill(ORDERS),
    ]
    for (const resources of bad)
      assert.equal(
        (await answer(buildUrl(`openid ${OWN}`, resources))).get('error'),
        'invalid_target',
        resources.join(' '),
      )
    assert.ok((await answer(buildUrl(`openid ${OWN}`, Array(10).fill(ORDERS)))).has('code'))
    const web = { client_id: 'web' }
    assert.equal((await answer(buildUrl('openid', [ORDERS], web))).get('error'), 'invalid_target')
  })

  test('Nothing else may repeat', async () => {
    const url = buildUrl('openid orders:read', [ORDERS, RISK])
    url.searchParams.append('nonce', 'again')
    assert.equal((await answer(url)).get('error'), 'invalid_request')
  })

  test('No right for the named resource: invalid_scope, before and after sign-in', async () => {
    assert.equal((await answer(buildUrl('openid Platform/Market', [ORDERS]))).get('error'), 'invalid_scope')
    await place.stores.users.setRoles(place.aliceId, ['reader'])
    try {
      assert.equal((await answer(buildUrl('openid orders:write', [ORDERS]))).get('error'), 'invalid_scope')
    } finally {
      await place.stores.users.setRoles(place.aliceId, ['reader', 'orderer'])
    }
  })

  test('A token from the authorization endpoint is for one target', async () => {
    const token = { response_type: 'token' }
    const one = await answer(buildUrl('openid orders:write', [], token))
    assert.deepEqual(decodeClaims(one.get('access_token') ?? '').aud, [ORDERS, 'identity'])
    const mixed = await answer(buildUrl('openid Platform/Market orders:write', [], token))
    assert.deepEqual(decodeClaims(mixed.get('access_token') ?? '').aud, ['identity', 'platform'])
    assert.equal(mixed.get('scope'), 'openid Platform/Market')
    assert.equal((await answer(buildUrl('orders:write risk', [], token))).get('error'), 'invalid_target')
  })

  for (const [language, expected] of [
    ['de', 'Orders aufgeben'],
    ['en', 'Place &amp; change orders'],
  ] as const)
    test(`Consent is by API, in ${language}, else in English, else by name`, async () => {
      const agent = place.newAgent({ 'accept-language': language })
      const url = buildUrl(`openid ${OWN}`, [], { client_id: 'desk', prompt: 'consent' })
      const { body } = requirePage(await signIn(agent, requirePage(await agent.get(url)), ALICE))
      const orders = body.slice(body.indexOf('In Order &lt;desk&gt;'), body.indexOf('In Risk'))
      assert.ok(orders.includes(expected) && orders.includes('See orders'), body)
      assert.ok(body.slice(body.indexOf('In Risk')).includes('<span>risk</span>'))
      assert.ok(!body.slice(0, body.indexOf('In Order')).includes(expected))
    })
})
