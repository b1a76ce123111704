/** Rows about codes, scopes, offline access and refresh (B-40 to B-47). */
import assert from 'node:assert/strict'
import { ownClients } from '../support/providers/gatehouse.ts'
import { CALLBACK, type ClientFixture, clientFixtures, POST_LOGOUT, person } from '../support/providers/provider.ts'
import { visit } from '../support/visitor.ts'
import {
  answer,
  createChallenge,
  getCode,
  getTokens,
  introspect,
  offline,
  post,
  type RowTest,
  readError,
  refresh,
} from './steps.ts'
import { askUserinfo, assertTokenError, readTokens, readUserinfo, requestToken } from './trial.ts'

const { client2, codeOnly, device } = clientFixtures('https://127.0.0.1:1/')
const CONCURRENT = 20

export const codeRows: readonly RowTest[] = [
  {
    id: 'B-40',
    name: 'a code is bound to its client and its verifier, and expires',
    async run(trial) {
      const stolen = await requestToken(trial.provider, client2, {
        grant_type: 'authorization_code',
        code: await getCode(trial),
        redirect_uri: CALLBACK,
      })
      await assertTokenError(stolen, 'invalid_grant')
      const { verifier, ...challenge } = createChallenge()
      await assertTokenError(await trial.redeem(await getCode(trial, challenge)), 'invalid_grant')
      const unbound = await trial.redeem(await getCode(trial, challenge), { code_verifier: verifier })
      assert.equal(unbound.status, 200)
      const old = await getCode(trial)
      await trial.provider.elapse(61_000)
      await assertTokenError(await trial.redeem(old), 'invalid_grant')
    },
  },
  {
    id: 'B-40, C-32',
    name: `of ${CONCURRENT} concurrent redemptions of a code one gets tokens`,
    ours: true,
    async run(trial) {
      const code = await getCode(trial)
      const answers = await Promise.all(Array.from({ length: CONCURRENT }, () => trial.redeem(code)))
      const statuses = answers.map(({ status }) => status)
      assert.equal(statuses.filter((status) => status === 200).length, 1, `${statuses}`)
      assert.equal(statuses.filter((status) => status === 400).length, CONCURRENT - 1, `${statuses}`)
    },
  },
  {
    id: 'B-41',
    name: 'a second redemption is invalid_grant and revokes the tokens of the first',
    async run(trial) {
      const code = await getCode(trial, offline())
      const tokens = await readTokens(await trial.redeem(code))
      await assertTokenError(await trial.redeem(code), 'invalid_grant')
      assert.equal((await askUserinfo(trial.provider, tokens.access_token)).status, 401)
      assert.deepEqual(await introspect(trial, tokens.access_token), { active: false })
      await assertTokenError(await refresh(trial, tokens.refresh_token), 'invalid_grant')
    },
  },
  {
    id: 'B-42',
    name: 'redirect_uri of the token request must be that of the authorization request',
    async run(trial) {
      for (const address of [`${CALLBACK}/`, 'https://evil.example/', CALLBACK.replace('https', 'http')])
        await assertTokenError(await trial.redeem(await getCode(trial), { redirect_uri: address }), 'invalid_grant')
      const missing = await trial.redeem(await getCode(trial), { redirect_uri: undefined })
      assert.equal(missing.status, 400)
      const { error } = (await missing.json()) as { error: string }
      assert.ok(['invalid_grant', 'invalid_request'].includes(error), error)
    },
  },
  {
    id: 'B-43',
    name: 'scopes: any order; unknown ones are ignored and not in the response',
    async run(trial) {
      const { scope } = await getTokens(trial, { scope: 'email strange:scope openid' })
      assert.deepEqual(scope?.split(' ').sort(), ['email', 'openid'])
    },
  },
  {
    id: 'B-43',
    name: 'unknown scopes are ignored at authorize, token, refresh and device; invalid_scope if there are no others',
    ours: true,
    async run(trial) {
      assert.equal(await readError(trial, { scope: 'strange:scope' }), 'invalid_scope')
      const { provider } = trial
      const ask = (client: ClientFixture, form: Record<string, string>) => requestToken(provider, client, form)
      const service = { grant_type: 'client_credentials' }
      const granted = await readTokens(await ask(ownClients.service, { ...service, scope: 'odd Platform/Market' }))
      assert.equal(granted.scope, 'Platform/Market')
      await assertTokenError(await ask(ownClients.service, { ...service, scope: 'odd' }), 'invalid_scope')

      const first = await getTokens(trial, { scope: 'openid email offline_access', prompt: 'consent' })
      const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
      await assertTokenError(await ask(trial.client, { ...refresh, scope: 'odd' }), 'invalid_scope')
      const narrowed = await readTokens(await ask(trial.client, { ...refresh, scope: 'openid odd' }))
      assert.equal(narrowed.scope, 'openid')

      const endpoint = provider.metadata.device_authorization_endpoint
      assert.equal((await post(endpoint, { scope: 'openid odd' }, device)).status, 200)
      await assertTokenError(await post(endpoint, { scope: 'odd' }, device), 'invalid_scope')
    },
  },
  {
    id: 'B-43',
    name: 'scopes: those not allowed for the client, and illegal characters, are invalid_scope',
    ours: true,
    async run(trial) {
      assert.equal(await readError(trial, { scope: 'openid Platform/Admin' }), 'invalid_scope')
      for (const scope of ['openid "', 'openid \\', 'openid é', 'openid \u0007'])
        assert.equal(await readError(trial, { scope }), 'invalid_scope', JSON.stringify(scope))
    },
  },
  {
    id: 'B-44',
    name: 'without openid it is plain OAuth: no ID token, no nonce required, 403 at userinfo',
    ours: true,
    async run(trial) {
      const changes = { scope: 'profile', nonce: undefined }
      const { parameters } = await answer(trial, changes)
      assert.deepEqual([...parameters.keys()].sort(), ['code', 'iss', 'state'])
      const tokens = await getTokens(trial, changes)
      assert.equal(tokens.id_token, undefined)
      const userinfo = await askUserinfo(trial.provider, tokens.access_token)
      assert.equal(userinfo.status, 403)
      assert.match(userinfo.headers.get('www-authenticate') ?? '', /error="insufficient_scope"/)
      assert.equal(await readError(trial, { scope: 'profile', response_type: 'code id_token' }), 'invalid_request')
    },
  },
  {
    id: 'B-45',
    name: 'offline_access needs a code, the grant and consent; otherwise it is dropped, and scope reports it',
    async run(trial) {
      const granted = await getTokens(trial, offline())
      assert.ok(granted.refresh_token)
      assert.ok(granted.scope === undefined || granted.scope.split(' ').includes('offline_access'))
      const narrow = await getTokens(trial.withClient(codeOnly), offline())
      assert.equal(narrow.refresh_token, undefined)
      const implicit = await answer(trial, { ...offline(), response_type: 'id_token token' })
      assert.ok(implicit.parameters.has('access_token') && !implicit.parameters.has('refresh_token'))
      const scope = implicit.parameters.get('scope')?.split(' ')
      assert.ok(scope !== undefined && !scope.includes('offline_access'), `scope is ${scope}`)
    },
  },
  {
    id: 'B-46',
    name: 'a refresh may narrow the scope, never widen it',
    async run(trial) {
      const first = await getTokens(trial, offline({ scope: 'openid email offline_access' }))
      const narrowed = await readTokens(await refresh(trial, first.refresh_token, { scope: 'openid' }))
      const claims = await readUserinfo(await askUserinfo(trial.provider, narrowed.access_token))
      assert.equal(claims.email, undefined)
      const next = narrowed.refresh_token ?? first.refresh_token
      await assertTokenError(await refresh(trial, next, { scope: 'openid profile' }), 'invalid_scope')
      const full = await readTokens(await refresh(trial, next))
      const again = await readUserinfo(await askUserinfo(trial.provider, full.access_token))
      assert.equal(again.email, person.claims.email)
    },
  },
  {
    id: 'B-46',
    name: 'a grant expires even if it is refreshed all the time',
    ours: true,
    async run(trial) {
      let { refresh_token: token } = await getTokens(trial, offline())
      const day = 86_400_000
      for (let days = 0; days < 400; days += 7) {
        const response = await refresh(trial, token)
        if (response.status !== 200) {
          assert.ok(days > 0)
          return assertTokenError(response, 'invalid_grant')
        }
        token = (await readTokens(response)).refresh_token
        await trial.provider.elapse(7 * day)
      }
      return assert.fail('after more than a year the grant is still valid')
    },
  },
  {
    id: 'B-47',
    name: 'sign-out keeps refresh tokens with offline_access and revokes the access tokens of the session',
    ours: true,
    async run(trial) {
      const kept = await getTokens(trial, offline())
      const { agent, provider } = trial
      const url = new URL(provider.metadata.end_session_endpoint)
      url.searchParams.set('id_token_hint', kept.id_token ?? '')
      url.searchParams.set('post_logout_redirect_uri', POST_LOGOUT)
      await visit(agent, await agent.get(url), person)
      assert.equal((await refresh(trial, kept.refresh_token)).status, 200)
      const other = await getTokens(trial)
      await visit(agent, await agent.get(provider.metadata.end_session_endpoint), person)
      assert.equal((await askUserinfo(provider, other.access_token)).status, 401)
    },
  },
]
