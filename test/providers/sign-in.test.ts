/** Sign-ins through another OpenID provider: who may, who is created, linked, invited, and what the session says. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { openProviderPlace, type ProviderPlace, readCode, takeUp } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { ALICE, decodeClaims, readAnswer } from '../support/sign-in-place.ts'
import { type Departure, type Page, requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

onEveryEngineInLongRuns('sign-in through a provider', (at) => {
  let place: ProviderPlace
  let stub: StubProvider
  before(async () => {
    stub = await startStubProvider('/realms/main')
    place = await openProviderPlace(at())
    stub.clock = place.clock
    await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })
  })
  after(async () => {
    await place.close()
    await stub.stop()
  })
  let count = 0
  beforeEach(() => {
    stub.lies = {}
    stub.more = {}
    const sub = `subject-${++count}`
    stub.person = { sub, preferred_username: `person-${count}`, email: `${sub}@example.com`, groups: ['gatehouse'] }
  })

  const CREATE = { provision: 'create', require: { groups: ['gatehouse'] } }
  const requestIdToken = (end: Page | Departure) => decodeClaims(readAnswer(end).get('id_token') ?? '')
  const readUser = async (end: Page | Departure) => place.stores.users.findById(String(requestIdToken(end).sub))

  test('the request has PKCE, a nonce and a state of 256 bits, and passes prompt, max_age and login_hint on', async () => {
    await place.declare(stub, CREATE)
    const plain = await place.start(place.newAgent())
    assert.equal(plain.origin + plain.pathname, `${stub.issuer}/authorize`)
    const asked = Object.fromEntries(plain.searchParams)
    assert.partialDeepStrictEqual(asked, {
      response_type: 'code',
      client_id: 'gatehouse',
      redirect_uri: `${place.server.issuer}/external/corp/callback`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    })
    assert.equal(Buffer.from(asked.state ?? '', 'base64url').length, 32)
    assert.ok(asked.nonce && asked.code_challenge && asked.nonce !== asked.state)
    assert.ok(!('prompt' in asked) && !('max_age' in asked))
    const full = await place.start(place.newAgent(), { prompt: 'login', max_age: '300', login_hint: 'ann' })
    assert.partialDeepStrictEqual(Object.fromEntries(full.searchParams), {
      prompt: 'login',
      max_age: '300',
      login_hint: 'ann',
    })
    const none = await place
      .newAgent()
      .get(
        `${place.server.issuer}/connect/authorize?client_id=trusted&redirect_uri=https://trusted.example.com/cb&response_type=code&scope=openid&prompt=none`,
      )
    assert.equal(readAnswer(none).get('error'), 'login_required')
  })

  test('create: the user is named by username_claim, and the next sign-in finds the same one by iss and sub', async () => {
    await place.declare(stub, CREATE)
    const first = await place.signIn(place.newAgent(), stub)
    const user = await readUser(first)
    assert.equal(user?.username, stub.person.preferred_username)
    assert.equal(user?.profile.email, stub.person.email)
    assert.equal(user?.profile.email_verified, false)
    assert.deepEqual(requestIdToken(first).amr, ['fed'])
    assert.equal(requestIdToken(first).acr, '1')
    stub.person = { ...stub.person, preferred_username: 'renamed', email: 'other@example.com' }
    const second = await place.signIn(place.newAgent(), stub)
    assert.equal(requestIdToken(second).sub, user?.id)
  })

  test('create: a taken name is refused, and its user is untouched', async () => {
    await place.declare(stub, CREATE)
    stub.person = { ...stub.person, preferred_username: 'ALICE', email: 'alice@example.com', email_verified: true }
    const end = requirePage(await place.signIn(place.newAgent(), stub))
    assert.deepEqual([end.status, readCode(end)], [409, 'identity.name_taken'])
    assert.deepEqual(await place.stores.identities.listOfUser(place.aliceId), [])
  })

  test('two first sign-ins of one person at once make one user', async () => {
    await place.declare(stub, CREATE)
    const [one, two] = await Promise.all([place.signIn(place.newAgent(), stub), place.signIn(place.newAgent(), stub)])
    assert.equal(requestIdToken(one).sub, requestIdToken(two).sub)
  })

  test('nOAuth: the e-mail address and the name of a person find nobody', async () => {
    await place.declare(stub, { trust_email: true })
    stub.person = { ...stub.person, preferred_username: 'alice', email: 'alice@example.com', email_verified: true }
    const end = requirePage(await place.signIn(place.newAgent(), stub))
    assert.deepEqual([end.status, readCode(end)], [403, 'identity.not_linked'])
  })

  test('require holds at every sign-in, and is read at userinfo where the ID token lacks the claim', async () => {
    await place.declare(stub, CREATE)
    const { groups: _, ...without } = stub.person
    stub.person = without
    stub.more = { groups: ['other', 'gatehouse'] }
    assert.ok(await readUser(await place.signIn(place.newAgent(), stub)))
    stub.more = { groups: ['other'] }
    const end = requirePage(await place.signIn(place.newAgent(), stub))
    assert.deepEqual([end.status, readCode(end)], [403, 'identity.not_allowed'])
    stub.more = { groups: ['gatehouse'] }
    stub.lies.userinfo = (claims) => ({ ...claims, sub: 'somebody else' })
    assert.equal(readCode(await place.signIn(place.newAgent(), stub)), 'provider.bad_answer')
  })

  test('a disabled user is refused', async () => {
    await place.declare(stub, CREATE)
    const user = await readUser(await place.signIn(place.newAgent(), stub))
    await place.admin('PATCH', `/admin/users/${user?.id}`, { disabled: true })
    const end = requirePage(await place.signIn(place.newAgent(), stub))
    assert.deepEqual([end.status, readCode(end)], [403, 'identity.disabled'])
  })

  test('rules give roles and attributes at every sign-in, beside those of operators', async () => {
    await place.admin('POST', '/admin/attributes', { name: 'desk', type: 'Text', many: true })
    await place.declare(stub, {
      ...CREATE,
      rules: [
        { claim: 'groups', value: 'fx', role: 'trader' },
        { claim: '/org/desk', attribute: 'desk' },
      ],
    })
    stub.person = { ...stub.person, groups: ['gatehouse', 'fx'], org: { desk: ['FX', 'Rates'] } }
    const user = await readUser(await place.signIn(place.newAgent(), stub))
    assert.deepEqual(user?.roles, ['trader'])
    assert.deepEqual(user?.roleSources.get('trader'), ['provider:corp'])
    const { body } = await place.admin('GET', `/admin/users/${user?.id}`)
    assert.deepEqual(body.role_sources, { trader: ['provider:corp'] })
    assert.deepEqual(user?.attributes, { desk: ['FX', 'Rates'] })
    await place.admin('PATCH', `/admin/users/${user?.id}`, { roles: ['reader', 'trader'] })
    stub.person = { ...stub.person, groups: ['gatehouse'], org: {} }
    const again = await readUser(await place.signIn(place.newAgent(), stub))
    assert.deepEqual(again?.roles, ['reader'])
    assert.deepEqual(again?.attributes, {})
  })

  test('amr has mfa only if a trusted value came; auth_time is that of the provider', async () => {
    await place.declare(stub, { ...CREATE, trust_mfa: { amr: ['mfa'], acr: ['gold'] } })
    const then = Math.floor(place.clock() / 1000) - 1000
    stub.person = { ...stub.person, amr: ['pwd', 'mfa'], auth_time: then }
    const claims = requestIdToken(await place.signIn(place.newAgent(), stub))
    assert.deepEqual([claims.amr, claims.acr, claims.auth_time], [['fed', 'mfa'], '2', then])
    stub.person = { ...stub.person, amr: ['pwd'], acr: 'gold' }
    assert.deepEqual(requestIdToken(await place.signIn(place.newAgent(), stub)).amr, ['fed', 'mfa'])
    stub.person = { ...stub.person, acr: 'silver' }
    assert.deepEqual(requestIdToken(await place.signIn(place.newAgent(), stub)).amr, ['fed'])
    await place.declare(stub, CREATE)
    stub.person = { ...stub.person, sub: 'another', preferred_username: 'another', amr: ['mfa'], acr: 'gold' }
    assert.deepEqual(requestIdToken(await place.signIn(place.newAgent(), stub)).amr, ['fed'])
  })

  test('invited: a set-up link is taken up through the provider, once', async () => {
    await place.declare(stub, { provision: 'invited', require: { groups: ['gatehouse'] } })
    const { body } = await place.admin('POST', '/admin/links', { username: `invited-${count}` })
    const agent = place.newAgent()
    const left = await takeUp(agent, String(body.url))
    assert.equal(left.kind, 'left')
    const account = requirePage(await agent.get(stub.answer(left.url)))
    assert.equal(account.url.pathname, '/account')
    assert.match(account.body, new RegExp(`invited-${count}`))
    const again = await place.newAgent().get(String(body.url))
    assert.equal(requirePage(again).status, 410)
    // A stranger without a link stays out.
    stub.person = { ...stub.person, sub: 'stranger' }
    assert.equal(readCode(await place.signIn(place.newAgent(), stub)), 'identity.not_linked')
  })

  test('an address that a browser follows, or a form of another site, takes up no set-up link', async () => {
    await place.declare(stub, { provision: 'invited' })
    const { body } = await place.admin('POST', '/admin/links', { username: `tricked-${count}` })
    const token = new URL(String(body.url)).searchParams.get('token') ?? ''
    const followed = requirePage(
      await place.newAgent().get(`/external/corp/start?${new URLSearchParams({ invitation: token })}`),
    )
    assert.equal(followed.status, 400)
    const posted = requirePage(await place.newAgent().post('/external/corp/invitation', [['token', token]]))
    assert.equal(posted.status, 403)
    assert.equal((await takeUp(place.newAgent(), String(body.url))).kind, 'left')
  })

  test('an unknown identity is offered a local sign-in, and linked when its user confirms', async () => {
    await place.declare(stub, {})
    const agent = place.newAgent()
    const refused = requirePage(await place.signIn(agent, stub))
    const way = /id="way-on" href="([^"]+)"/.exec(refused.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const confirm = requirePage(await signIn(agent, requirePage(await agent.get(way)), ALICE))
    assert.equal(confirm.url.pathname, '/external/corp/confirm')
    const [form] = confirm.forms
    assert.ok(form)
    const end = await agent.submit(
      form,
      {},
      form.buttons.find(({ value }) => value === 'link'),
    )
    assert.equal(requestIdToken(end).sub, place.aliceId)
    assert.equal(requestIdToken(await place.signIn(place.newAgent(), stub)).sub, place.aliceId)
    const [identity] = await place.stores.identities.listOfUser(place.aliceId)
    assert.equal(identity?.label, stub.person.email)
    await place.admin('DELETE', `/admin/users/alice/identities/${identity?.id}`)
    assert.equal(readCode(await place.signIn(place.newAgent(), stub)), 'identity.not_linked')
  })

  test('a name or login_hint of a listed domain leads to the provider, without a password; ?local asks for one', async () => {
    await place.declare(stub, { ...CREATE, domains: ['example.com'] })
    const hinted = await place.start(place.newAgent(), { login_hint: 'Bob@Example.com' })
    assert.equal(hinted.searchParams.get('login_hint'), 'Bob@Example.com')
    const agent = place.newAgent()
    const typed = requirePage(
      await signIn(agent, requirePage(await agent.get('/account')), { username: 'bob@example.com', password: '' }),
    )
    const onward = /id="leave" href="([^"]+)"/.exec(typed.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const left = await agent.get(onward)
    assert.equal(left.kind === 'left' && left.url.searchParams.get('login_hint'), 'bob@example.com')
    const local = place.newAgent()
    const page = requirePage(await local.get('/sign-in?local'))
    const wrong = requirePage(await signIn(local, page, { username: 'bob@example.com', password: 'x' }))
    assert.equal(wrong.status, 401)
  })

  test('lifetime bounds the session and its refresh tokens', async () => {
    await place.declare(stub, { ...CREATE, lifetime: '1 hour' })
    const agent = place.newAgent()
    const end = await place.signIn(agent, stub, {
      response_type: 'code',
      scope: 'openid offline_access',
    })
    const response = await fetch(`${place.server.issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('trusted:a client secret that is long enough'.replaceAll(' ', '+'))}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: readAnswer(end).get('code') ?? '',
        redirect_uri: 'https://trusted.example.com/cb',
      }),
    })
    const tokens = Object(await response.json())
    assert.equal(response.status, 200, JSON.stringify(tokens))
    const session = String(decodeClaims(String(tokens.id_token)).sid)
    const [row] = await place.database.db
      .selectFrom('refresh_tokens')
      .selectAll()
      .orderBy('issued_at', 'desc')
      .limit(1)
      .execute()
    assert.ok(row && row.expires_at <= place.clock() + 3_600_000)
    const stored = await place.stores.sessions.findById(session)
    assert.ok(stored && stored.expiresAt <= place.clock() + 3_600_000)
  })

  test('linking on the account page; unlinking needs another way in', async () => {
    await place.declare(stub, {})
    const agent = place.newAgent()
    await signIn(agent, requirePage(await agent.get('/account')), ALICE)
    const section = requirePage(await agent.get('/account/security'))
    const form = section.forms.find(({ action }) => action.pathname === '/external/corp/link')
    assert.ok(form)
    const leaving = requirePage(await agent.submit(form))
    const onward = /id="leave" href="([^"]+)"/.exec(leaving.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const left = await agent.get(onward)
    assert.equal(left.kind, 'left')
    assert.equal(left.url.searchParams.get('prompt'), 'login')
    const confirm = requirePage(await agent.get(stub.answer(left.url)))
    const [ask] = confirm.forms
    assert.ok(ask)
    const done = requirePage(
      await agent.submit(
        ask,
        {},
        ask.buttons.find(({ value }) => value === 'link'),
      ),
    )
    assert.equal(done.url.pathname + done.url.search, '/account/security?done=linked')
    const [identity] = await place.stores.identities.listOfUser(place.aliceId)
    const question = requirePage(await agent.get(`/external/corp/unlink?identity=${identity?.id}`))
    const [unlink] = question.forms
    assert.ok(unlink)
    assert.equal(requirePage(await agent.submit(unlink)).url.search, '?done=unlinked')
    assert.deepEqual(await place.stores.identities.listOfUser(place.aliceId), [])
    // Somebody with nothing else keeps the identity.
    await place.declare(stub, CREATE)
    const only = place.newAgent()
    const user = await readUser(await place.signIn(only, stub))
    const [own] = await place.stores.identities.listOfUser(user?.id ?? '')
    const last = requirePage(await only.get(`/external/corp/unlink?identity=${own?.id}`))
    const refused = requirePage(await only.submit(last.forms[0] ?? assert.fail()))
    assert.deepEqual([refused.status, readCode(refused)], [409, 'identity.last_way'])
  })
})
