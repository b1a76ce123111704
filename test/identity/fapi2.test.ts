/** Clients with the FAPI 2.0 Security Profile. The clauses are those of the profile. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { createProofMaker } from '../support/dpop.ts'
import { IN_LONG_RUNS, onEveryEngineInLongRuns, onSqlite } from '../support/engines.ts'
import { ecPair, rsaPair, signJwt, toJwk } from '../support/foreign-issuer.ts'
import { addOperator, decodeHeader, PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import {
  ALICE,
  authorizeUrl,
  type Changes,
  decodeClaims,
  newVerifier,
  openSignInPlace,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { visit } from '../support/visitor.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const CALLBACK = 'https://bank.example.com/callback'
const rsa = rsaPair()
const ec = ecPair()
const BANK: ClientMetadata = {
  client_id: 'bank',
  profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [toJwk(rsa.publicKey, { kid: 'rsa' }), toJwk(ec.publicKey, { kid: 'ec' })] },
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: 'openid offline_access Platform/Market',
  skip_consent: true,
}

/** A client that does everything right, unless it is told otherwise. */
function createBank(place: SignInPlace) {
  const { issuer } = place.server
  const key = createProofMaker()
  const agent = place.newAgent()
  const seconds = () => Math.floor(place.clock() / 1000)
  const assertion = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
    const own = { iss: 'bank', sub: 'bank', aud: issuer, jti: randomUUID(), iat: seconds(), exp: seconds() + 60 }
    const used = { alg: 'PS256', kid: 'rsa', ...header }
    return signJwt(used, used.kid === 'ec' ? ec.privateKey : rsa.privateKey, { ...own, ...claims })
  }
  const proof = (path: string) => key.prove({ method: 'POST', url: issuer + path, now: place.clock() })
  const post = async (path: string, form: Changes, headers: Record<string, string> = {}) => {
    const authentication = { client_assertion_type: JWT_BEARER, client_assertion: form.client_assertion ?? assertion() }
    const all = Object.entries({ ...authentication, ...form })
    const body = new URLSearchParams(all.filter((entry): entry is [string, string] => entry[1] !== undefined))
    const response = await fetch(issuer + path, { method: 'POST', headers, body })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const { verifier, challenge } = newVerifier()
  const ORDINARY = {
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid offline_access Platform/Market',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const push = (form: Changes = {}) => post('/connect/par', { ...ORDINARY, ...form })
  return {
    assertion,
    push,
    post,
    /** The parameters of the authorization response. */
    async authorize(form: Changes = {}) {
      const { status, body } = await push(form)
      assert.equal(status, 201, JSON.stringify(body))
      const url = new URL(`${issuer}/connect/authorize`)
      url.search = new URLSearchParams({ client_id: 'bank', request_uri: body.request_uri ?? '' }).toString()
      return readAnswer((await visit(agent, await agent.get(url), ALICE)).end)
    },
    redeem: (code: string | undefined, headers: Record<string, string> = { dpop: proof('/connect/token') }) =>
      post(
        '/connect/token',
        { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier },
        headers,
      ),
    ask: (form: Changes, headers: Record<string, string> = { dpop: proof('/connect/token') }) =>
      post('/connect/token', form, headers),
  }
}

onEveryEngineInLongRuns('the FAPI 2.0 Security Profile', (at) => {
  let place: SignInPlace
  let bank: ReturnType<typeof createBank>
  before(async () => {
    const flags = { '--signing-algs': 'RS256,ES256,PS256' }
    place = await openSignInPlace(at(), { flags, clients: [BANK] })
    bank = createBank(place)
  })
  after(() => place.close())

  test('§5.3.2: pushed, S256, iss, bound tokens, and the first algorithm of the profile in signing_algs', async () => {
    const answer = await bank.authorize({ state: 's'.repeat(512), nonce: 'n'.repeat(512) })
    assert.equal(answer.get('iss'), place.server.issuer)
    assert.equal(answer.get('state'), 's'.repeat(512))
    const { status, body } = await bank.redeem(answer.get('code'))
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.token_type, 'DPoP')
    assert.equal(decodeHeader(body.access_token ?? '').alg, 'ES256')
    assert.equal(decodeHeader(body.id_token ?? '').alg, 'ES256')
    assert.equal(decodeClaims(body.id_token ?? '').nonce, 'n'.repeat(512))
    assert.equal(typeof decodeClaims(body.access_token ?? '').cnf, 'object')
  })

  test('§5.3.2.2: a request that is not pushed, or without S256, is refused', async () => {
    const agent = place.newAgent()
    const plain = { client_id: 'bank', redirect_uri: CALLBACK, code_challenge: 'a'.repeat(43) }
    const url = authorizeUrl(place.server.issuer, { ...plain, code_challenge_method: 'S256' })
    assert.equal(readAnswer(await agent.get(url)).get('error'), 'invalid_request')
    for (const form of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
      { redirect_uri: `${CALLBACK}/` },
    ]) {
      const { status, body } = await bank.push(form)
      assert.deepEqual([status, body.error], [400, 'invalid_request'], JSON.stringify(form))
    }
    assert.equal((await bank.push({ response_type: 'code id_token', nonce: 'n' })).body.error, 'unauthorized_client')
    assert.equal((await bank.push({ state: undefined, nonce: undefined })).status, 201)
  })

  test('§5.3.2.1: an assertion is for the issuer as a text, and by PS256, ES256 or EdDSA', async () => {
    const { issuer } = place.server
    for (const aud of [[issuer], `${issuer}/connect/token`, `${issuer}/connect/par`, [issuer, 'https://other.example']])
      assert.equal((await bank.push({ client_assertion: bank.assertion({ aud }) })).status, 401, String(aud))
    assert.equal((await bank.push({ client_assertion: bank.assertion({}, { alg: 'RS256' }) })).status, 401)
    assert.equal((await bank.push({ client_assertion: bank.assertion({}, { alg: 'ES256', kid: 'ec' }) })).status, 201)
  })

  test('§5.3.2.1: no token is issued without a proof', async () => {
    const { status, body } = await bank.redeem((await bank.authorize()).get('code'), {})
    assert.deepEqual([status, body.error], [400, 'invalid_dpop_proof'])
    const credentials = { grant_type: 'client_credentials', scope: 'Platform/Market' }
    assert.equal((await bank.ask(credentials, {})).body.error, 'invalid_dpop_proof')
    assert.equal((await bank.ask(credentials)).body.token_type, 'DPoP')
  })

  test('§5.3.2.1: a code is valid for 60 seconds', async () => {
    const answer = await bank.authorize()
    place.clock.advance(60_001)
    assert.equal((await bank.redeem(answer.get('code'))).body.error, 'invalid_grant')
  })

  test('§5.3.2.1: a refresh repeats the same refresh token, however often, and extends it; a new key is welcome', async () => {
    const first = (await bank.redeem((await bank.authorize()).get('code'))).body
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    const other = createProofMaker()
    for (const maker of [undefined, undefined, other]) {
      place.clock.advance(20 * 86_400_000)
      const url = `${place.server.issuer}/connect/token`
      const headers = maker && { dpop: maker.prove({ method: 'POST', url, now: place.clock() }) }
      const { status, body } = await bank.ask(form, headers)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.refresh_token, first.refresh_token)
      assert.equal(body.token_type, 'DPoP')
    }
    assert.equal((await bank.ask(form, {})).body.error, 'invalid_dpop_proof')
  })

  test('a refresh token that was rotated before the client had the profile is not accepted again', async () => {
    const { body } = await bank.redeem((await bank.authorize()).get('code'))
    const token = body.refresh_token ?? ''
    const found = await place.stores.refreshTokens.find(token)
    assert.ok(found !== undefined)
    await place.stores.refreshTokens.rotate(token, found, { idleMs: 60_000, graceMs: 0 })
    const form = { grant_type: 'refresh_token', refresh_token: token }
    assert.equal((await bank.ask(form)).body.error, 'invalid_grant')
  })
})

