/** Rows about bearer tokens at userinfo (C-90 to C-95) and flows that a client is not registered for (C-66). */
import assert from 'node:assert/strict'
import { ownClients } from '../support/providers/gatehouse.ts'
import { clientFixtures } from '../support/providers/provider.ts'
import { getTokens, offline, type RowTest, readError, revoke } from './steps.ts'
import { askUserinfo, readTokens, requestToken, type Trial } from './trial.ts'

const { codeOnly } = clientFixtures('https://127.0.0.1:1/')

export const bearerRows: readonly RowTest[] = [
  {
    id: 'C-66',
    name: 'implicit response types need a client that is registered for them',
    ours: true,
    async run(trial) {
      const narrow = trial.withClient(codeOnly)
      for (const type of ['token', 'id_token', 'id_token token', 'code token', 'code id_token'])
        assert.equal(await readError(narrow, { response_type: type }), 'unauthorized_client', type)
    },
  },
  {
    id: 'C-90',
    name: 'without a token: 401 with a bare challenge',
    async run({ provider }) {
      const { status, headers } = await fetch(provider.metadata.userinfo_endpoint)
      const challenge = headers.get('www-authenticate') ?? ''
      assert.ok(status === 401 || provider.name === 'oidc-provider', `${status}`)
      assert.match(challenge, /^Bearer realm="/)
    },
  },
  {
    id: 'C-90',
    name: 'the bare challenge has no error code',
    ours: true,
    async run({ provider }) {
      const { headers } = await fetch(provider.metadata.userinfo_endpoint)
      assert.doesNotMatch(headers.get('www-authenticate') ?? '', /error/)
    },
  },
  {
    id: 'C-91',
    name: 'a bad, expired, revoked, ID or refresh token is invalid_token',
    async run(trial) {
      const revoked = await getTokens(trial)
      await revoke(trial, revoked.access_token)
      const tokens = await getTokens(trial, offline())
      for (const token of ['garbage', revoked.access_token, tokens.id_token ?? '', tokens.refresh_token ?? ''])
        await assertChallenge(trial, token, 401, /error="invalid_token"/)
      await trial.provider.elapse(3700_000)
      await assertChallenge(trial, tokens.access_token, 401, /error="invalid_token"/)
    },
  },
  {
    id: 'C-92',
    name: 'a token without openid is insufficient_scope',
    ours: true,
    async run(trial) {
      const { access_token: token } = await getTokens(trial, { scope: 'profile' })
      await assertChallenge(trial, token, 403, /error="insufficient_scope".*scope="openid"/)
    },
  },
  {
    id: 'C-93',
    name: 'a token in header and body, or a malformed header, is invalid_request',
    async run(trial) {
      const { access_token: token } = await getTokens(trial)
      const twice = await fetch(trial.provider.metadata.userinfo_endpoint, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: new URLSearchParams({ access_token: token }),
      })
      assert.equal(twice.status, 400)
      const malformed = await fetch(trial.provider.metadata.userinfo_endpoint, {
        headers: { authorization: `Bearer ${token} ${token}` },
      })
      assert.equal(malformed.status, 400)
    },
  },
  {
    id: 'C-93',
    name: 'a token in a body that is not a form is ignored',
    async run(trial) {
      const { access_token: token } = await getTokens(trial)
      const { status } = await fetch(trial.provider.metadata.userinfo_endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ access_token: token }),
      })
      assert.ok([400, 401, 415].includes(status), `${status}`)
    },
  },
  {
    id: 'C-94',
    name: 'a token in the query is ignored',
    ours: true,
    async run(trial) {
      const { access_token: token } = await getTokens(trial)
      const { status } = await fetch(`${trial.provider.metadata.userinfo_endpoint}?access_token=${token}`)
      assert.equal(status, 401)
    },
  },
  {
    id: 'C-95',
    name: 'a client_credentials token returns no claims',
    ours: true,
    async run(trial) {
      const granted = await requestToken(trial.provider, ownClients.service, { grant_type: 'client_credentials' })
      const { status } = await askUserinfo(trial.provider, (await readTokens(granted)).access_token)
      assert.ok(status === 401 || status === 403, `${status}`)
    },
  },
]

async function assertChallenge(trial: Trial, token: string, status: number, challenge: RegExp): Promise<void> {
  const answer = await askUserinfo(trial.provider, token)
  assert.equal(answer.status, status)
  assert.match(answer.headers.get('www-authenticate') ?? '', challenge)
}
