/** Keys of several algorithms: each client gets the one that it is registered for, and each algorithm has its own ring. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { algFaults } from '../../packages/server/src/resources/client-algs.ts'
import { rotateDueKeys } from '../../packages/server/src/store/keys/key-rotation.ts'
import { deriveKey } from '../support/derived-key.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { decodeClaims, decodeHeader, PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock, startTestServer } from '../support/server.ts'

const ALL = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
const DAY = 86_400_000
const JWKS = '/.well-known/openid-configuration/jwks'

onEveryEngineInLongRuns('key rings', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  const flags = { '--signing-algs': 'RS256,PS256,ES256,EdDSA' }
  before(async () => {
    gate = await startGate(place(), { clock, flags })
  })
  after(() => gate.stop())

  async function setAlgs(algs: object): Promise<void> {
    const metadata = await gate.stores.clients.metadata('cli')
    assert.ok(metadata !== undefined)
    await gate.stores.clients.put({ ...metadata, ...algs })
    await gate.stores.events.append({ kind: 'clients-changed', clientId: 'cli' })
  }

  async function published(): Promise<{ keys: Record<string, string>[] }> {
    return (await (await fetch(gate.server.issuer + JWKS)).json()) as { keys: Record<string, string>[] }
  }

  test('RFC 7518 §6, RFC 8037 §2: a key of each algorithm is published with the members of its type alone', async () => {
    const { keys } = await published()
    const members = Object.fromEntries(keys.map((key) => [key.alg, Object.keys(key).join()]))
    assert.deepEqual(members, {
      RS256: 'kty,use,alg,kid,n,e',
      PS256: 'kty,use,alg,kid,n,e',
      ES256: 'kty,use,alg,kid,crv,x,y',
      EdDSA: 'kty,use,alg,kid,crv,x',
    })
  })

  for (const alg of ALL)
    test(`tokens of a client with ${alg} verify with the published keys, and are accepted`, async () => {
      await setAlgs({ id_token_signed_response_alg: alg, access_token_alg: alg })
      const keys = createRemoteJWKSet(new URL(gate.server.issuer + JWKS))
      for (;;) {
        const { access_token, id_token = '' } = await gate.signIn({ scope: 'openid' })
        if (decodeHeader(access_token).alg !== alg) continue
        for (const token of [access_token, id_token])
          await jwtVerify(token, keys, { algorithms: [alg], currentDate: new Date(clock()) })
        const digest = hash(alg === 'EdDSA' ? 'sha512' : 'sha256', access_token, 'buffer')
        const half = digest.subarray(0, digest.length / 2).toString('base64url')
        assert.equal(decodeClaims(id_token).at_hash, half, 'OpenID Connect Core §3.1.3.6')
        assert.equal((await gate.userinfo(access_token)).status, 200)
        break
      }
    })

  test('a client is not registered for an algorithm without keys, by the rule of the administration and of the file', async () => {
    const { signingKeys: keys } = gate.stores
    const known = (await keys.list()).filter(({ alg }) => alg !== 'EdDSA')
    assert.deepEqual(algFaults({ access_token_alg: 'ES256' }, known), [])
    for (const member of [
      'access_token_alg',
      'id_token_signed_response_alg',
      'authorization_signed_response_alg',
      'introspection_signed_response_alg',
    ]) {
      const [fault] = algFaults({ [member]: 'EdDSA' }, known)
      assert.equal(fault?.path, member)
      assert.match(fault?.text ?? '', /no signing key for EdDSA: add it to the setting signing_algs/)
    }
    assert.deepEqual(algFaults({ profile: 'fapi2' }, known), [])
    const rsa = known.filter(({ alg }) => alg === 'RS256')
    const [missing] = algFaults({ profile: 'fapi2' }, rsa)
    assert.equal(missing?.path, 'profile')
    assert.match(missing?.text ?? '', /PS256, ES256 or EdDSA: add one of them to the setting signing_algs/)
  })

  test('RFC 8725 §3.1: a key is accepted with its own algorithm only', async () => {
    await setAlgs({ access_token_alg: 'PS256' })
    const { access_token } = await gate.signIn()
    const [, body, signature] = access_token.split('.')
    const header = { ...decodeHeader(access_token), alg: 'RS256' }
    const forged = [Buffer.from(JSON.stringify(header)).toString('base64url'), body, signature].join('.')
    assert.equal((await gate.userinfo(forged)).status, 401)
  })

  test('each ring is rotated by itself, and a ring that is no longer configured ends when its key is due', async () => {
    const { signingKeys: keys } = gate.stores
    const options = { keys, sealingKey: deriveKey('signing keys'), rotateEveryMs: 90 * DAY }
    const later = clock() + 89.5 * DAY
    const first = await rotateDueKeys({ ...options, algs: ['RS256', 'ES256'] }, later)
    assert.deepEqual(first.created.map(({ alg }) => alg).sort(), ['ES256', 'RS256'])
    assert.deepEqual(first.retired, [])
    const { retired } = await rotateDueKeys({ ...options, algs: ['RS256', 'ES256'] }, clock() + 92 * DAY)
    assert.deepEqual(retired.map(({ alg }) => alg).sort(), [...ALL].sort())
  })
})

const CALLBACK = 'https://app.example/callback'

onEveryEngineInLongRuns('a ring added later', (place) => {
  test('is published at once and signs after the five minutes in which its absence may be cached', async () => {
    const clock = createTestClock()
    await (await startTestServer(place(), { clock })).stop()
    const gate = await startGate(place(), { clock, flags: { '--signing-algs': 'RS256,ES256' } })
    try {
      const metadata = await gate.stores.clients.metadata('cli')
      assert.ok(metadata !== undefined)
      await gate.stores.clients.put({ ...metadata, access_token_alg: 'ES256', redirect_uris: [CALLBACK] })
      const jwks = await (await fetch(gate.server.issuer + JWKS)).text()
      assert.match(jwks, /"alg":"ES256"/)
      const request = { grant_type: 'password', username: 'alice', password: PASSWORD, client_id: 'cli' }
      const early = await gate.post('/connect/token', request)
      assert.equal(early.status, 503, early.text)
      assert.equal(early.body.error, 'temporarily_unavailable')
      // A client learns of it before its user has signed in.
      const pushed = { client_id: 'cli', response_type: 'code', redirect_uri: CALLBACK, scope: 'openid' }
      const push = () =>
        gate.post('/connect/par', { ...pushed, code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' })
      const refused = await push()
      assert.deepEqual([refused.status, refused.body.error], [503, 'temporarily_unavailable'], refused.text)
      clock.advance(301_000)
      assert.equal((await push()).status, 201)
      assert.equal(decodeHeader((await gate.signIn()).access_token).alg, 'ES256')
    } finally {
      await gate.stop()
    }
  })
})
