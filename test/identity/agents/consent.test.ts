/** gatehouse-agent and the consent page of agents: who asks, what each right opens, what is left unticked, and how long it lasts. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { ask, connect, decide, postToken, redeem, refresh } from '../../support/agents.ts'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { ALICE, decodeClaims, openSignInPlace, readAnswer, type SignInPlace } from '../../support/sign-in-place.ts'
import { requirePage } from '../../support/user-agent.ts'

const DAY = 24 * 60 * 60_000
const OWN = { client_id: 'notebook', client_name: 'Notebook', agent: true } as const
const CODE = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] } as const

onEveryEngineInLongRuns('consent to agents', (at) => {
  let place: SignInPlace
  let issuer: string
  before(async () => {
    const scope = 'openid email offline_access Platform/Market Platform/News'
    const agent = { ...OWN, ...CODE, redirect_uris: ['https://notebook.example.com/cb'], scope } as const
    const both = {
      ...{ client_id: 'both', redirect_uris: ['https://both.example.com/cb'], ...CODE, scope },
      token_endpoint_auth_method: 'none',
    } as const
    place = await openSignInPlace(at(), {
      flags: { '--mcp': 'true', '--agent-grant-lifetime': String((20 * DAY) / 1000) },
      clients: [{ ...agent, token_endpoint_auth_method: 'none' }, both],
    })
    issuer = place.server.issuer
    await place.stores.roles.put({ name: 'reader', scopes: ['Platform/Market', 'Platform/News'] })
  })
  beforeEach(() => place.stores.users.setRoles(place.aliceId, ['reader']))
  after(() => place.close())

  test('RFC 8252 §7.3: gatehouse-agent gets its answer on any port of loopback, at its three paths', async () => {
    const hosts = ['127.0.0.1', '[::1]', 'localhost']
    for (const [index, path] of ['', '/', '/callback', '/oauth/callback'].entries()) {
      const redirectUri = `http://${hosts[index % 3]}:${40_000 + index}${path}`
      const agent = place.newAgent()
      const { page, verifier } = await ask(agent, { issuer, redirectUri }, ALICE)
      const answer = await decide(agent, page)
      assert.ok(answer.kind === 'left' && answer.url.href.startsWith(redirectUri), answer.url.href)
      const tokens = await redeem({ issuer, redirectUri }, readAnswer(answer).get('code') ?? '', verifier)
      assert.deepEqual(decodeClaims(tokens.access_token).aud, `${issuer}/mcp`)
    }
  })

  test('Hostile: a redirect elsewhere shows an error, and sends the browser nowhere', async () => {
    const tricks = [
      'http://localhost.evil:8080/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://127.0.0.1:8080/callback/../evil',
      'http://127.0.0.1:8080/evil',
      'http://127.0.0.1:8080/callback?to=evil',
      'http://127.0.0.1:8080/callback#evil',
      'http://evil@127.0.0.1:8080/callback',
      'http://127.0.0.1:8080@evil.example/callback',
      'http://127.0.0.1:99999/callback',
      'http://127.1:8080/callback',
      'http://0x7f.0.0.1/callback',
      'http://0.0.0.0:8080/callback',
      'https://127.0.0.1:8080/callback',
      'HTTP://127.0.0.1:8080/callback',
      'http://LOCALHOST:8080/callback',
      'http://127.0.0.1:8080/Callback',
      'http://127.0.0.1:8080//callback',
      'http://[::1%25eth0]:8080/callback',
      'http://127.0.0.1:8080/callback%2f..',
    ]
    for (const redirectUri of tricks) {
      const { page } = await ask(place.newAgent(), { issuer, redirectUri }, ALICE)
      assert.deepEqual([page.kind, requirePage(page).status], ['page', 400], redirectUri)
    }
  })

  test('The page says who asks, and that any program on the device could; each right is a ticked checkbox', async () => {
    const agent = place.newAgent({ 'accept-language': 'en' })
    const { page } = await ask(agent, { issuer }, ALICE)
    const { body, forms } = requirePage(page)
    assert.match(body, /id="agent-host">A program on this device</)
    assert.match(body, /id="agent-warning"/)
    assert.match(body, /127\.0\.0\.1:33418/)
    assert.match(body, /changes nothing/)
    assert.match(body, /20 days/)
    const boxes = forms.flatMap(({ fields }) => fields.filter(({ name }) => name === 'allow'))
    assert.deepEqual(
      boxes.map(({ value, checked, type }) => [value, checked, type]),
      [
        ['Platform/Market', true, 'checkbox'],
        ['Platform/News', true, 'checkbox'],
      ],
    )
    const { page: other } = await ask(
      place.newAgent(),
      { issuer, client: 'notebook', redirectUri: 'https://notebook.example.com/cb' },
      ALICE,
    )
    assert.match(requirePage(other).body, /id="agent-host">notebook\.example\.com</)
    assert.doesNotMatch(requirePage(other).body, /id="agent-warning"/)
  })

  test('Each right names the tables that it opens: ten, then how many more', async () => {
    const { access_token: token } = await operator()
    for (let table = 10; table < 23; table++)
      assert.equal(
        await query(token, `CREATE TABLE wide${table} (id Integer PRIMARY KEY) READ SCOPE 'Platform/News'`),
        200,
      )
    const { page } = await ask(place.newAgent({ 'accept-language': 'en' }), { issuer }, ALICE)
    const [market, news] = requirePage(page)
      .body.split('<li>')
      .filter((part) => part.includes('name="allow"'))
    assert.match(news ?? '', /Tables: wide10, wide11, wide12, .*wide19 and 3 more/)
    assert.doesNotMatch(market ?? '', /wide/)
  })

  test('What is left unticked is not granted, now or by a refresh; what the user loses meanwhile neither', async () => {
    const tokens = await connect(place.newAgent(), { issuer }, ALICE, { without: ['Platform/News'] })
    assert.equal(tokens.scope, 'Platform/Market')
    const again = await refresh(issuer, tokens.refresh_token, 'gatehouse-agent', {
      scope: 'Platform/Market Platform/News',
    })
    assert.deepEqual([again.status, again.body.scope], [200, 'Platform/Market'])
    const agent = place.newAgent()
    const { page, verifier } = await ask(agent, { issuer }, ALICE)
    await place.stores.roles.put({ name: 'newsless', scopes: ['Platform/Market'] })
    await place.stores.users.setRoles(place.aliceId, ['newsless'])
    const code = readAnswer(await decide(agent, page)).get('code') ?? ''
    assert.equal((await redeem({ issuer }, code, verifier)).scope, 'Platform/Market')
  })

  test('Nothing ticked is asked again; a scope that the page did not have is not granted', async () => {
    const agent = place.newAgent()
    const { page, verifier } = await ask(agent, { issuer, changes: { scope: 'Platform/News' } }, ALICE)
    const again = requirePage(await decide(agent, page, { without: ['Platform/News'] }))
    assert.deepEqual([again.status, /error-summary/.test(again.body)], [422, true])
    const form = again.forms.find(({ id }) => id === 'consent')
    assert.ok(form)
    const forged = { name: 'allow', type: 'hidden', value: 'Platform/Market', checked: true }
    const pressed = form.buttons.find(({ value }) => value === 'allow')
    const answer = await agent.submit({ ...form, fields: [...form.fields, forged] }, {}, pressed)
    const tokens = await redeem({ issuer }, readAnswer(answer).get('code') ?? '', verifier)
    assert.equal(tokens.scope, 'Platform/News')
  })

  test('Consent is asked for every time, and prompt=none never gets past it', async () => {
    const agent = place.newAgent()
    for (let time = 0; time < 2; time++) {
      const { page } = await ask(
        agent,
        { issuer, client: 'notebook', redirectUri: 'https://notebook.example.com/cb' },
        ALICE,
      )
      assert.equal(requirePage(page).url.pathname, '/consent')
      assert.ok(readAnswer(await decide(agent, page)).has('code'))
    }
    const { page } = await ask(agent, { issuer, changes: { prompt: 'none' } }, ALICE)
    assert.equal(readAnswer(page).get('error'), 'consent_required')
    const { page: denied } = await ask(agent, { issuer }, ALICE)
    assert.equal(readAnswer(await decide(agent, denied, { decision: 'deny' })).get('error'), 'access_denied')
  })

  test('What a person allows to an agent does not count for what the same client may do otherwise', async () => {
    const agent = place.newAgent()
    const redirectUri = 'https://both.example.com/cb'
    const changes = { claims: '{"userinfo":{"email":null}}', nonce: 'n' }
    const { page } = await ask(agent, { issuer, client: 'both', redirectUri, changes }, ALICE)
    assert.ok(readAnswer(await decide(agent, page)).has('code'))
    assert.equal(await place.stores.consents.find(place.aliceId, 'both'), undefined)
    const plain = { resource: undefined, scope: 'openid email Platform/Market' }
    const { page: other } = await ask(agent, { issuer, client: 'both', redirectUri, changes: plain }, ALICE)
    assert.equal(requirePage(other).url.pathname, '/consent')
    assert.doesNotMatch(requirePage(other).body, /name="allow" value/)
  })

  test('A refresh token comes unasked, rotates, and a used one ends the grant', async () => {
    const tokens = await connect(place.newAgent(), { issuer, changes: { scope: 'Platform/Market' } }, ALICE)
    const first = await refresh(issuer, tokens.refresh_token)
    assert.equal(first.status, 200)
    assert.notEqual(first.body.refresh_token, tokens.refresh_token)
    const second = await refresh(issuer, String(first.body.refresh_token))
    assert.equal(second.status, 200)
    assert.equal((await refresh(issuer, tokens.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await refresh(issuer, String(second.body.refresh_token))).body.error, 'invalid_grant')
  })

  test('It ends after 14 days without use, and after agent_grant_lifetime however often it is used', async () => {
    const unused = await connect(place.newAgent(), { issuer }, ALICE)
    let used = await connect(place.newAgent(), { issuer }, ALICE)
    const step = async () => {
      const reply = await refresh(issuer, used.refresh_token)
      if (reply.status === 200) used = reply.body as unknown as typeof used
      return reply.status
    }
    place.clock.advance(13 * DAY)
    assert.equal(await step(), 200)
    place.clock.advance(DAY + 1)
    assert.equal((await refresh(issuer, unused.refresh_token)).body.error, 'invalid_grant')
    assert.equal(await step(), 200)
    // A grant ends a minute later: the code may have been redeemed so late.
    place.clock.advance(6 * DAY + 60_000)
    assert.equal(await step(), 400)
  })

  test('RFC 7636: without PKCE S256 an agent gets nowhere', async () => {
    for (const changes of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
    ]) {
      const { page } = await ask(place.newAgent(), { issuer, changes }, ALICE)
      assert.equal(readAnswer(page).get('error'), 'invalid_request')
    }
    for (const grant of ['password', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code'])
      assert.equal(
        (await postToken(issuer, { grant_type: grant, client_id: 'gatehouse-agent' })).body.error,
        'unauthorized_client',
      )
  })

  async function operator() {
    await place.stores.roles.put({ name: 'maker', scopes: ['Platform/Admin'] })
    await place.stores.users.setRoles(place.aliceId, ['reader', 'maker'])
    await place.stores.clients.put({
      ...{ client_id: 'maker', token_endpoint_auth_method: 'none', grant_types: ['password'] },
      scope: 'Platform/Admin',
    })
    const reply = await postToken(issuer, { grant_type: 'password', client_id: 'maker', ...ALICE })
    return reply.body as { access_token: string }
  }

  async function query(token: string, body: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
    const response = await fetch(`${issuer}/query`, { method: 'POST', headers, body })
    if (response.status !== 200) assert.fail(await response.text())
    return response.status
  }
})
