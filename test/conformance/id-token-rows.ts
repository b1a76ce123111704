/** Rows about the contents of ID tokens in each flow (B-20 to B-36). */
import assert from 'node:assert/strict'
import { halfHash } from '../support/id-token.ts'
import { ownClients } from '../support/providers/gatehouse.ts'
import { clientFixtures, PROFILE_CLAIMS, person, RESPONSE_TYPES } from '../support/providers/provider.ts'
import { approveDevice, startDevice } from './device-steps.ts'
import { answer, decodeClaims, getTokens, offline, post, type RowTest, readError, refresh } from './steps.ts'
import { type Outcome, readTokens, requestToken } from './trial.ts'

const { authTime, device, maxAge } = clientFixtures('https://127.0.0.1:1/')
const { service, token: tokenClient } = ownClients
const TYPES = Object.values(RESPONSE_TYPES)

export const idTokenRows: readonly RowTest[] = [
  {
    id: 'B-20',
    name: 'code and code token: nonce iff it was sent',
    async run(trial) {
      for (const type of ['code', 'code token']) {
        const changes = { response_type: type, response_mode: 'fragment' }
        assert.equal(last(await trial.succeed({ ...changes, nonce: 'n-1' })).nonce, 'n-1')
        assert.equal(last(await trial.succeed({ ...changes, nonce: undefined })).nonce, undefined)
      }
    },
  },
  {
    id: 'B-21',
    name: 'id_token: nonce, no hashes, the claims of the scopes',
    async run(trial) {
      const claims = last(await trial.succeed({ response_type: 'id_token', scope: 'openid profile email' }))
      assert.deepEqual([claims.at_hash, claims.c_hash], [undefined, undefined])
      for (const name of [...PROFILE_CLAIMS, 'email', 'email_verified']) assert.ok(claims[name] !== undefined, name)
      assert.equal(await readError(trial, { response_type: 'id_token', nonce: undefined }), 'invalid_request')
    },
  },
  {
    id: 'B-22',
    name: 'id_token token: nonce and at_hash, no c_hash',
    async run(trial) {
      const { parameters, idTokens } = await trial.succeed({ response_type: 'id_token token' })
      assert.equal(idTokens[0]?.claims.at_hash, halfHash(parameters.get('access_token') ?? ''))
      assert.equal(idTokens[0]?.claims.c_hash, undefined)
      assert.equal(await readError(trial, { response_type: 'id_token token', nonce: undefined }), 'invalid_request')
    },
  },
  {
    id: 'B-23',
    name: 'code id_token: c_hash; the ID token of the token endpoint has the same user, nonce and sign-in',
    async run(trial) {
      const { parameters, idTokens } = await trial.succeed({ response_type: 'code id_token', max_age: '1000' })
      const [front, back] = idTokens.map(({ claims }) => claims)
      assert.equal(front?.c_hash, halfHash(parameters.get('code') ?? ''))
      for (const name of ['iss', 'sub', 'aud', 'nonce', 'auth_time', 'acr', 'amr', 'sid'])
        assert.deepEqual(back?.[name], front?.[name], name)
    },
  },
  {
    id: 'B-24',
    name: 'code id_token token: both hashes in the front channel, and at_hash of its own access token at the token endpoint, if any',
    async run(trial) {
      const { parameters, idTokens, tokens } = await trial.succeed({ response_type: 'code id_token token' })
      const [front, back] = idTokens.map(({ claims }) => claims)
      assert.equal(front?.at_hash, halfHash(parameters.get('access_token') ?? ''))
      assert.equal(front?.c_hash, halfHash(parameters.get('code') ?? ''))
      if (back?.at_hash !== undefined) assert.equal(back.at_hash, halfHash(tokens?.access_token ?? ''))
    },
  },
  {
    id: 'B-25',
    name: 'a refresh keeps user, audience and sign-in, has a new iat, and no other nonce',
    async run(trial) {
      const first = await getTokens(trial, offline({ nonce: 'n-1', max_age: '1000' }))
      await trial.provider.elapse(2000)
      const second = decodeClaims((await readTokens(await refresh(trial, first.refresh_token))).id_token)
      const before = decodeClaims(first.id_token)
      for (const name of ['iss', 'sub', 'aud', 'azp', 'auth_time']) assert.deepEqual(second[name], before[name], name)
      assert.ok(Number(second.iat) > Number(before.iat))
      assert.ok(second.nonce === undefined || second.nonce === 'n-1')
    },
  },
  {
    id: 'B-26',
    name: 'password and device: no nonce; auth_time, acr and amr are those of the sign-in',
    ours: true,
    async run(trial) {
      const { username, password } = person
      const granted = await requestToken(trial.provider, service, {
        grant_type: 'password',
        username,
        password,
        scope: 'openid',
      })
      const byPassword = decodeClaims((await readTokens(granted)).id_token)
      assert.equal(byPassword.nonce, undefined)
      assert.ok(Math.abs(Number(byPassword.auth_time) - trial.provider.now() / 1000) < 5)
      assert.deepEqual([byPassword.acr, byPassword.amr], ['1', ['pwd']])

      const started = await startDevice(trial, device, 'openid')
      await approveDevice(trial, started.user_code)
      const signedIn = Math.floor(trial.provider.now() / 1000)
      await trial.provider.elapse(20_000)
      const polled = await requestToken(trial.provider, device, {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: started.device_code,
      })
      const byDevice = decodeClaims((await readTokens(polled)).id_token)
      assert.equal(byDevice.nonce, undefined)
      assert.ok(Math.abs(Number(byDevice.auth_time) - signedIn) < 5, 'auth_time is not the time of the sign-in')
      assert.deepEqual([byDevice.acr, byDevice.amr], ['1', ['pwd']])
    },
  },
  {
    id: 'B-27',
    name: 'no ID token from client_credentials, response_type=token, or without openid',
    ours: true,
    async run(trial) {
      const granted = await post(trial.provider.metadata.token_endpoint, { grant_type: 'client_credentials' }, service)
      assert.equal((await readTokens(granted)).id_token, undefined)
      const implicit = await answer(trial.withClient(tokenClient), { response_type: 'token' })
      assert.ok(implicit.parameters.has('access_token') && !implicit.parameters.has('id_token'))
      assert.equal((await getTokens(trial, { scope: 'profile' })).id_token, undefined)
    },
  },
  {
    id: 'B-30',
    name: 'iss, sub, aud, exp and iat are always present; the audience is the client; no azp',
    async run(trial) {
      for (const type of TYPES) {
        const { idTokens } = await trial.succeed({ response_type: type, response_mode: 'fragment' })
        for (const { claims } of idTokens) {
          for (const name of ['iss', 'sub', 'aud', 'exp', 'iat']) assert.ok(claims[name] !== undefined, name)
          assert.deepEqual([claims.aud].flat(), [trial.client.client_id])
          assert.equal(claims.azp, undefined)
        }
      }
    },
  },
  {
    id: 'B-31',
    name: "hashes are half a SHA-256 in base64url, as in the specification's own example",
    async run(trial) {
      assert.equal(halfHash('jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y'), '77QmUPtjPfzWtF2AnpK9RQ')
      const { idTokens } = await trial.succeed({ response_type: 'code id_token token' })
      for (const name of ['at_hash', 'c_hash']) assert.match(String(idTokens[0]?.claims[name]), /^[\w-]{22}$/)
    },
  },
  {
    id: 'B-32',
    name: 'auth_time for max_age, for an essential claim, and for clients that require it; unchanged on silent reuse',
    async run(trial) {
      const essential = JSON.stringify({ id_token: { auth_time: { essential: true } } })
      const first = last(await trial.succeed({ max_age: '1000' })).auth_time
      assert.ok(Number.isInteger(first))
      await trial.provider.elapse(2000)
      assert.equal(last(await trial.succeed({ claims: essential, prompt: 'none' })).auth_time, first)
      assert.equal(last(await trial.withClient(authTime).succeed()).auth_time, first)
      assert.equal(last(await trial.withClient(maxAge).succeed()).auth_time, first)
    },
  },
  {
    id: 'B-33',
    name: 'amr lists the methods used; an essential acr that cannot be satisfied is an error',
    ours: true,
    async run(trial) {
      const claims = last(await trial.succeed())
      assert.deepEqual(claims.amr, ['pwd'])
      if (claims.acr !== undefined) assert.equal(typeof claims.acr, 'string')
      const requested = JSON.stringify({ id_token: { acr: { essential: true, value: 'urn:example:unreachable' } } })
      const error = await readError(trial, { claims: requested })
      assert.ok(['unmet_authentication_requirements', 'access_denied', 'login_required'].includes(error), error)
    },
  },
  {
    id: 'B-34',
    name: 'sid is stable in a session, differs between sessions, and does not reveal the cookie',
    ours: true,
    async run(trial) {
      const first = last(await trial.succeed()).sid
      const second = last(await trial.succeed({ response_type: 'id_token' })).sid
      assert.equal(typeof first, 'string')
      assert.equal(second, first)
      const other = last(await trial.fresh().succeed()).sid
      assert.notEqual(other, first)
      for (const { value } of trial.agent.jar.all()) assert.ok(!value.includes(String(first)))
    },
  },
  {
    id: 'B-35',
    name: 'with an access token, the ID token has claims about the user only if they were requested there',
    async run(trial) {
      const scope = 'openid profile email'
      for (const type of ['code', 'id_token token', 'code id_token token']) {
        const { idTokens } = await trial.succeed({ response_type: type, response_mode: 'fragment', scope })
        for (const { claims } of idTokens) assert.deepEqual([claims.name, claims.email], [undefined, undefined], type)
      }
      const claims = JSON.stringify({ id_token: { email: null } })
      const asked = last(await trial.succeed({ scope: 'openid', claims }))
      assert.equal(asked.email, person.claims.email)
      assert.equal(asked.s_hash, undefined)
    },
  },
  {
    id: 'B-36',
    name: 'RS256 with a published kid in every flow',
    async run(trial) {
      for (const type of TYPES) {
        const { idTokens } = await trial.succeed({ response_type: type, response_mode: 'fragment' })
        for (const { header } of idTokens) assert.equal(header.alg, 'RS256')
      }
      assert.deepEqual(trial.provider.metadata.id_token_signing_alg_values_supported, ['RS256'])
    },
  },
]

function last({ idTokens }: Outcome): Readonly<Record<string, unknown>> {
  return idTokens.at(-1)?.claims ?? {}
}
