/** Accounts that are linked from old sessions or twice, tenants and domains that are not ours, and logout tokens of any kind. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type ProviderPlace, readCode } from '../support/providers/provider-place.ts'
import { useStubPlace } from '../support/providers/stub-place.ts'
import { type StubProvider, signed, startStubProvider } from '../support/providers/stub-provider.ts'
import { refuseEvents } from '../support/refused-events.ts'
import { ALICE, BOB, decodeClaims, readAnswer } from '../support/sign-in-place.ts'
import { requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

let place: ProviderPlace
let stub: StubProvider
useStubPlace((opened, provider) => {
  place = opened
  stub = provider
})

const CREATE = { provision: 'create', require: { groups: ['gatehouse'] } }
const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 })
const seconds = () => Math.floor(place.clock() / 1000)

test('linking from an old session is refused, before the provider and after it', async () => {
  await place.declare(stub, {})
  const agent = await signedIn(ALICE)
  const form = await linkForm(agent)
  place.clock.advance(601_000)
  const page = requirePage(await agent.submit(form))
  assert.equal(page.url.pathname, '/sign-in')
  const fresh = await signedIn(ALICE)
  const leaving = requirePage(await fresh.submit(await linkForm(fresh)))
  const left = await fresh.get(/id="leave" href="([^"]+)"/.exec(leaving.body)?.[1]?.replaceAll('&amp;', '&') ?? '')
  assert.equal(left.kind, 'left')
  const confirm = requirePage(await fresh.get(stub.answer(left.url)))
  place.clock.advance(601_000)
  const ask = confirm.forms[0] ?? assert.fail(confirm.body)
  const refused = requirePage(
    await fresh.submit(
      ask,
      {},
      ask.buttons.find(({ value }) => value === 'link'),
    ),
  )
  assert.deepEqual([readCode(refused), refused.status], ['provider.state', 400])
  assert.deepEqual(await place.stores.identities.listOfUser(place.aliceId), [])
})

test('one identity linked by two users at once belongs to one of them', async () => {
  await place.declare(stub, {})
  const forms = await Promise.all(
    [ALICE, BOB].map(async (person) => {
      const agent = await signedIn(person)
      const leaving = requirePage(await agent.submit(await linkForm(agent)))
      const left = await agent.get(/id="leave" href="([^"]+)"/.exec(leaving.body)?.[1]?.replaceAll('&amp;', '&') ?? '')
      assert.equal(left.kind, 'left')
      const [form] = requirePage(await agent.get(stub.answer(left.url))).forms
      return { agent, form: form ?? assert.fail() }
    }),
  )
  const ends = await Promise.all(
    forms.map(({ agent, form }) =>
      agent.submit(
        form,
        {},
        form.buttons.find(({ value }) => value === 'link'),
      ),
    ),
  )
  const statuses = ends.map((end) => requirePage(end).status).sort()
  assert.deepEqual(statuses, [200, 409])
  // The other one cannot link it later either.
  const identity = await place.stores.identities.find(stub.issuer, String(stub.person.sub))
  assert.ok(identity)
})

test('Entra: only listed tenants, whose issuer and tid agree; groups that are left out are never "none"', async () => {
  const tenant = '8a3b6f6e-2f0c-4d0e-9a55-0f4b0a1c2d3e'
  const foreign = '11111111-2f0c-4d0e-9a55-0f4b0a1c2d3e'
  const entra = await startStubProvider('/organizations/v2.0', '/{tenantid}/v2.0')
  entra.clock = place.clock
  const of = (id: string) => entra.issuer.replace('{tenantid}', id)
  const person = { sub: 'entra-1', preferred_username: 'entra-person', groups: ['g1'] }
  assert.equal(
    (
      await place.admin('POST', '/admin/providers', {
        id: 'e',
        issuer: entra.issuer,
        client_id: 'x',
        client_secret: 'y',
        private: true,
      })
    ).status,
    422,
  )
  await place.declare(entra, { tenants: [tenant], provision: 'create', require: { groups: ['g1'] } })
  entra.person = { ...person, tid: foreign, iss: of(foreign) }
  assert.equal(readCode(await place.signIn(place.newAgent(), entra)), 'provider.bad_answer')
  entra.person = { ...person, tid: foreign, iss: of(tenant) }
  assert.equal(readCode(await place.signIn(place.newAgent(), entra)), 'provider.bad_answer')
  entra.person = { ...person, iss: entra.issuer, tid: tenant }
  assert.equal(readCode(await place.signIn(place.newAgent(), entra)), 'provider.bad_answer')
  const { groups: _, ...many } = person
  for (const overage of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true }]) {
    entra.person = { ...many, ...overage, tid: tenant, iss: of(tenant) }
    const page = requirePage(await place.signIn(place.newAgent(), entra))
    assert.deepEqual([readCode(page), page.status], ['identity.groups_missing', 403])
  }
  entra.person = { ...person, tid: tenant, iss: of(tenant) }
  assert.equal((await place.signIn(place.newAgent(), entra)).kind, 'left')
  assert.ok(await place.stores.identities.find(of(tenant), 'entra-1'))
  await entra.stop()
})

test('Google: hd is asked for, and the claim decides', async () => {
  await place.declare(stub, { provision: 'create', require: { hd: ['example.com'] } })
  assert.equal((await place.start(place.newAgent())).searchParams.get('hd'), 'example.com')
  stub.person = { ...stub.person, email: 'mallory@example.com', email_verified: true }
  assert.equal(readCode(await place.signIn(place.newAgent(), stub)), 'identity.not_allowed')
  stub.person = { ...stub.person, hd: 'example.com' }
  assert.equal((await place.signIn(place.newAgent(), stub)).kind, 'left')
})

test('a logout token ends the sessions of its sid, else of its identity; no other token does, and none twice', async () => {
  await place.declare(stub, CREATE)
  const session = async (sid: string) => {
    stub.person = { ...stub.person, sid }
    const end = await place.signIn(place.newAgent(), stub)
    return String(decodeClaims(readAnswer(end).get('id_token') ?? '').sid)
  }
  const isOpen = async (id: string) => (await place.stores.sessions.findById(id)) !== undefined
  const logOut = async (token: string) => {
    const response = await fetch(`${place.server.issuer}/external/corp/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    })
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return response.status
  }
  const [one, two, three] = [await session('s1'), await session('s2'), await session('s3')]
  const { sub } = stub.person
  const idToken = stub.sign({
    iss: stub.issuer,
    aud: stub.clientId,
    iat: seconds(),
    exp: seconds() + 60,
    nonce: 'n',
    sub,
    sid: 's1',
  })
  const refused: readonly [string, string][] = [
    ['an ID token', idToken],
    ['an ID token that says it is one', stub.logoutToken({ sub, nonce: 'n' })],
    ['no event', stub.logoutToken({ sub, events: {} })],
    [
      'an event that is no object',
      stub.logoutToken({ sub, events: { 'http://schemas.openid.net/event/backchannel-logout': true } }),
    ],
    ['no sub and no sid', stub.logoutToken({})],
    ['no jti', stub.logoutToken({ sub, jti: undefined })],
    ['another aud', stub.logoutToken({ sub, aud: 'another' })],
    ['another iss', stub.logoutToken({ sub, iss: `${stub.issuer}/` })],
    ['expired', stub.logoutToken({ sub, exp: seconds() - 61 })],
    ['too old', stub.logoutToken({ sub, iat: seconds() - 700, exp: undefined })],
    ['from the future', stub.logoutToken({ sub, iat: seconds() + 90 })],
    ['another type', stub.logoutToken({ sub }, { typ: 'at+jwt' })],
    ['alg none', unsigned(decodeClaims(stub.logoutToken({ sub })))],
    ['a stranger’s key', signed(decodeClaims(stub.logoutToken({ sub })), { alg: 'RS256' }, attacker.privateKey)],
  ]
  for (const [what, token] of refused) assert.equal(await logOut(token), 400, what)
  assert.deepEqual(await Promise.all([one, two, three].map(isOpen)), [true, true, true])
  const good = stub.logoutToken({ sub, sid: 's1' })
  assert.deepEqual((await Promise.all([logOut(good), logOut(good)])).sort(), [200, 400])
  assert.deepEqual(await Promise.all([one, two, three].map(isOpen)), [false, true, true])
  assert.equal(await logOut(stub.logoutToken({ sub: 'somebody else' })), 200)
  assert.equal(await logOut(stub.logoutToken({ sub })), 200)
  assert.deepEqual(await Promise.all([two, three].map(isOpen)), [false, false])
})

test('a logout token whose sessions could not be ended can be sent again', async () => {
  await place.declare(stub, CREATE)
  stub.person = { ...stub.person, sid: 'again' }
  const end = await place.signIn(place.newAgent(), stub)
  const id = String(decodeClaims(readAnswer(end).get('id_token') ?? '').sid)
  const token = stub.logoutToken({ sub: stub.person.sub, sid: 'again' })
  const logOut = async () =>
    (
      await fetch(`${place.server.issuer}/external/corp/backchannel-logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: token }),
      })
    ).status
  const acceptEvents = await refuseEvents(place.database)
  try {
    assert.ok((await logOut()) >= 500)
  } finally {
    await acceptEvents()
  }
  assert.ok(await place.stores.sessions.findById(id))
  assert.deepEqual([await logOut(), await logOut()], [200, 400])
  assert.equal(await place.stores.sessions.findById(id), undefined)
})

async function signedIn(person: { username: string; password: string }): Promise<UserAgent> {
  const agent = place.newAgent()
  await signIn(agent, requirePage(await agent.get('/account')), person)
  return agent
}

async function linkForm(agent: UserAgent) {
  const section = requirePage(await agent.get('/account/security'))
  return section.forms.find(({ action }) => action.pathname === '/external/corp/link') ?? assert.fail(section.body)
}

function unsigned(claims: unknown): string {
  return `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
}
