/** Rows about the authorization response: where it goes, what it contains, and when there is an error page instead (B-01 to B-15). */
import assert from 'node:assert/strict'
import { ownClients } from '../support/providers/gatehouse.ts'
import { CALLBACK, clientFixtures, person, RESPONSE_TYPES } from '../support/providers/provider.ts'
import { signIn, visit } from '../support/visitor.ts'
import { answer, errorPage, listPairs, type RowTest, readError, responsePart, sendPairs } from './steps.ts'
import { assertErrorPage, assertRedirected, checkResponsePart, type TrialParameters } from './trial.ts'

const { codeOnly, twoAddresses } = clientFixtures('https://127.0.0.1:1/')
const TYPES = Object.values(RESPONSE_TYPES)

/** Values whose characters must be preserved in query, fragment and form. */
const STATES = ['x', 'y'.repeat(128), 'z'.repeat(2048), '-._~ %&+=#"<>', "é€😀'`\\", '%2B%26']

export const answerRows: readonly RowTest[] = [
  {
    id: 'B-01',
    name: 'a code is returned in the query, anything with a token in the fragment; both allowed modes work',
    async run(trial) {
      for (const type of TYPES) {
        const isCode = type === 'code'
        assert.equal(responsePart(await answer(trial, { response_type: type })), isCode ? 'query' : 'fragment', type)
        for (const [mode, place] of [
          ['fragment', 'fragment'],
          ['form_post', 'post'],
          ...(isCode ? ([['query', 'query']] as const) : []),
        ] as const)
          checkResponsePart(await answer(trial, { response_type: type, response_mode: mode }), place)
      }
    },
  },
  {
    id: 'B-02',
    name: 'a token is never returned in the query; an unknown response_mode is invalid_request in the default mode',
    ours: true,
    async run(trial) {
      for (const type of TYPES) {
        const got = await answer(trial, { response_type: type, response_mode: type === 'code' ? 'strange' : 'query' })
        assert.equal(got.parameters.get('error'), 'invalid_request', type)
        for (const name of ['id_token', 'access_token']) assert.ok(!got.left.url.searchParams.has(name))
      }
      const got = await answer(trial, { response_type: 'id_token', response_mode: 'strange' })
      assert.equal(got.parameters.get('error'), 'invalid_request')
      assert.equal(responsePart(got), 'fragment')
    },
  },
  {
    id: 'B-03',
    name: 'response_type is a set; an unknown one is unsupported, a missing one is invalid',
    async run(trial) {
      await trial.succeed({ response_type: 'id_token code', response_mode: 'fragment' })
      for (const type of ['foo', 'code foo', 'none'])
        assert.equal(await readError(trial, { response_type: type }), 'unsupported_response_type', type)
      const missing = await answer(trial, { response_type: undefined })
      assert.equal(missing.parameters.get('error'), 'invalid_request')
      assert.equal(responsePart(missing), 'query')
    },
  },
  {
    id: 'B-03',
    name: 'a repeated member is unsupported; a response type that the client is not registered for is unauthorized',
    ours: true,
    async run(trial) {
      assert.equal(await readError(trial, { response_type: 'code code' }), 'unsupported_response_type')
      const narrow = trial.withClient(codeOnly)
      assert.equal(await readError(narrow, { response_type: 'id_token' }), 'unauthorized_client')
    },
  },
  {
    id: 'B-04',
    name: 'every response type returns its own parameters and no others',
    ours: true,
    async run(trial) {
      const common = ['iss', 'session_state', 'state']
      const token = ['access_token', 'expires_in', 'token_type']
      const members: Readonly<Record<string, readonly string[]>> = { code: ['code'], id_token: ['id_token'], token }
      for (const type of [...TYPES, 'token']) {
        const client = type === 'token' ? trial.withClient(ownClients.token) : trial
        const { parameters } = await answer(client, { response_type: type })
        const expected = [...type.split(' ').flatMap((member) => members[member] ?? []), ...common].sort()
        assert.deepEqual([...parameters.keys()].filter((name) => name !== 'scope').sort(), expected, type)
        if (parameters.has('access_token')) assert.equal(parameters.get('token_type'), 'Bearer')
      }
    },
  },
  {
    id: 'B-05',
    name: 'state is returned unchanged in every mode, on success and on error, and only if it was sent',
    async run(trial) {
      for (const mode of ['query', 'fragment', 'form_post']) {
        for (const state of STATES) {
          const good = await answer(trial, { state, response_mode: mode })
          assert.equal(good.parameters.get('state'), state)
          const bad = await answer(trial.fresh(), { state, response_mode: mode, prompt: 'none' })
          assert.equal(bad.parameters.get('state'), state)
        }
        for (const state of [undefined, '']) {
          const { parameters } = await answer(trial, { state, response_mode: mode })
          assert.ok(!parameters.has('state'))
        }
      }
    },
  },
  {
    id: 'B-06',
    name: 'iss is in every response of every response type and mode',
    ours: true,
    async run(trial) {
      const { issuer, metadata } = trial.provider
      assert.equal(metadata.authorization_response_iss_parameter_supported, true)
      for (const type of TYPES) {
        for (const mode of ['fragment', 'form_post']) {
          const changes = { response_type: type, response_mode: mode }
          assert.equal((await answer(trial, changes)).parameters.get('iss'), issuer)
          const refused = await answer(trial, { ...changes, prompt: 'none login' })
          assert.equal(refused.parameters.get('iss'), issuer)
        }
      }
    },
  },
  {
    id: 'B-07',
    name: 'session_state is in every OpenID response: hash, dot, salt, no space; a new salt each time',
    ours: true,
    async run(trial) {
      const states = new Set<string>()
      for (const type of TYPES) {
        const { parameters } = await answer(trial, { response_type: type })
        const state = parameters.get('session_state') ?? ''
        assert.match(state, /^[\w-]+\.[\w-]+$/)
        states.add(state)
      }
      assert.equal(states.size, TYPES.length)
      const plain = await answer(trial, { scope: 'profile', response_type: 'code' })
      assert.ok(!plain.parameters.has('session_state'))
    },
  },
  {
    id: 'B-08',
    name: 'authorize accepts GET and form POST, each with its own parameters only',
    async run(trial) {
      await trial.succeed({}, 'POST')
      const url = new URL(trial.provider.metadata.authorization_endpoint)
      for (const [name, value] of listPairs(trial.request())) url.searchParams.set(name, value)
      const posted = await trial.agent.post(url, [])
      assert.ok(posted.kind === 'page' && posted.status >= 400, 'a POST took its parameters from the query')
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const { status } = await fetch(url, { method })
        assert.ok(status === 405 || status === 404, `${method} ${status}`)
      }
    },
  },
  {
    id: 'B-08',
    name: 'another method is 405 with Allow',
    ours: true,
    async run({ provider }) {
      const { status, headers } = await fetch(provider.metadata.authorization_endpoint, { method: 'DELETE' })
      assert.equal(status, 405)
      const allowed = headers
        .get('allow')
        ?.split(', ')
        .filter((method) => method !== 'HEAD')
      assert.deepEqual(allowed, ['GET', 'POST'])
    },
  },
  {
    id: 'B-10',
    name: 'an unknown client or redirect URI gets an error page',
    async run(trial) {
      for (const changes of [
        { client_id: undefined },
        { client_id: 'nobody' },
        { redirect_uri: undefined },
        { redirect_uri: 'https://evil.example/callback' },
        { redirect_uri: 'not an address' },
        { redirect_uri: `${CALLBACK}#fragment` },
        { redirect_uri: '/callback' },
      ] satisfies TrialParameters[])
        await errorPage(trial.withClient(twoAddresses), changes)
    },
  },
  {
    id: 'B-10',
    name: 'a disabled client, and a repeated client_id or redirect_uri, get an error page',
    ours: true,
    async run(trial) {
      await errorPage(trial.withClient(ownClients.disabled), {})
      for (const name of ['client_id', 'redirect_uri']) {
        const request = listPairs(trial.request())
        assertErrorPage(await sendPairs(trial, [...request, ...request.filter(([other]) => other === name)]))
      }
    },
  },
  {
    id: 'B-11',
    name: 'with a valid client and redirect URI every other error is returned to the client',
    async run(trial) {
      for (const [error, changes] of [
        ['invalid_request', { response_type: undefined }],
        ['invalid_request', { prompt: 'none login' }],
        ['invalid_request', { max_age: 'soon' }],
        ['invalid_request', { response_type: 'id_token', nonce: undefined }],
        ['unsupported_response_type', { response_type: 'magic' }],
        ['invalid_request', { claims: '{' }],
      ] satisfies [string, TrialParameters][])
        assert.equal(await readError(trial, changes), error, JSON.stringify(changes))
    },
  },
  {
    id: 'B-12',
    name: 'redirect URIs are compared as strings',
    async run(trial) {
      for (const address of [
        `${CALLBACK}/`,
        CALLBACK.toUpperCase(),
        CALLBACK.replace('/callback', '/Callback'),
        CALLBACK.replace('/callback', '/%63allback'),
        CALLBACK.replace('.com', '.com:443'),
        `${CALLBACK}?`,
        `${CALLBACK}?x=y`,
        CALLBACK.slice(0, -1),
      ])
        await errorPage(trial, { redirect_uri: address })
    },
  },
  {
    id: 'B-13',
    name: 'access_denied if the user denies consent',
    ours: true,
    async run(trial) {
      const url = new URL(trial.provider.metadata.authorization_endpoint)
      for (const [name, value] of listPairs(trial.request({ prompt: 'login consent' })))
        url.searchParams.set(name, value)
      const page = await trial.agent.get(url)
      assert.ok(page.kind === 'page')
      const question = await signIn(trial.agent, page, person)
      const { end } = await visit(trial.agent, question, person, 'refuse')
      assert.ok(end.kind === 'left')
      assert.equal(end.url.searchParams.get('error'), 'access_denied')
    },
  },
  {
    id: 'B-14',
    name: 'a repeated parameter is invalid_request; a repeated state is not returned',
    async run(trial) {
      for (const name of ['scope', 'nonce', 'response_type', 'state']) {
        const request = listPairs(trial.request())
        const got = await sendPairs(trial, [...request, ...request.filter(([other]) => other === name)])
        assertRedirected(got)
        assert.equal(got.parameters.get('error'), 'invalid_request', name)
        if (name === 'state') assert.ok(!got.parameters.has('state'))
      }
    },
  },
  {
    id: 'B-15',
    name: 'unknown parameters are ignored and empty ones count as absent',
    async run(trial) {
      await trial.succeed({ something: 'else', prompt: '', max_age: '', response_mode: '', claims: '', display: '' })
      assert.equal(await readError(trial, { response_type: '' }), 'invalid_request')
    },
  },
]
