/** Providers that lie, answers that were stolen or made up, and addresses that lead inside: every one of them is refused. */
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type ProviderPlace, readCode, takeUp } from '../support/providers/provider-place.ts'
import { useStubPlace } from '../support/providers/stub-place.ts'
import { type Claims, type Lies, type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { ALICE } from '../support/sign-in-place.ts'
import { type Departure, type Page, requirePage } from '../support/user-agent.ts'
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

async function attempt(changes = {}): Promise<Page> {
  return requirePage(await place.signIn(place.newAgent(), stub, changes))
}

/** A change of the claims of a good ID token. */
const claims = (change: (truth: Claims) => Claims): Lies => ({ claims: (truth) => ({ ...truth, ...change(truth) }) })

const REFUSED: readonly (readonly [what: string, lies: () => Lies, code: string])[] = [
  ['alg none', () => ({ idToken: (truth) => `${unsigned(truth, { alg: 'none' })}.` }), 'provider.bad_answer'],
  ['HS256 with the client secret', () => ({ idToken: (truth) => hmac(truth, stub.secret) }), 'provider.bad_answer'],
  ['HS256 with the public key', () => ({ idToken: (truth) => hmac(truth, publicPem()) }), 'provider.bad_answer'],
  [
    'the key of a stranger',
    () => ({ idToken: (truth) => stub.sign(truth, {}, attacker.privateKey) }),
    'provider.bad_answer',
  ],
  [
    'jku and jwk in the header',
    () => ({
      idToken: (truth) =>
        stub.sign(
          truth,
          { kid: 'mine', jku: `${stub.issuer}/evil`, jwk: attacker.publicKey.export({ format: 'jwk' }) },
          attacker.privateKey,
        ),
    }),
    'provider.bad_answer',
  ],
  ['crit in the header', () => ({ idToken: (truth) => stub.sign(truth, { crit: ['exp'] }) }), 'provider.bad_answer'],
  [
    'an access token as ID token',
    () => ({ idToken: (truth) => stub.sign(truth, { typ: 'at+jwt' }) }),
    'provider.bad_answer',
  ],
  [
    'a logout token as ID token',
    () => ({ idToken: (truth) => stub.sign(truth, { typ: 'logout+jwt' }) }),
    'provider.bad_answer',
  ],
  ['iss with a slash', () => claims(({ iss }) => ({ iss: `${iss}/` })), 'provider.bad_answer'],
  ['iss in another case', () => claims(({ iss }) => ({ iss: String(iss).toUpperCase() })), 'provider.bad_answer'],
  ['another iss', () => claims(() => ({ iss: 'https://id.example.com' })), 'provider.bad_answer'],
  ['another aud', () => claims(() => ({ aud: 'another' })), 'provider.bad_answer'],
  ['a second aud', () => claims(({ aud }) => ({ aud: [aud, 'another'] })), 'provider.bad_answer'],
  ['no aud', () => claims(() => ({ aud: [] })), 'provider.bad_answer'],
  ['another azp', () => claims(() => ({ azp: 'another' })), 'provider.bad_answer'],
  ['an ID token that has expired', () => claims(() => ({ exp: seconds() - 61 })), 'provider.bad_answer'],
  ['no exp', () => claims(() => ({ exp: undefined })), 'provider.bad_answer'],
  ['iat in the future', () => claims(() => ({ iat: seconds() + 90 })), 'provider.bad_answer'],
  ['nbf in the future', () => claims(() => ({ nbf: seconds() + 90 })), 'provider.bad_answer'],
  ['another nonce', () => claims(() => ({ nonce: 'another' })), 'provider.bad_answer'],
  ['no nonce', () => claims(() => ({ nonce: undefined })), 'provider.bad_answer'],
  ['at_hash of another token', () => claims(() => ({ at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' })), 'provider.bad_answer'],
  ['no sub', () => claims(() => ({ sub: '' })), 'provider.bad_answer'],
  ['a sub of 256 characters', () => claims(() => ({ sub: 's'.repeat(256) })), 'provider.bad_answer'],
  ['a sub that is a number', () => claims(() => ({ sub: 1 })), 'provider.bad_answer'],
  ['auth_time in the future', () => claims(() => ({ auth_time: seconds() + 90 })), 'provider.bad_answer'],
  ['no ID token', () => ({ token: () => ({ body: { access_token: 'x' } }) }), 'provider.bad_answer'],
  [
    'a token endpoint that refuses',
    () => ({ token: () => ({ status: 400, body: { error: '<b>no</b>' } }) }),
    'provider.bad_answer',
  ],
  ['a token endpoint that redirects', () => ({ token: () => ({ status: 307, body: {} }) }), 'provider.bad_answer'],
  ['a token endpoint that fails', () => ({ token: () => ({ status: 500, body: {} }) }), 'provider.unavailable'],
  ['an answer of 2 MiB', () => ({ token: () => ({ body: 'x'.repeat(2 * 2 ** 20) }) }), 'provider.unavailable'],
  [
    'mix-up: another iss in the answer',
    () => ({ answer: (truth) => ({ ...truth, iss: 'https://other.example.com' }) }),
    'provider.bad_answer',
  ],
  ['no code', () => ({ answer: ({ state = '' }) => ({ state }) }), 'provider.bad_answer'],
  [
    'refused there',
    () => ({ answer: ({ state = '' }) => ({ state, error: 'access_denied', error_description: '<script>' }) }),
    'provider.refused',
  ],
  [
    'unavailable there',
    () => ({ answer: ({ state = '' }) => ({ state, error: 'temporarily_unavailable' }) }),
    'provider.unavailable',
  ],
  ['another state', () => ({ answer: (truth) => ({ ...truth, state: 'A'.repeat(43) }) }), 'provider.state'],
  ['no state', () => ({ answer: ({ code = '' }) => ({ code }) }), 'provider.state'],
  ['no username', () => claims(() => ({ preferred_username: undefined })), 'provider.bad_answer'],
  ['a username that looks like an id', () => claims(() => ({ preferred_username: 'usr_abc' })), 'provider.bad_answer'],
]

const STATUS: Readonly<Record<string, number>> = {
  'provider.bad_answer': 502,
  'provider.unavailable': 503,
  'provider.refused': 403,
  'provider.state': 400,
}

test('no lie of a provider signs anybody in, and its texts are not shown', async (t) => {
  await place.declare(stub, CREATE)
  for (const [what, lies, code] of REFUSED)
    await t.test(what, async () => {
      stub.lies = lies()
      const page = await attempt()
      assert.deepEqual([readCode(page), page.status], [code, STATUS[code]])
      assert.match(page.body, /id="request-id">/)
      assert.doesNotMatch(page.body, /<script>|<b>no/)
      const known = await place.stores.identities.find(stub.issuer, String(stub.person.sub))
      assert.equal(known, undefined)
    })
  stub.lies = {}
  assert.equal((await place.signIn(place.newAgent(), stub)).kind, 'left')
})

test('issuer confusion: metadata of another issuer, by slash, case or name, are refused', async () => {
  for (const [index, change] of [
    (iss: string) => `${iss}/`,
    (iss: string) => iss.replace('http', 'HTTP'),
    () => 'x',
  ].entries()) {
    // A provider of its own each: metadata are cached.
    const other = await startStubProvider(`/${index}`)
    other.lies = { metadata: (document) => ({ ...document, issuer: change(other.issuer) }) }
    await place.declare(other, CREATE)
    const page = await startAnew()
    assert.deepEqual([readCode(page), requirePage(page).status], ['provider.bad_answer', 502])
    await other.stop()
  }
})

test('RFC 9207: iss must be there if the metadata promise it', async () => {
  const other = await startStubProvider()
  other.clock = place.clock
  other.lies = { metadata: (document) => ({ ...document, authorization_response_iss_parameter_supported: true }) }
  await place.declare(other, CREATE)
  other.person = stub.person
  assert.equal(readCode(await place.signIn(place.newAgent(), other)), 'provider.bad_answer')
  other.lies.answer = (truth) => ({ ...truth, iss: other.issuer })
  assert.equal((await place.signIn(place.newAgent(), other)).kind, 'left')
  await other.stop()
})

test('a state works once, in its browser, for its provider, for ten minutes', async () => {
  const other = await startStubProvider()
  await place.declare(other, { ...CREATE, id: 'other' })
  await place.declare(stub, CREATE)
  const agent = place.newAgent()
  const answer = stub.answer(await place.start(agent))
  const foreign = requirePage(await place.newAgent().get(answer))
  assert.deepEqual([readCode(foreign), foreign.status], ['provider.state', 400])
  const mixed = new URL(answer)
  mixed.pathname = '/external/other/callback'
  assert.equal(readCode(await agent.get(mixed)), 'provider.state')
  assert.equal((await agent.get(answer)).kind, 'left')
  assert.equal(readCode(await agent.get(answer)), 'provider.state')
  const both = stub.answer(await place.start(place.newAgent()))
  assert.equal(readCode(await place.newAgent().get(both)), 'provider.state')
  const late = place.newAgent()
  const old = stub.answer(await place.start(late, { prompt: 'login' }))
  place.clock.advance(601_000)
  assert.equal(readCode(await late.get(old)), 'provider.state')
  await place.admin('DELETE', '/admin/providers/other')
  await other.stop()
})

test('max_age: an older authentication, or one of unknown age, is refused', async () => {
  await place.declare(stub, CREATE)
  stub.person = { ...stub.person, auth_time: seconds() - 400 }
  assert.equal(readCode(await attempt({ max_age: '300' })), 'provider.bad_answer')
  const { auth_time: _, ...without } = stub.person
  stub.person = without
  assert.equal(readCode(await attempt({ max_age: '300' })), 'provider.bad_answer')
  stub.person = { ...stub.person, auth_time: seconds() - 10 }
  assert.equal((await place.signIn(place.newAgent(), stub, { max_age: '300' })).kind, 'left')
})

test('SSRF: without private, nothing is sent to loopback, whether by address or by a name that leads there', async () => {
  const seen = stub.seen.length
  for (const issuer of [
    `https://127.0.0.1:${stub.port}`,
    `https://localhost:${stub.port}`,
    `https://[::1]:${stub.port}`,
  ]) {
    await place.declare({ ...stub, issuer }, { ...CREATE, private: false })
    const page = requirePage(await startAnew())
    assert.deepEqual([readCode(page), page.status], ['provider.unavailable', 503])
  }
  assert.equal(stub.seen.length, seen)
  const plain = await place.admin('POST', '/admin/providers', {
    ...{ id: 'plain', issuer: stub.issuer, client_id: 'x', client_secret: 'y' },
  })
  assert.equal(plain.status, 422)
})

test('an outage of the provider: its page says so, and other ways in work; a rotated key is found', async () => {
  const other = await startStubProvider()
  other.clock = place.clock
  other.person = stub.person
  await place.declare(other, CREATE)
  assert.equal((await place.signIn(place.newAgent(), other)).kind, 'left')
  other.rotate()
  // An unknown key id has the keys fetched again, at most once a minute.
  place.clock.advance(61_000)
  assert.equal((await place.signIn(place.newAgent(), other)).kind, 'left')
  const agent = place.newAgent()
  const answer = other.answer(await place.start(agent))
  await other.stop()
  const page = requirePage(await agent.get(answer))
  assert.deepEqual([readCode(page), page.status], ['provider.unavailable', 503])
  const way = /id="way-on" href="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.equal((await signIn(agent, requirePage(await agent.get(way)), ALICE)).kind, 'left')
})

/** Goes to the provider with an agent that has no flow yet: its page is the answer. */
async function startAnew(): Promise<Page | Departure> {
  const { body } = await place.admin('POST', '/admin/links', { username: `somebody-${Math.random()}` })
  return takeUp(place.newAgent(), String(body.url))
}

function unsigned(truth: Claims, header: Claims): string {
  return [header, truth].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
}

function hmac(truth: Claims, secret: string): string {
  const input = unsigned(truth, { alg: 'HS256' })
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

/** Of the key that signs the ID tokens. */
function publicPem(): string {
  return createPublicKey({ key: stub.publicJwk(), format: 'jwk' }).export({ format: 'pem', type: 'spki' }).toString()
}
