/** Rows about JWTs: unsigned, wrongly signed, of the wrong type, expired (C-100 to C-105). */
import assert from 'node:assert/strict'
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { checkJwt } from '../support/id-token.ts'
import { ownClients } from '../support/providers/gatehouse.ts'
import { clientFixtures, POST_LOGOUT, requestKey } from '../support/providers/provider.ts'
import { requestObject, usualClaims } from './request-object.ts'
import { answer, decodeClaims, getTokens, introspect, type RowTest, readError } from './steps.ts'
import { askUserinfo, readTokens, requestToken, type Trial } from './trial.ts'

const { client2 } = clientFixtures('https://127.0.0.1:1/')

export const jwtRows: readonly RowTest[] = [
  {
    id: 'C-100',
    name: 'an unsigned request object, hint or access token is refused, in every spelling of none',
    ours: true,
    async run(trial) {
      const tokens = await getTokens(trial)
      for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
        const inside = { ...usualClaims(trial), ...trial.request() }
        const unsigned = requestObject(inside, { header: { alg }, unsigned: true })
        assert.equal(await readError(trial, { request: unsigned, state: 's' }), 'invalid_request_object', alg)
        assert.equal(
          await readError(trial, { id_token_hint: rehead(tokens.id_token, { alg }) }),
          'invalid_request',
          alg,
        )
        const forged = rehead(tokens.access_token, { alg, typ: 'at+jwt' })
        assert.equal((await askUserinfo(trial.provider, forged)).status, 401, alg)
        assert.deepEqual(await introspect(trial, forged), { active: false })
      }
    },
  },
  {
    id: 'C-101',
    name: 'HS256 with the public key or the client secret is refused where RS256 is expected',
    ours: true,
    async run(trial) {
      const inside = { ...usualClaims(trial), ...trial.request() }
      const clientKey = requestKey.publicKey.export({ type: 'spki', format: 'pem' })
      for (const secret of [trial.client.client_secret ?? '', clientKey, JSON.stringify(requestKey.publicKey)])
        assert.equal(
          await readError(trial, { request: requestObject(inside, { secret }), state: 's' }),
          'invalid_request_object',
        )
      const { keys } = (await (await fetch(trial.provider.metadata.jwks_uri)).json()) as { keys: JsonWebKey[] }
      const ours = createPublicKey({ key: keys[0] ?? {}, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
      const tokens = await getTokens(trial)
      const kid = decodeHeader(tokens.access_token).kid
      const forged = requestObject(decodeClaims(tokens.access_token), { secret: ours, header: { kid, typ: 'at+jwt' } })
      assert.equal((await askUserinfo(trial.provider, forged)).status, 401)
      const hint = requestObject(decodeClaims(tokens.id_token), { secret: ours, header: { kid } })
      assert.equal(await readError(trial, { id_token_hint: hint }), 'invalid_request')
    },
  },
  {
    id: 'C-102',
    name: 'headers that contain keys or require extensions are refused',
    ours: true,
    async run(trial) {
      const own = { ...usualClaims(trial), ...trial.request() }
      for (const header of [
        { crit: ['exp'], exp: 1 },
        { crit: ['b64'], b64: false },
        { crit: [] },
        { kid: '../../etc/passwd' },
        { kid: "' or 1=1 --" },
      ])
        assert.equal(
          await readError(trial, { request: requestObject(own, { header }), state: 's' }),
          'invalid_request_object',
          JSON.stringify(header),
        )
      const tokens = await getTokens(trial)
      const jwk = requestKey.publicKey.export({ format: 'jwk' })
      for (const header of [
        { jwk },
        { jku: 'https://evil.example/jwks' },
        { x5u: 'https://evil.example/cert' },
        { kid: '../../x' },
      ]) {
        const forged = requestObject(decodeClaims(tokens.access_token), { header: { ...header, typ: 'at+jwt' } })
        assert.equal((await askUserinfo(trial.provider, forged)).status, 401, JSON.stringify(header))
      }
    },
  },
  {
    id: 'C-103',
    name: 'one type of token is not accepted as another',
    async run(trial) {
      const { id_token: idToken = '', access_token: accessToken } = await getTokens(trial)
      assert.equal((await askUserinfo(trial.provider, idToken)).status, 401)
      assert.equal(await readError(trial, { id_token_hint: accessToken }), 'invalid_request')
    },
  },
  {
    id: 'C-103',
    name: 'an ID token is inactive, an access token is not accepted as a hint, and a request object is accepted from its own client only',
    ours: true,
    async run(trial) {
      const { access_token: accessToken, id_token: idToken = '' } = await getTokens(trial)
      assert.deepEqual(await introspect(trial, idToken), { active: false })
      const url = new URL(trial.provider.metadata.end_session_endpoint)
      url.searchParams.set('id_token_hint', accessToken)
      url.searchParams.set('post_logout_redirect_uri', POST_LOGOUT)
      const end = await trial.agent.get(url)
      assert.equal(end.kind, 'page')
      await trial.succeed({ prompt: 'none' })
      const foreign = requestObject({ ...usualClaims(trial), ...trial.request() })
      const other = trial.withClient(client2)
      assert.equal(await readError(other, { request: foreign, state: 's' }), 'invalid_request_object')
    },
  },
  {
    id: 'C-104',
    name: 'access tokens follow RFC 9068',
    ours: true,
    async run(trial) {
      const { access_token: ofUser } = await getTokens(trial)
      const { header, claims } = await checkJwt(ofUser, trial.provider.metadata.jwks_uri)
      assert.equal(header.typ, 'at+jwt')
      for (const name of 'iss exp aud sub client_id iat nbf jti scope auth_time amr acr'.split(' '))
        assert.ok(claims[name] !== undefined, name)
      assert.ok(![claims.aud].flat().includes('client'), 'the client is in the audience')
      assert.equal(Number(claims.exp) - Number(claims.iat), 3600)
      const granted = await requestToken(trial.provider, ownClients.service, {
        grant_type: 'client_credentials',
        scope: 'Platform/Market',
      })
      const ofClient = decodeClaims((await readTokens(granted)).access_token)
      assert.deepEqual([ofClient.aud].flat(), ['platform'])
      assert.deepEqual([ofClient.auth_time, ofClient.sid], [undefined, undefined])
    },
  },
  {
    id: 'C-105',
    name: 'expired, premature, foreign, oversized and nested request objects are refused',
    ours: true,
    async run(trial) {
      const now = Math.floor(trial.provider.now() / 1000)
      const own = { ...usualClaims(trial), ...trial.request() }
      for (const [name, change] of Object.entries({
        expired: { exp: now - 3600 },
        early: { nbf: now + 3600 },
        'of another issuer': { iss: 'nobody' },
        'for another audience': { aud: 'https://other.example' },
        nested: { request: 'x.y.z' },
      })) {
        const request = requestObject({ ...own, ...change })
        assert.equal(await readError(trial, { request, state: 's' }), 'invalid_request_object', name)
      }
      const large = requestObject({ ...own, filler: 'x'.repeat(17_000) })
      const got = await answerByPost(trial, { ...trial.request({ state: 's' }), request: large })
      assert.equal(got, 'invalid_request_object')
    },
  },
]

/** Too long for a URL. */
async function answerByPost(trial: Trial, changes: Record<string, string | undefined>): Promise<string | undefined> {
  return (await answer(trial, changes, 'POST')).parameters.get('error')
}

function decodeHeader(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString())
}

/** The same claims under another header, without a signature. */
function rehead(jwt: string | undefined, header: object): string {
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${jwt?.split('.')[1]}.`
}
