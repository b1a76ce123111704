/** Rows about the parameters of the authorization request (B-50 to B-60). */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { otherPerson } from '../support/providers/gatehouse.ts'
import { CALLBACK, clientFixtures, person } from '../support/providers/provider.ts'
import { signIn, visit } from '../support/visitor.ts'
import { requestObject, usualClaims } from './request-object.ts'
import { answer, decodeClaims, errorPage, listPairs, type RowTest, readError } from './steps.ts'
import type { Trial, TrialParameters } from './trial.ts'

const { unknown } = clientFixtures('https://127.0.0.1:1/')

export const parameterRows: readonly RowTest[] = [
  {
    id: 'B-50',
    name: 'prompt=none: invalid_request with other values; login_required without a session; never a page',
    async run(trial) {
      for (const prompt of ['none login', 'none consent', 'login none'])
        assert.equal(await readError(trial, { prompt }), 'invalid_request', prompt)
      const { parameters, seen } = await answer(trial, { prompt: 'none' })
      assert.equal(parameters.get('error'), 'login_required')
      assert.deepEqual(seen, [])
    },
  },
  {
    id: 'B-50',
    name: 'prompt=none with a session but without consent is consent_required',
    async run(trial) {
      await trial.succeed()
      assert.equal(await readError(trial.withClient(unknown), { prompt: 'none' }), 'consent_required')
    },
  },
  {
    id: 'B-51',
    name: 'prompt=login asks once even with a session, and cannot be removed by editing the URL',
    async run(trial) {
      await trial.succeed()
      await trial.provider.elapse(2000)
      const again = await answer(trial, { prompt: 'login' })
      assert.equal(again.seen.filter((name) => name === 'sign-in').length, 1)
      const page = await start(trial, { prompt: 'login' })
      assert.equal(page.kind, 'page')
      const edited = new URL(page.url)
      edited.searchParams.delete('prompt')
      edited.searchParams.set('prompt', 'none')
      const got = await trial.agent.get(edited)
      assert.ok(got.kind === 'page' || got.url.searchParams.get('code') === null, 'the sign-in was skipped')
    },
  },
  {
    id: 'B-52',
    name: 'prompt=consent asks although consent is stored; login consent asks for both',
    async run(trial) {
      await trial.succeed()
      assert.deepEqual((await answer(trial)).seen, [], 'the consent is not stored')
      assert.deepEqual((await answer(trial, { prompt: 'consent' })).seen, ['question'])
      assert.deepEqual((await answer(trial, { prompt: 'login consent' })).seen, ['sign-in', 'question'])
    },
  },
  {
    id: 'B-52',
    name: 'prompt=select_account lets the user choose; an unknown value is invalid_request',
    ours: true,
    async run(trial) {
      await trial.succeed()
      const { seen } = await answer(trial, { prompt: 'select_account' })
      assert.ok(seen.includes('question'), `${seen}`)
      const error = await readError(trial, { prompt: 'dance' })
      assert.equal(error, 'invalid_request')
      const offered = trial.provider.metadata.prompt_values_supported
      if (offered !== undefined) assert.deepEqual(offered, ['none', 'login', 'consent', 'select_account'])
    },
  },
  {
    id: 'B-53',
    name: 'max_age: 0 is a new sign-in, too old with prompt=none is login_required, a malformed value is invalid_request',
    async run(trial) {
      await trial.succeed()
      assert.ok(
        (await answer(trial, { max_age: '0' })).seen.includes('sign-in'),
        'max_age=0 did not ask for a new sign-in',
      )
      await trial.provider.elapse(2000)
      assert.ok((await answer(trial, { max_age: '0' })).seen.includes('sign-in'))
      await trial.provider.elapse(10_000)
      assert.equal(await readError(trial, { max_age: '1', prompt: 'none' }), 'login_required')
      for (const age of ['-1', 'x', '1.5'])
        assert.equal(await readError(trial, { max_age: age }), 'invalid_request', age)
    },
  },
  {
    id: 'B-54',
    name: 'id_token_hint: an expired one is accepted, a forged one is invalid_request',
    async run(trial) {
      const { idTokens } = await trial.succeed()
      const hint = idTokens[0]?.raw ?? ''
      await trial.provider.elapse(2 * 3600_000)
      await trial.succeed({ prompt: 'none', id_token_hint: hint })
      const [head = '', body = ''] = hint.split('.')
      const none = Buffer.from('{"alg":"none"}').toString('base64url')
      for (const forged of [`${head}.${body}.AAAA`, `${none}.${body}.`, 'garbage'])
        assert.equal(await readError(trial, { id_token_hint: forged }), 'invalid_request', forged.slice(0, 20))
    },
  },
  {
    id: 'B-54',
    name: 'id_token_hint of another user: login_required with prompt=none, otherwise a sign-in page, and tokens for that user only',
    ours: true,
    async run(trial) {
      const { idTokens } = await trial.succeed()
      const hint = idTokens[0]?.raw ?? ''
      const other = trial.fresh()
      const page = await start(other, {})
      assert.ok(page.kind === 'page')
      const { end } = await visit(other.agent, await signIn(other.agent, page, otherPerson), otherPerson)
      assert.equal(end.kind, 'left')
      assert.equal(await readError(other, { prompt: 'none', id_token_hint: hint }), 'login_required')
      const asked = await start(other, { id_token_hint: hint })
      assert.ok(
        asked.kind === 'page' && asked.forms.some(({ fields }) => fields.some(({ type }) => type === 'password')),
      )
    },
  },
  {
    id: 'B-55',
    name: 'login_hint fills the field, escaped, for existing and unknown users alike',
    async run(trial) {
      for (const hint of [person.username, 'nobody-here', '"><script>alert(1)</script>']) {
        const page = await start(trial.fresh(), { login_hint: hint })
        assert.ok(page.kind === 'page' && page.status === 200)
        assert.ok(!page.body.includes('<script>alert(1)'))
        const fields = page.forms.flatMap((form) => form.fields)
        assert.ok(
          fields.some(({ value, type }) => type === 'text' && value === hint),
          hint,
        )
      }
    },
  },
  {
    id: 'B-56',
    name: 'ui_locales, claims_locales, display and acr_values never fail, whatever their value',
    async run(trial) {
      for (const value of ['x', 'fr-CA en', '!!!', '日本語'])
        await trial.succeed({ ui_locales: value, claims_locales: value, acr_values: value })
    },
  },
  {
    id: 'B-56',
    name: 'any value of display is accepted',
    ours: true,
    run: (trial) => trial.succeed({ display: 'hologram' }),
  },
  {
    id: 'B-57',
    name: 'claims: malformed JSON is invalid_request, unknown claims are ignored, a missing essential claim does not fail',
    async run(trial) {
      for (const claims of ['{', '[]', '"text"', '1'])
        assert.equal(await readError(trial, { claims }), 'invalid_request', claims)
      const claims = { userinfo: { name: null, made_up: { essential: true } }, id_token: { made_up: null } }
      const { userinfo } = await trial.succeed({ claims: JSON.stringify(claims) })
      assert.equal(userinfo?.name, person.claims.name)
      assert.equal(userinfo?.made_up, undefined)
      assert.equal(trial.provider.metadata.claims_parameter_supported, true)
    },
  },
  {
    id: 'B-57',
    name: 'claims: no tokens for a sub of another user',
    async run(trial) {
      await trial.succeed()
      const claims = JSON.stringify({ id_token: { sub: { value: 'somebody-else' } } })
      assert.equal(await readError(trial, { claims, prompt: 'none' }), 'login_required')
    },
  },
  {
    id: 'B-57',
    name: 'claims: nor for several wrong values of sub, or one for userinfo; the right one among several is accepted',
    ours: true,
    async run(trial) {
      const { idTokens } = await trial.succeed()
      const sub = String(idTokens[0]?.claims.sub)
      for (const claims of [{ id_token: { sub: { values: ['x', 'y'] } } }, { userinfo: { sub: { value: 'x' } } }])
        assert.equal(await readError(trial, { claims: JSON.stringify(claims), prompt: 'none' }), 'login_required')
      const both = { id_token: { sub: { values: [sub, 'x'] } }, userinfo: { sub: { values: ['y', 'x'] } } }
      assert.equal(await readError(trial, { claims: JSON.stringify(both), prompt: 'none' }), 'login_required')
      const clash = { id_token: { sub: { value: sub } }, userinfo: { sub: { value: 'x' } } }
      assert.equal(await readError(trial, { claims: JSON.stringify(clash), prompt: 'none' }), 'invalid_request')
      await trial.succeed({ claims: JSON.stringify({ id_token: { sub: { values: ['x', sub] } } }), prompt: 'none' })
    },
  },
  {
    id: 'B-58',
    name: 'request: its values take precedence, and the flow succeeds',
    async run(trial) {
      const inside = { ...usualClaims(trial), ...trial.request({ state: 'inside', nonce: 'inside' }) }
      const got = await answer(trial, { state: 'outside', nonce: 'outside', request: requestObject(inside) })
      assert.equal(got.parameters.get('state'), 'inside')
      const code = got.parameters.get('code') ?? ''
      const tokens = (await (await trial.redeem(code)).json()) as { id_token: string }
      assert.equal(decodeClaims(tokens.id_token).nonce, 'inside')
    },
  },
  {
    id: 'B-58',
    name: 'request: a bad signature, key, claim or nested object is invalid_request_object',
    ours: true,
    async run(trial) {
      const good = { ...usualClaims(trial), ...trial.request() }
      const foreignKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
      for (const [name, request] of Object.entries({
        'of another key': requestObject(good, { key: foreignKey }),
        cut: requestObject(good).slice(0, -8),
        garbage: 'not.a.jwt',
        'of another client': requestObject({ ...good, client_id: 'client2' }),
        'of another response type': requestObject({ ...good, response_type: 'id_token' }),
        'with another issuer': requestObject({ ...good, iss: 'client2' }),
        'for another audience': requestObject({ ...good, aud: 'https://other.example' }),
        nested: requestObject({ ...good, request: requestObject(good) }),
        'with request_uri': requestObject({ ...good, request_uri: 'https://rp.example.com/r' }),
      }))
        assert.equal(await readError(trial, { request, state: 's' }), 'invalid_request_object', name)
    },
  },
  {
    id: 'B-59',
    name: 'a redirect URI from an unverified request object is never used',
    ours: true,
    async run(trial) {
      const evil = { ...usualClaims(trial), ...trial.request({ redirect_uri: 'https://evil.example/' }) }
      const foreignKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
      const forged = requestObject(evil, { key: foreignKey })
      const got = await answer(trial, { request: forged })
      assert.ok(got.left.url.href.startsWith(CALLBACK))
      await errorPage(trial, { request: forged, redirect_uri: undefined })
      await errorPage(trial, { request: requestObject(evil) })
    },
  },
  {
    id: 'B-60',
    name: 'request_uri and registration are refused with their own errors',
    async run(trial) {
      assert.equal(await readError(trial, { request_uri: 'https://rp.example.com/r' }), 'request_uri_not_supported')
      assert.equal(await readError(trial, { registration: '{}' }), 'registration_not_supported')
    },
  },
  {
    id: 'B-60',
    name: 'request and request_uri together are invalid_request',
    ours: true,
    async run(trial) {
      const request = requestObject({ ...usualClaims(trial), ...trial.request() })
      assert.equal(await readError(trial, { request, request_uri: 'https://rp.example.com/r' }), 'invalid_request')
    },
  },
]

/** Sends a request and stops at the first page. */
async function start(trial: Trial, changes: TrialParameters) {
  const url = new URL(trial.provider.metadata.authorization_endpoint)
  for (const [name, value] of listPairs(trial.request(changes))) url.searchParams.set(name, value)
  return trial.agent.get(url)
}
