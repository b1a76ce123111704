/** ID-JAG: the provider of a firm vouches for its users to an agent. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type DocumentServer, ecPair, rsaPair, serveDocuments, signJwt, toJwk } from '../../support/foreign-issuer.ts'
import {
  type Answer,
  addOperator,
  basic,
  decodeClaims,
  SECRET,
  startGate,
  type TestGate,
} from '../../support/identity.ts'
import { createTestClock } from '../../support/server.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const SCOPE = 'Platform/Market Platform/News'
const [key, other] = [rsaPair(), ecPair()]

onEveryEngineInLongRuns('ID-JAG', (place) => {
  let gate: TestGate
  let firm: DocumentServer
  let issuer: string
  const clock = createTestClock()
  before(async () => {
    firm = await serveDocuments()
    firm.documents.set('/.well-known/openid-configuration', {
      ...{ issuer: firm.origin, jwks_uri: `${firm.origin}/keys` },
      authorization_endpoint: `${firm.origin}/authorize`,
      token_endpoint: `${firm.origin}/token`,
    })
    firm.documents.set('/keys', { keys: [toJwk(key.publicKey, { kid: 'one' })] })
    gate = await startGate(place(), { clock, flags: { '--mcp': 'true' } })
    issuer = gate.server.issuer
    await addOperator(gate)
    await declare({ id: 'firm', issuer: firm.origin, agents: true })
    await declare({ id: 'other', issuer: 'https://other.example' })
    const grant = { grant_types: [JWT_BEARER], scope: `openid ${SCOPE} Platform/Trading` }
    await gate.stores.clients.put({ client_id: 'assistant', ...grant })
    await gate.stores.clients.put({ client_id: 'second', ...grant })
    await gate.stores.clients.put({ client_id: 'public', ...grant, token_endpoint_auth_method: 'none' })
    for (const id of ['assistant', 'second']) await gate.stores.clients.addSecret(id, SECRET)
    const linked = { provider: 'firm', issuer: firm.origin, label: 'alice' }
    await gate.stores.identities.add({ ...linked, subject: 'alice-there', userId: gate.aliceId })
  })
  after(async () => {
    await gate.stop()
    await firm.close()
  })

  async function declare(provider: object): Promise<void> {
    const { access_token: token } = await gate.signIn({ username: 'olivia', client_id: 'console' })
    const response = await fetch(`${issuer}/admin/providers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        client_id: 'gate',
        client_secret: 'a-secret-of-the-provider',
        private: true,
        ...provider,
      }),
    })
    assert.equal(response.status, 201, await response.text())
  }

  let serial = 0
  const assertion = (changes: object = {}, header: object = {}, signing = key.privateKey, alg = 'RS256') => {
    const iat = Math.floor(clock() / 1000)
    const claims = {
      ...{ iss: firm.origin, sub: 'alice-there', aud: issuer, resource: `${issuer}/mcp`, client_id: 'assistant' },
      ...{ jti: `jti-${++serial}`, iat, exp: iat + 300, scope: SCOPE },
      ...changes,
    }
    return signJwt({ typ: 'oauth-id-jag+jwt', alg, kid: 'one', ...header }, signing, claims)
  }
  const redeem = (text: string, form: Record<string, string> = {}, client = 'assistant'): Promise<Answer> =>
    gate.post(
      '/connect/token',
      { grant_type: JWT_BEARER, assertion: text, ...form },
      { authorization: basic(client, SECRET) },
    )

  test('a linked user is vouched for: a token for agents, 15 minutes, no refresh token, no page', async () => {
    const { status, body, text } = await redeem(assertion())
    assert.equal(status, 200, text)
    assert.deepEqual(
      [body.scope, body.refresh_token, body.id_token, body.expires_in],
      [SCOPE, undefined, undefined, 900],
    )
    const { aud, sub, client_id: client } = decodeClaims(String(body.access_token))
    assert.deepEqual([aud, sub, client], [`${issuer}/mcp`, gate.aliceId, 'assistant'])
    const [found] = await gate.stores.grants.page({ limit: 1, agent: true })
    assert.deepEqual([found?.grant.kind, found?.grant.userId], ['jwt_bearer', gate.aliceId])
  })

  test('the scopes of assertion, client, user and request alike', async () => {
    const scopes = async (changes: object, form: Record<string, string> = {}) =>
      (await redeem(assertion(changes), form)).body.scope ?? 'none'
    assert.equal(await scopes({ scope: 'Platform/News Platform/Trading Platform/Admin' }), 'Platform/News')
    assert.equal(await scopes({}, { scope: 'Platform/Market openid' }), 'Platform/Market')
    assert.equal(await scopes({ scope: undefined }), SCOPE)
    assert.equal((await redeem(assertion({ scope: 'Platform/Trading' }))).body.error, 'invalid_scope')
  })

  test('RFC 8414: what the server says; that of OpenID says nothing', async () => {
    const { body } = await gate.get('/.well-known/oauth-authorization-server')
    assert.ok((body.grant_types_supported as string[]).includes(JWT_BEARER))
    assert.equal((await gate.get('/.well-known/openid-configuration')).text.includes('jwt-bearer'), false)
  })

  test('RFC 7523 §3: a jti is used once, on all nodes; a refused assertion can be sent again', async () => {
    const text = assertion()
    assert.equal((await redeem(text, { scope: 'email' })).body.error, 'invalid_scope')
    assert.equal((await redeem(text)).status, 200)
    assert.equal((await redeem(text)).body.error, 'invalid_grant')
    const both = assertion()
    const replies = await Promise.all([redeem(both), redeem(both), redeem(both)])
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 400, 400])
  })

  test('Hostile: other kinds of tokens, audiences, resources, clients, times, keys and people', async () => {
    const now = Math.floor(clock() / 1000)
    const cases: Record<string, string> = {
      'another typ': assertion({}, { typ: 'JWT' }),
      'no typ': assertion({}, { typ: undefined }),
      'another aud': assertion({ aud: `${issuer}/connect/token` }),
      'two auds': assertion({ aud: [issuer, 'https://other.example'] }),
      'another resource': assertion({ resource: `${issuer}/query` }),
      'two resources': assertion({ resource: [`${issuer}/mcp`, `${issuer}/query`] }),
      'no resource': assertion({ resource: undefined }),
      'another client': assertion({ client_id: 'second' }),
      'no client': assertion({ client_id: undefined }),
      'six minutes': assertion({ exp: now + 361 }),
      expired: assertion({ iat: now - 300, exp: now }),
      'no iat': assertion({ iat: undefined }),
      'iat ahead': assertion({ iat: now + 120, exp: now + 300 }),
      'nbf ahead': assertion({ nbf: now + 120 }),
      'no jti': assertion({ jti: undefined }),
      'a number as jti': assertion({ jti: 7 }),
      'nobody here': assertion({ sub: 'bob-there' }),
      'no sub': assertion({ sub: undefined }),
      'another issuer': assertion({ iss: 'https://other.example' }),
      'an unknown issuer': assertion({ iss: 'https://evil.example' }),
      'a slash more': assertion({ iss: `${firm.origin}/` }),
      'another key': assertion({}, {}, other.privateKey, 'ES256'),
      'no signature': assertion().replace(/[^.]*$/, ''),
      'alg none': `${Buffer.from('{"alg":"none","typ":"oauth-id-jag+jwt"}').toString('base64url')}.${assertion().split('.')[1]}.`,
      'no JWT': 'x',
      'a scope that is no text': assertion({ scope: ['Platform/News'] }),
    }
    for (const [name, text] of Object.entries(cases)) {
      const { status, body } = await redeem(text)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], name)
    }
    assert.equal((await redeem(assertion(), {}, 'second')).body.error, 'invalid_grant')
    assert.equal((await redeem(assertion(), { resource: `${issuer}/query` })).body.error, 'invalid_target')
    const form = { grant_type: JWT_BEARER, assertion: assertion({ client_id: 'public' }), client_id: 'public' }
    assert.equal((await gate.post('/connect/token', form)).body.error, 'unauthorized_client')
    const users = await gate.stores.users.findByUsername('bob-there')
    assert.equal(users, undefined)
  })

  test('a user who is disabled, needs two factors, or is not linked any longer gets nothing', async () => {
    const { stores, aliceId } = gate
    await stores.roles.put({ name: 'strict', scopes: ['Platform/News'], description: '', requireSecondFactor: true })
    const roles = (await stores.users.findById(aliceId))?.roles ?? []
    await stores.users.setRoles(aliceId, [...roles, 'strict'])
    assert.equal((await redeem(assertion())).body.error, 'invalid_grant')
    await stores.users.setRoles(aliceId, [...roles])
    assert.equal((await redeem(assertion())).status, 200)
    await stores.users.update(aliceId, { disabled: true })
    assert.equal((await redeem(assertion())).body.error, 'invalid_grant')
    await stores.users.update(aliceId, { disabled: false })
    const [identity] = await stores.identities.listOfUser(aliceId)
    await stores.identities.remove(aliceId, identity?.id ?? '')
    assert.equal((await redeem(assertion())).body.error, 'invalid_grant')
  })
})
