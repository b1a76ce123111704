/** Authorization responses as a JWT (JWT Secured Authorization Response Mode for OAuth 2.0, JARM). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, decodeHeader } from '../support/identity.ts'
import {
  ALICE,
  authorizeUrl,
  type Changes,
  CLIENTS,
  decodeClaims,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import type { Departure, Page, UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
const REDIRECT = 'https://trusted.example.com/cb'
const readId = (alg: (typeof ALGS)[number]) => `jarm-${alg}`
const clients: readonly ClientMetadata[] = ALGS.map((alg) => ({
  ...CLIENTS.trusted,
  client_id: readId(alg),
  ...(alg !== 'RS256' && { authorization_signed_response_alg: alg }),
}))

onEveryEngineInLongRuns('JARM', (at) => {
  let place: SignInPlace
  let agent: UserAgent
  let keys: ReturnType<typeof createRemoteJWKSet>
  before(async () => {
    place = await openSignInPlace(at(), { clients, flags: { '--signing-algs': ALGS.join() } })
    agent = place.newAgent()
    keys = createRemoteJWKSet(new URL(`${place.server.issuer}/.well-known/openid-configuration/jwks`))
    await visit(agent, await ask({ prompt: undefined }), ALICE)
  })
  after(() => place.close())

  const usual = (changes: Changes = {}): Changes => ({
    client_id: readId('ES256'),
    redirect_uri: REDIRECT,
    prompt: 'none',
    ...changes,
  })
  const ask = (changes: Changes = {}, by = agent) => by.get(authorizeUrl(place.server.issuer, usual(changes)))

  /** The verified claims of the only parameter of an answer. */
  async function open(end: Page | Departure, audience = readId('ES256')) {
    const answer = readAnswer(end)
    assert.deepEqual([...answer.keys()], ['response'])
    const now = new Date(place.clock())
    const { payload } = await jwtVerify(answer.get('response') ?? '', keys, {
      issuer: place.server.issuer,
      audience,
      currentDate: now,
    })
    assert.equal(payload.exp, Math.floor(place.clock() / 1000) + 60, 'JARM §2.1: a minute')
    return payload
  }

  const findKind = (end: Page | Departure) => {
    if (end.kind === 'page') return 'page'
    return end.method === 'POST' ? 'form_post' : end.url.hash === '' ? 'query' : 'fragment'
  }

  test('JARM §2.3: jwt is the default mode of each response type, and holds the whole answer', async () => {
    for (const [type, mode, ...members] of [
      ['code', 'query', 'code'],
      ['token', 'fragment', 'access_token', 'token_type', 'expires_in'],
      ['id_token', 'fragment', 'id_token'],
      ['id_token token', 'fragment', 'access_token', 'token_type', 'expires_in', 'id_token'],
      ['code id_token', 'fragment', 'code', 'id_token'],
      ['code token', 'fragment', 'code', 'access_token', 'token_type', 'expires_in'],
      ['code id_token token', 'fragment', 'code', 'access_token', 'token_type', 'expires_in', 'id_token'],
    ] as const) {
      const end = await ask({ response_mode: 'jwt', response_type: type })
      assert.equal(findKind(end), mode, type)
      const claims = await open(end)
      const expected = ['iss', 'aud', 'exp', 'state', 'session_state', ...members]
      assert.deepEqual(Object.keys(claims).sort(), expected.sort(), type)
      assert.equal(claims.state, 'st')
    }
  })

  test('JARM §2.3.1 to §2.3.3: query.jwt, fragment.jwt and form_post.jwt', async () => {
    for (const mode of ['query', 'fragment', 'form_post']) {
      const end = await ask({ response_mode: `${mode}.jwt` })
      assert.equal(findKind(end), mode)
      assert.ok((await open(end)).code)
    }
  })

  test('JARM §3: the algorithm is the registered one, or RS256', async () => {
    for (const alg of ALGS) {
      const end = await ask({ response_mode: 'jwt', client_id: readId(alg) })
      assert.deepEqual(decodeHeader(readAnswer(end).get('response') ?? '').alg, alg)
      await open(end, readId(alg))
    }
  })

  test('JARM §2.2: errors are signed too, before and after the request is checked', async () => {
    const stranger = place.newAgent()
    for (const [error, changes, by] of [
      ['login_required', {}, stranger],
      ['invalid_scope', { scope: 'Platform/Unknown' }, agent],
      ['unsupported_response_type', { response_type: 'pizza' }, agent],
      ['invalid_request', { code_challenge: 'short' }, agent],
      ['invalid_request_object', { request: 'e30.e30.e30' }, agent],
    ] as const) {
      const claims = await open(await ask({ response_mode: 'jwt', ...changes }, by))
      assert.deepEqual([claims.error, claims.state], [error, 'st'], JSON.stringify(changes))
      assert.equal(typeof claims.error_description, 'string')
    }
    const denied = await visit(
      stranger,
      await ask({ response_mode: 'form_post.jwt', prompt: 'consent' }, stranger),
      ALICE,
      'refuse',
    )
    assert.equal((await open(denied.end)).error, 'access_denied')
  })

  test('JARM §2.3.1: query.jwt is refused for tokens, by a JWT in the fragment; an unknown mode, plainly', async () => {
    for (const type of ['token', 'id_token', 'code token']) {
      const end = await ask({ response_mode: 'query.jwt', response_type: type })
      assert.equal(findKind(end), 'fragment')
      assert.equal((await open(end)).error, 'invalid_request')
    }
    for (const mode of ['web_message.jwt', 'JWT', 'query.jwt.jwt', '__proto__']) {
      const answer = readAnswer(await ask({ response_mode: mode }))
      assert.deepEqual([...answer.keys()].sort(), ['error', 'error_description', 'iss', 'state'], mode)
      assert.equal(answer.get('error'), 'invalid_request')
    }
  })

  test('an unregistered redirect URI gets no JWT either', async () => {
    assert.equal(findKind(await ask({ response_mode: 'jwt', redirect_uri: 'https://evil.example/cb' })), 'page')
  })

  test('RFC 8725 §3.11: a response is no ID token, access token or hint', async () => {
    const response = readAnswer(await ask({ response_mode: 'jwt' })).get('response') ?? ''
    assert.equal(decodeClaims(response).sub, undefined)
    const { issuer } = place.server
    const userinfo = await fetch(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${response}` } })
    assert.equal(userinfo.status, 401)
    assert.equal(readAnswer(await ask({ id_token_hint: response })).get('error'), 'invalid_request')
  })

  test('oauth4webapi: a response is accepted from this issuer for this client, within its minute, unaltered; its code once', async () => {
    const { issuer } = place.server
    const found = await fetch(`${issuer}/.well-known/oauth-authorization-server`)
    const server = (await found.json()) as oauth.AuthorizationServer
    assert.deepEqual(server.authorization_signing_alg_values_supported, ALGS)
    const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt']
    assert.deepEqual(server.response_modes_supported, modes)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const client = {
      client_id: readId('PS256'),
      authorization_signed_response_alg: 'PS256',
      // The clock of the test is not that of the library.
      [oauth.clockSkew]: Math.round((place.clock() - Date.now()) / 1000),
    }
    const end = await ask({ response_mode: 'jwt', client_id: client.client_id })
    assert.ok(end.kind === 'left')
    const validate = (url: URL, by: oauth.Client = client) =>
      oauth.validateJwtAuthResponse(server, by, url, 'st', insecure)
    const answer = await validate(end.url)

    await assert.rejects(validate(end.url, { ...client, client_id: readId('ES256') }), /"aud"/)
    await assert.rejects(validate(end.url, { ...client, authorization_signed_response_alg: 'RS256' }), /"alg"/)
    await assert.rejects(
      validate(end.url, { ...client, [oauth.clockSkew]: client[oauth.clockSkew] + 100 }),
      /"exp"|expired/,
    )
    const [header, body, signature] = (end.url.searchParams.get('response') ?? '').split('.')
    const changed = Buffer.from(JSON.stringify({ ...decodeClaims(`.${body}`), code: 'x' })).toString('base64url')
    const altered = new URL(end.url)
    altered.searchParams.set('response', [header, changed, signature].join('.'))
    await assert.rejects(validate(altered), /signature/)

    const redeem = () =>
      fetch(`${issuer}/connect/token`, {
        method: 'POST',
        headers: { authorization: basic(client.client_id, SECRET) },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: answer.get('code') ?? '',
          redirect_uri: REDIRECT,
        }),
      })
    assert.equal((await redeem()).status, 200)
    assert.equal((await redeem()).status, 400, 'a response that is sent again is worth nothing')
  })
})