onSqlite('a client with the FAPI profile is registered', (at) => {
  let gate: TestGate
  before(async () => {
    gate = await startGate(at(), { flags: { '--signing-algs': 'RS256,EdDSA' } })
    await addOperator(gate)
  })
  after(() => gate.stop())

  test('by an administrator: a rule that it breaks is refused with the path of the member', async () => {
    const { access_token } = await gate.signIn({ client_id: 'console', username: 'olivia', password: PASSWORD })
    const call = async (method: string, path: string, body: object) => {
      const response = await fetch(`${gate.server.issuer}/admin/clients${path}`, {
        method,
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json', 'if-match': '*' },
        body: JSON.stringify(body),
      })
      return { status: response.status, text: await response.text() }
    }
    const created = await call('POST', '', BANK)
    assert.equal(created.status, 201, created.text)
    assert.doesNotMatch(created.text, /client_secret/)
    for (const [patch, path] of [
      [{ redirect_uris: ['http://localhost/callback'] }, 'redirect_uris[0]'],
      [{ token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method'],
      [{ grant_types: ['authorization_code', 'password'] }, 'grant_types[1]'],
      [{ access_token_alg: 'RS256' }, 'access_token_alg'],
      [{ access_token_alg: 'PS256' }, 'access_token_alg'],
      [{ require_pushed_authorization_requests: false }, 'require_pushed_authorization_requests'],
      [{ profile: 'fapi1' }, 'profile'],
    ] as const) {
      const { status, text } = await call('PATCH', '/bank', patch)
      assert.equal(status, 422, text)
      assert.ok(text.includes(path), `${path}: ${text}`)
    }
    assert.equal((await call('PATCH', '/bank', { profile: null, redirect_uris: ['http://localhost/cb'] })).status, 200)
    const secret = await call('POST', '/bank/secrets', {})
    assert.equal(secret.status, 409, secret.text)
  })
})

onSqlite('a rate limit at the token endpoint', (at) => {
  test('does not extend the code of a client with the FAPI profile', IN_LONG_RUNS, async (t) => {
    const flags = { '--signing-algs': 'RS256,ES256', '--limit-token': 'user=1/60', '--limit-exempt': '' }
    const place = await openSignInPlace(at(), { flags, clients: [BANK] })
    t.after(() => place.close())
    const bank = createBank(place)
    const [first, second] = [await bank.authorize(), await bank.authorize()]
    assert.equal((await bank.redeem(first.get('code'))).status, 200)
    assert.equal((await bank.redeem(second.get('code'))).status, 429)
    place.clock.advance(61_000)
    assert.equal((await bank.redeem(second.get('code'))).body.error, 'invalid_grant')
  })
})
