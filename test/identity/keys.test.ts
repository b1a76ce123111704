/** Tokens and keys: checklist C8, B-30 to B-36, B-71, B-72, C-33, C-52. */
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { openDataFolder } from '../../packages/server/src/store/database/data-folder.ts'
import { addKey } from '../../packages/server/src/store/keys/key-rotation.ts'
import { openMasterKey } from '../../packages/server/src/store/keys/master-key.ts'
import { assertSaysAll } from '../conformance/document-rows.ts'
import { IS_LONG_RUN, onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, decodeClaims, decodeHeader, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock, startTestServer } from '../support/server.ts'

const DAY = 86_400_000
const TOKENS = IS_LONG_RUN ? 1000 : 160

onEveryEngineInLongRuns('tokens and keys', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())

  interface Jwks {
    keys: (JsonWebKey & { kid: string })[]
  }
  const jwks = async (): Promise<Jwks> =>
    (await (await fetch(`${gate.server.issuer}/.well-known/openid-configuration/jwks`)).json()) as Jwks
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const status = async (token: string) => (await gate.userinfo(token)).status

  test('C-104: an access token follows RFC 9068 and has the agreed claims', async () => {
    const { access_token } = await gate.signIn()
    const [key] = (await jwks()).keys
    assert.deepEqual(decodeHeader(access_token), { alg: 'RS256', typ: 'at+jwt', kid: key?.kid })
    const claims = decodeClaims(access_token)
    assert.deepEqual(Object.keys(claims).sort(), [
      'acr',
      'amr',
      'aud',
      'auth_time',
      'client_id',
      'exp',
      'iat',
      'iss',
      'jti',
      'nbf',
      'role',
      'scope',
      'sub',
    ])
    assert.partialDeepStrictEqual(claims, {
      iss: gate.server.issuer,
      sub: gate.aliceId,
      client_id: 'cli',
      amr: ['pwd'],
      role: ['trader'],
    })
    assert.deepEqual([...(claims.aud as string[])].sort(), ['identity', 'platform'])
    assert.equal(Number(claims.exp) - Number(claims.iat), 3600)
    const narrow = await gate.signIn({ scope: 'Platform/News' })
    assert.equal(decodeClaims(narrow.access_token).aud, 'platform')
  })

  test('B-30, B-36: an independent library verifies the ID token with the published keys', async () => {
    const { id_token = '' } = await gate.signIn({ scope: 'openid' })
    const keys = createRemoteJWKSet(new URL(`${gate.server.issuer}/.well-known/openid-configuration/jwks`))
    const { payload, protectedHeader } = await jwtVerify(id_token, keys, {
      issuer: gate.server.issuer,
      audience: 'cli',
      algorithms: ['RS256'],
      currentDate: new Date(clock()),
    })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.equal(payload.sub, gate.aliceId)
    assert.ok(!('azp' in payload))
  })

  test('a client may have a shorter lifetime for its access tokens', async () => {
    await gate.stores.clients.put({
      client_id: 'hasty',
      token_endpoint_auth_method: 'none',
      grant_types: ['password'],
      scope: 'openid',
      access_token_lifetime: 60,
    })
    const tokens = await gate.signIn({ client_id: 'hasty' })
    assert.equal(tokens.expires_in, 60)
    clock.advance(59_000)
    assert.equal(await status(tokens.access_token), 200)
    clock.advance(1000)
    assert.equal(await status(tokens.access_token), 401)
  })

  test('C-100, C-101: alg none in any spelling and HS256 over public values are refused', async () => {
    const { access_token } = await gate.signIn()
    const [, body] = access_token.split('.')
    const { kid, ...rest } = (await jwks()).keys[0] ?? { kid: '' }
    for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
      assert.equal(await status(`${encode({ alg, typ: 'at+jwt', kid })}.${body}.`), 401)
    }
    const pem = createPublicKey({ key: rest, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [pem, JSON.stringify(rest), SECRET]) {
      const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${body}`
      assert.equal(await status(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`), 401)
    }
  })

  test('C-102: keys named or embedded in the header, crit, and odd kids are refused', async () => {
    const { access_token } = await gate.signIn()
    const [, body] = access_token.split('.')
    const { kid = '' } = (await jwks()).keys[0] ?? {}
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const forge = (header: object) => {
      const input = `${encode({ alg: 'RS256', typ: 'at+jwt', ...header })}.${body}`
      return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
    }
    const jwk = publicKey.export({ format: 'jwk' })
    const headers = [
      { kid },
      { kid, jwk },
      { jwk },
      { kid, jku: 'http://127.0.0.1:1/' },
      { kid, x5u: 'http://127.0.0.1:1/' },
      { kid: '../../etc/passwd' },
      { kid: `' or '1'='1` },
      { kid, crit: ['exp'] },
      { kid, b64: false, crit: ['b64'] },
      { kid: 7 },
    ]
    for (const header of headers) assert.equal(await status(forge(header)), 401, JSON.stringify(header))
  })

  test('C-103: tokens of another kind or issuer are refused', async () => {
    const { id_token = '' } = await gate.signIn({ scope: 'openid' })
    assert.equal(await status(id_token), 401)
    const other = await startTestServer(place(), { clock })
    const response = await fetch(`${other.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
      headers: { authorization: basic('service', SECRET) },
    })
    const { access_token } = (await response.json()) as { access_token: string }
    await other.stop()
    const answer = await gate.post(
      '/connect/introspect',
      { token: access_token },
      { authorization: basic('service', SECRET) },
    )
    assert.deepEqual(answer.body, { active: false })
  })

  test(`C-33: of ${TOKENS} access tokens no two have a jti with the same prefix`, async () => {
    const seen = new Set<string>()
    for (let count = 0; count < TOKENS; count += 20) {
      for (const token of await Promise.all(Array.from({ length: 20 }, () => issue(gate.server.issuer)))) {
        const { jti } = decodeClaims(token)
        assert.ok(String(jti).length >= 22)
        seen.add(String(jti).slice(0, 10))
      }
    }
    assert.equal(seen.size, TOKENS)
  })

  test('B-71, C-106: published keys are public, unique, RSA-2048; private keys are stored encrypted, and only the owner can read the master key', async () => {
    const answer = await gate.get('/.well-known/openid-configuration/jwks')
    assert.match(answer.headers.get('cache-control') ?? '', /max-age=\d+/)
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const { keys } = await jwks()
    for (const key of keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
      assert.partialDeepStrictEqual(key, { kty: 'RSA', use: 'sig', alg: 'RS256' })
      assert.equal(Buffer.from(key.n ?? '', 'base64url').length, 256)
      assert.match(`${key.n}${key.e}`, /^[\w-]+$/)
    }
    assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length)
    const rows = await gate.stores.signingKeys.list()
    for (const { sealedPrivateKey } of rows) {
      const bytes = Buffer.from(sealedPrivateKey, 'base64url')
      assert.ok(!bytes.includes(Buffer.from('300d06092a864886f70d010101', 'hex')))
    }
    const file = join(place().dataFolder, 'master.key')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await readFile(file)).length, 32)
  })

  test('B-72: the document of RFC 8414 says all that the OpenID one does, and how else clients authenticate', async () => {
    const one = await gate.get('/.well-known/openid-configuration')
    const { body } = await gate.get('/.well-known/oauth-authorization-server')
    assertSaysAll(body, one.body)
  })

  test('C-106: a new key is published at least a day before it signs, and an old key until its last token has expired', async () => {
    const local = createTestClock(clock())
    /** Due rotations run at every start and every minute. */
    const onRestart = async (look: (issuer: string) => Promise<void>) => {
      const server = await startTestServer(place(), { clock: local, flags: { '--key-rotation': '8' } })
      await look(server.issuer)
      await server.stop()
    }
    const fetchKids = async (issuer: string) =>
      ((await (await fetch(`${issuer}/.well-known/openid-configuration/jwks`)).json()) as Jwks).keys.map(
        ({ kid }) => kid,
      )
    const [old = ''] = await fetchKids(gate.server.issuer)
    local.advance(7 * DAY)
    await onRestart(async (issuer) => {
      assert.equal((await fetchKids(issuer)).length, 2)
      assert.equal(decodeHeader(await issue(issuer)).kid, old)
    })
    local.advance(DAY)
    await onRestart(async (issuer) => {
      const [, next] = await fetchKids(issuer)
      assert.notEqual(next, undefined)
      assert.equal(decodeHeader(await issue(issuer)).kid, next)
      assert.deepEqual(await fetchKids(issuer), [old, next])
    })
    local.advance(DAY)
    await onRestart(async (issuer) => {
      assert.deepEqual((await fetchKids(issuer)).includes(old), false)
    })
    assert.equal((await gate.stores.signingKeys.list()).find(({ kid }) => kid === old)?.sealedPrivateKey, '')
  })

  test('C-52: while keys rotate and nodes restart, no token request fails and every token verifies', async () => {
    let changing = true
    const changes = (async () => {
      const folder = openDataFolder(place().dataFolder)
      const sealingKey = openMasterKey(folder, undefined).derive('signing keys')
      const tending = { keys: gate.stores.signingKeys, sealingKey, rotateEveryMs: 90 * DAY }
      for (let count = 0; count < 3; count++) {
        await addKey(tending, 'RS256', clock(), clock())
        await gate.stores.events.append({ kind: 'keys-changed' })
        const other = await startTestServer(place(), { clock })
        await other.stop()
      }
      changing = false
    })()
    const kids = new Set<unknown>()
    while (changing) {
      const tokens = await Promise.all(Array.from({ length: 10 }, () => issue(gate.server.issuer)))
      for (const token of tokens) {
        kids.add(decodeHeader(token).kid)
        const answer = await gate.post('/connect/introspect', { token }, { authorization: basic('service', SECRET) })
        assert.equal(answer.body.active, true)
      }
    }
    await changes
    assert.ok(kids.size > 1)
  })

  async function issue(issuer: string): Promise<string> {
    const response = await fetch(`${issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
      headers: { authorization: basic('service', SECRET) },
    })
    assert.equal(response.status, 200)
    return ((await response.json()) as { access_token: string }).access_token
  }
})
