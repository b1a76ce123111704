/** DPoP (RFC 9449) over HTTP: bound tokens, proofs and their faults, nonces, replays. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createProofMaker, type ProofWishes } from '../support/dpop.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Answer, basic, decodeClaims, PASSWORD, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'

const SERVICE = { authorization: basic('service', SECRET) }
const CREDENTIALS = { grant_type: 'client_credentials', scope: 'Platform/Market Platform/Admin' }
const FOR_ALICE = { grant_type: 'password', username: 'alice', password: PASSWORD }

onEveryEngineInLongRuns('DPoP', (place, engine) => {
  let gate: TestGate
  let other: TestGate | undefined
  const clock = createTestClock(Math.ceil(Date.now() / 1000) * 1000)
  const key = createProofMaker()
  before(async () => {
    gate = await startGate(place(), { clock })
    await gate.stores.clients.put({
      client_id: 'bound',
      grant_types: ['client_credentials'],
      scope: 'Platform/Market',
      dpop_bound_access_tokens: true,
    })
    await gate.stores.clients.addSecret('bound', SECRET)
    if (engine === 'postgres') other = await startGate(place(), { clock, flags: { '--issuer': gate.server.issuer } })
  })
  after(async () => {
    await other?.stop()
    await gate.stop()
  })

  const buildUrl = (path: string) => `${gate.server.issuer}${path}`
  const prove = (path: string, wishes: Partial<ProofWishes> = {}, maker = key) =>
    maker.prove({ url: buildUrl(path), now: clock(), ...wishes })
  const askToken = (form: Record<string, string>, dpop: string, headers: Record<string, string> = SERVICE) =>
    gate.post('/connect/token', form, { ...headers, dpop })
  const tokenProof = (wishes: Partial<ProofWishes> = {}, maker = key) =>
    prove('/connect/token', { method: 'POST', ...wishes }, maker)
  /** A token of the confidential client. */
  const boundToken = async (maker = key): Promise<string> => {
    const answer = await askToken(CREDENTIALS, tokenProof({}, maker))
    assert.equal(answer.status, 200, answer.text)
    return String(answer.body.access_token)
  }
  const query = (accessToken: string, dpop: string | undefined, scheme = 'DPoP') =>
    fetch(buildUrl('/query'), {
      method: 'POST',
      body: 'SELECT Name FROM CatalogueTables LIMIT 1',
      headers: {
        authorization: `${scheme} ${accessToken}`,
        'content-type': 'text/plain; charset=utf-8',
        ...(dpop === undefined ? {} : { dpop }),
      },
    })
  const queryProof = (accessToken: string, wishes: Partial<ProofWishes> = {}, maker = key) =>
    prove('/query', { method: 'POST', accessToken, ...wishes }, maker)
  const requireNonce = ({ headers }: { headers: Headers }): string => {
    const nonce = headers.get('dpop-nonce')
    assert.ok(nonce, 'the response has a nonce')
    return nonce
  }
  const assertRefused = ({ status, body }: Answer, error: string) =>
    assert.deepEqual([status, body.error], [400, error], JSON.stringify(body))

  // The first: refusals of other tests count towards the same limits, for minutes of the server's time.
  test('strangers who name a client cannot keep its stolen proofs out of the audit log', async () => {
    clock.advance(60_000)
    const token = await boundToken()
    const stolen = queryProof(token)
    assert.equal((await query(token, stolen)).status, 200)
    const refused = () =>
      gate.database.db.selectFrom('audit_log').selectAll().where('event', '=', 'proof.refused').execute()
    const before = (await refused()).length
    // Each of them names the client, and is another kind of refusal.
    for (let n = 0; n < 12; n++) await askToken(CREDENTIALS, 'nonsense')
    for (let n = 0; n < 110; n++) await askToken({ ...CREDENTIALS, client_id: `other-${n}` }, 'nonsense', {})
    assert.equal((await query(token, stolen)).status, 401)
    const isStolen = ({ client, actor, details }: Awaited<ReturnType<typeof refused>>[number]) =>
      client === 'service' && actor === 'service' && details.includes('it was used before')
    await until('the stolen proof is recorded', 5000, async () => (await refused()).slice(before).some(isStolen))
    const named = (await refused()).slice(before).filter(({ client, actor }) => client === 'service' && actor === null)
    assert.equal(named.length, 10)
  })

  test('§5: a proof at the token endpoint gives a token that is bound to its key, in every algorithm', async () => {
    for (const alg of ['ES256', 'PS256', 'EdDSA'] as const) {
      const maker = createProofMaker(alg)
      const { status, body } = await askToken(CREDENTIALS, tokenProof({}, maker))
      assert.deepEqual([status, body.token_type], [200, 'DPoP'])
      assert.deepEqual(decodeClaims(String(body.access_token)).cnf, { jkt: maker.thumbprint })
      const token = String(body.access_token)
      assert.equal((await query(token, queryProof(token, {}, maker))).status, 200, alg)
    }
    const header = { alg: 'Ed25519' }
    assert.equal((await askToken(CREDENTIALS, tokenProof({ header }, createProofMaker('EdDSA')))).status, 200)
    const plain = await gate.post('/connect/token', CREDENTIALS, SERVICE)
    assert.equal(plain.body.token_type, 'Bearer')
    assert.equal(decodeClaims(String(plain.body.access_token)).cnf, undefined)
  })

  test('§5.2: a client that is registered for bound tokens gets no others', async () => {
    const form = { grant_type: 'client_credentials' }
    const headers = { authorization: basic('bound', SECRET) }
    assertRefused(await gate.post('/connect/token', form, headers), 'invalid_dpop_proof')
    const answer = await gate.post('/connect/token', form, { ...headers, dpop: tokenProof() })
    assert.equal(answer.body.token_type, 'DPoP')
  })

  test('§4.3: each fault of a proof is named', async () => {
    const rsa = (bytes: number, e = 'AQAB') => ({
      header: { alg: 'PS256', jwk: { kty: 'RSA', n: Buffer.alloc(bytes, 0xff).toString('base64url'), e } },
    })
    const rs256 = createProofMaker('RS256')
    const other = createProofMaker()
    const [head = '', body = ''] = tokenProof().split('.')
    const faults: [string, string][] = [
      ['it is missing', ''],
      ['there is more than one', `${tokenProof()}, ${tokenProof()}`],
      ['it is longer', tokenProof({ claims: { pad: 'x'.repeat(4096) } })],
      ['it is not a JWT', 'nonsense'],
      ['typ is not dpop+jwt', tokenProof({ header: { typ: 'JWT' } })],
      ['alg is not ES256', tokenProof({ header: { alg: 'none' } })],
      ['alg is not ES256', tokenProof({ header: { alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } } })],
      ['alg is not ES256', tokenProof({}, rs256)],
      ['alg does not fit', tokenProof({ header: { alg: 'PS256' } })],
      ['jwk is missing', tokenProof({ header: { jwk: undefined } })],
      ['jwk is not a public key', tokenProof({ header: { jwk: { ...key.jwk, d: 'AAAA' } } })],
      ['jwk is not a public key', tokenProof({ header: { jwk: { kty: 'oct', k: 'AAAA' } } })],
      ['jwk has 1024 bits', tokenProof(rsa(128))],
      ['jwk has more than 4096 bits', tokenProof(rsa(513))],
      ['exponent', tokenProof(rsa(256, 'AQAAAAAAAAAB'))],
      ['jti is missing', tokenProof({ claims: { jti: undefined } })],
      ['jti is longer', tokenProof({ claims: { jti: 'x'.repeat(257) } })],
      ['htm', tokenProof({ method: 'GET' })],
      ['htu', tokenProof({ url: buildUrl('/connect/introspect') })],
      ['htu', tokenProof({ url: 'https://elsewhere.example/connect/token' })],
      ['iat is missing', tokenProof({ claims: { iat: undefined } })],
      ['iat is too long ago', tokenProof({ now: clock() - 5 * 60_000 })],
      ['iat is in the future', tokenProof({ now: clock() + 5 * 60_000 })],
      ['signature', tokenProof({ header: { jwk: other.jwk } })],
      ['signature', `${head}.${body}.AAAA`],
    ]
    for (const [text, proof] of faults) {
      const answer = await askToken(CREDENTIALS, proof)
      assertRefused(answer, 'invalid_dpop_proof')
      assert.ok(String(answer.body.error_description).includes(text), `${answer.body.error_description}: ${text}`)
    }
  })

  test('§4.3: htu is normalised, and may name any origin of the server', async () => {
    const { port, host } = new URL(gate.server.issuer)
    for (const url of [
      `HTTP://LOCALHOST:${port}/connect/token`,
      `http://127.0.0.1:${port}/connect/./token`,
      `http://${host}/Connect/%74oken?ignored#too`,
    ])
      assert.equal((await askToken(CREDENTIALS, tokenProof({ url }))).status, 200, url)
  })

  test('§7.1: a proof is for its own token, key, method and address', async () => {
    const token = await boundToken()
    const second = await boundToken()
    for (const proof of [
      undefined,
      queryProof(second),
      queryProof(token, {}, createProofMaker()),
      queryProof(token, { method: 'GET' }),
      queryProof(token, { url: buildUrl('/feeds') }),
      queryProof(token, { claims: { ath: undefined } }),
    ]) {
      const response = await query(token, proof)
      assert.equal(response.status, 401)
      assert.match(
        response.headers.get('www-authenticate') ?? '',
        /^DPoP .*invalid_dpop_proof.*algs="ES256 PS256 Ed25519 EdDSA"/,
      )
      assert.partialDeepStrictEqual(await response.json(), { Code: 'Auth.InvalidProof' })
    }
  })

  test('§7.1: a bound token is not a bearer token, and a bearer token takes no proof', async () => {
    const token = await boundToken()
    const { body } = await gate.post('/connect/token', CREDENTIALS, SERVICE)
    const bearer = String(body.access_token)
    for (const path of ['/connect/userinfo', '/query', '/feeds', '/saved', '/admin/users', '/metrics']) {
      const asBearer = await gate.get(path, { authorization: `Bearer ${token}` })
      if (asBearer.status === 404) continue
      assert.equal(asBearer.status, 401, path)
      assert.match(asBearer.headers.get('www-authenticate') ?? '', /^DPoP .*error="invalid_token"/, path)
      const dpop = prove(path, { accessToken: bearer })
      const asBound = await gate.get(path, { authorization: `DPoP ${bearer}`, dpop })
      assert.equal(asBound.status, 401, path)
      assert.match(asBound.headers.get('www-authenticate') ?? '', /^DPoP .*error="invalid_token"/, path)
    }
    const none = await gate.get('/feeds')
    assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer .*, DPoP algs=/)
  })

  test('§11.1: a proof counts once, however many come at once', async () => {
    const token = await boundToken()
    const proof = queryProof(token)
    const replies = await Promise.all(Array.from({ length: 20 }, () => query(token, proof)))
    assert.equal(replies.filter(({ status }) => status === 200).length, 1)
    const dpop = tokenProof()
    const nodes = other === undefined ? [gate] : [gate, other]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (nodes[n % nodes.length] ?? gate).post('/connect/token', CREDENTIALS, { ...SERVICE, dpop }),
      ),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, 'invalid_dpop_proof')
  })

  test('§8: a public client needs a nonce, and its clock does not matter', async () => {
    const form = { ...FOR_ALICE, client_id: 'cli' }
    const asked = await askToken(form, tokenProof(), {})
    assertRefused(asked, 'use_dpop_nonce')
    const nonce = requireNonce(asked)
    const answer = await askToken(form, tokenProof({ nonce, now: clock() - 5 * 60_000 }), {})
    assert.deepEqual([answer.status, answer.body.token_type], [200, 'DPoP'], answer.text)
    assert.equal(answer.headers.get('dpop-nonce'), null)
    const token = String(answer.body.access_token)
    const withoutNonce = await query(token, queryProof(token))
    assert.equal(withoutNonce.status, 401)
    assert.match(withoutNonce.headers.get('www-authenticate') ?? '', /^DPoP .*error="use_dpop_nonce"/)
    assert.equal(requireNonce(withoutNonce), nonce)
    const proof = queryProof(token, { nonce })
    assert.equal((await query(token, proof)).status, 200)
    assert.equal((await query(token, proof)).status, 401, 'a nonce does not make a proof count twice')
    clock.advance(5 * 60_000)
    const later = await query(token, queryProof(token, { nonce }))
    assert.equal(later.status, 200)
    assert.notEqual(requireNonce(later), nonce)
    clock.advance(5 * 60_000)
    assert.equal((await query(token, queryProof(token, { nonce }))).status, 401)
  })

  test('§8: a proof that lacks a nonce is not used up, and neither is the refresh token', async () => {
    const form = { ...FOR_ALICE, client_id: 'cli', scope: 'offline_access Platform/Market' }
    const nonce = requireNonce(await askToken(form, tokenProof(), {}))
    const first = await askToken(form, tokenProof({ nonce }), {})
    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body.refresh_token), client_id: 'cli' }
    assertRefused(await askToken(refresh, tokenProof(), {}), 'use_dpop_nonce')
    const jti = 'used-in-a-request-that-was-asked-for-a-nonce'
    assertRefused(await askToken(refresh, tokenProof({ claims: { jti } }), {}), 'use_dpop_nonce')
    const second = await askToken(refresh, tokenProof({ nonce, claims: { jti } }), {})
    assert.equal(second.status, 200, second.text)
  })

  test('§5: a refresh token of a public client is bound to its key; a confidential client may change its key', async () => {
    const form = { ...FOR_ALICE, scope: 'offline_access Platform/Market' }
    const nonce = requireNonce(await askToken({ ...form, client_id: 'cli' }, tokenProof(), {}))
    const stranger = createProofMaker()
    const ofPublic = await askToken({ ...form, client_id: 'cli' }, tokenProof({ nonce }), {})
    const refresh = { grant_type: 'refresh_token', refresh_token: String(ofPublic.body.refresh_token) }
    const asPublic = { ...refresh, client_id: 'cli' }
    assertRefused(await gate.post('/connect/token', asPublic), 'invalid_dpop_proof')
    assertRefused(await askToken(asPublic, tokenProof({ nonce }, stranger), {}), 'invalid_grant')
    const renewed = await askToken(asPublic, tokenProof({ nonce }), {})
    assert.deepEqual([renewed.status, renewed.body.token_type], [200, 'DPoP'])
    const ofService = await askToken(form, tokenProof())
    const again = { grant_type: 'refresh_token', refresh_token: String(ofService.body.refresh_token) }
    const byStranger = await askToken(again, tokenProof({}, stranger))
    assert.equal(byStranger.status, 200, byStranger.text)
    assert.deepEqual(decodeClaims(String(byStranger.body.access_token)).cnf, { jkt: stranger.thumbprint })
  })

  test('§6.2: introspection tells the key; userinfo, feeds, saved queries and administration take proofs', async () => {
    const token = await boundToken()
    const seen = await gate.post('/connect/introspect', { token }, SERVICE)
    assert.partialDeepStrictEqual(seen.body, { active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } })
    for (const [path, status] of [
      ['/feeds', 200],
      ['/saved', 200],
      ['/admin/users', 403],
      ['/connect/userinfo', 403],
    ] as const) {
      const dpop = prove(path, { accessToken: token })
      const reply = await gate.get(path, { authorization: `DPoP ${token}`, dpop })
      assert.equal(reply.status, status, `${path} ${reply.text}`)
    }
    const answer = await askToken({ ...FOR_ALICE, scope: 'openid' }, tokenProof())
    const alice = String(answer.body.access_token)
    const info = () => prove('/connect/userinfo', { accessToken: alice })
    const headers = (dpop: string) => ({ authorization: `DPoP ${alice}`, dpop })
    assert.equal((await gate.get('/connect/userinfo', headers(info()))).body.sub, gate.aliceId)
    const bad = await gate.get('/connect/userinfo', headers(prove('/connect/userinfo')))
    assert.deepEqual([bad.status, bad.body.error], [401, 'invalid_dpop_proof'])
    assert.match(bad.headers.get('www-authenticate') ?? '', /^DPoP .*invalid_dpop_proof/)
  })

  test('FAPI: x-fapi-interaction-id comes back from resources, also with errors; bound tokens always get one', async () => {
    const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
    const sent = '6f6dd5ae-6ed0-4f9b-9f0a-7cbf9f1f0c3e'
    const plain = String((await gate.post('/connect/token', CREDENTIALS, SERVICE)).body.access_token)
    const ask = async (path: string, headers: Record<string, string>) => {
      const reply = await gate.get(path, headers)
      return [reply.status, reply.headers.get('x-fapi-interaction-id')]
    }
    const bearer = { authorization: `Bearer ${plain}` }
    for (const [path, status] of [
      ['/feeds', 200],
      ['/query?statement=SELECT%201%20AS%20n', 406],
      ['/connect/userinfo', 403],
      ['/admin/users', 403],
    ] as const) {
      assert.deepEqual(await ask(path, { ...bearer, 'x-fapi-interaction-id': sent }), [status, sent], path)
      assert.deepEqual(await ask(path, bearer), [status, null], path)
    }
    assert.deepEqual(await ask('/feeds', { 'x-fapi-interaction-id': sent }), [401, sent])
    const [, replaced] = await ask('/feeds', { ...bearer, 'x-fapi-interaction-id': 'no UUID' })
    assert.match(String(replaced), UUID)
    const token = await boundToken()
    const proven = { authorization: `DPoP ${token}`, dpop: prove('/feeds', { accessToken: token }) }
    const [status, made] = await ask('/feeds', proven)
    assert.equal(status, 200)
    assert.match(String(made), UUID)
  })
})
