/** The FAPI 2.0 modules of the token endpoint: codes, code verifiers, assertions and refresh tokens. */
import assert from 'node:assert/strict'
import { createProofMaker } from '../../support/dpop.ts'
import { checkClientRefused, checkPushed, checkRefused, checkServed, checkTokens } from './checks.ts'
import { askTokens, type FapiModule, grantCode, grantTokens, inAll, succeed } from './flow.ts'
import type { Reply } from './http.ts'
import type { Assertion, Bench, Party, TokenChanges } from './party.ts'
import { checkTls } from './tls.ts'

const SECOND = 1000
const GRANT = ['invalid_grant']
const UNPROVEN = ['invalid_request', 'invalid_grant', 'invalid_dpop_proof']

export const tokenModules: readonly FapiModule[] = [
  {
    id: 'fapi2-security-profile-final-ensure-client-id-in-token-endpoint',
    isIn: inAll,
    async run(bench) {
      // The other's name and assertion, signed by the first.
      const { id } = bench.otherParty.client
      const assertion = { by: bench.otherParty.client, key: bench.party.client.key }
      const reply = await askTokens(bench, bench.party, { token: { assertion, form: { client_id: id } } })
      checkClientRefused(reply, ['invalid_client', 'invalid_grant'])
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-holder-of-key-required',
    isIn: inAll,
    async run(bench) {
      const { token_endpoint: token, userinfo_endpoint: userinfo, authorization_endpoint: authorize } = bench.metadata
      for (const address of new Set([token, userinfo ?? token, authorize ?? token])) await checkTls(address)
      checkRefused(await askTokens(bench, bench.party, { token: { proof: 'none' } }), UNPROVEN)
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-code-is-bound-to-client',
    async run(bench) {
      const { request, code } = await grantCode(bench, bench.party)
      const assertion = { by: bench.otherParty.client }
      checkRefused(await bench.party.redeem(request, code, { assertion }), GRANT)
    },
  },
  {
    id: 'fapi2-security-profile-final-attempt-reuse-authorization-code-after-one-second',
    async run(bench) {
      const { party, target } = bench
      const { request, code, accessToken } = await succeed(bench)
      await target.elapse(SECOND)
      checkRefused(await party.redeem(request, code), GRANT)
      const { status } = await party.resource(accessToken)
      assert.ok(status >= 400 && status < 500, `RFC 6749 §4.1.2: the access token still works: ${status}`)
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-token-endpoint-fails-with-expired-auth-code',
    async run(bench) {
      const { request, code } = await grantCode(bench, bench.party)
      await bench.target.elapse(62 * SECOND)
      checkRefused(await bench.party.redeem(request, code), GRANT)
    },
  },
  refusedToken('ensure-pkce-code-verifier-required', { form: { code_verifier: undefined } }),
  refusedToken('incorrect-pkce-code-verifier-rejected', { form: { code_verifier: 'w'.repeat(64) } }),
  refusedAssertion('ensure-signed-client-assertion-with-RS256-fails', () => ({ alg: 'RS256' }), ['invalid_client']),
  refusedAssertion('ensure-client-assertion-in-token-endpoint', () => 'none'),
  refusedAssertion('ensure-client-assertion-with-exp-is-5-minutes-in-past-fails', (_bench, now) => ({
    claims: { exp: now - 300 },
  })),
  refusedAssertion('ensure-client-assertion-with-wrong-aud-fails', () => ({
    claims: { aud: 'https://resource.example.com/api/userinfo' },
  })),
  refusedAssertion('ensure-client-assertion-with-no-sub-fails', () => ({ claims: { sub: undefined } })),
  { id: 'fapi2-security-profile-final-ensure-invalid-client-assertions-fail', isIn: inAll, run: refuseAssertions },
  refusedPush('par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails', (_bench, now) => later(now)),
  {
    id: 'fapi2-security-profile-final-par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted',
    run: (bench) => {
      const at = Math.floor(bench.target.now() / 1000) + 8
      return succeed(bench, bench.party, { push: { assertion: { claims: { iat: at, nbf: at } } } })
    },
  },
  refusedPush('par-test-array-as-audience-fails', ({ metadata }) => ({
    claims: { aud: [metadata.issuer, metadata.token_endpoint] },
  })),
  refusedPush('par-test-par-endpoint-url-as-audience-fails', ({ metadata }) => ({
    claims: { aud: metadata.pushed_authorization_request_endpoint },
  })),
  refusedPush('par-test-token-endpoint-url-as-audience-fails', ({ metadata }) => ({
    claims: { aud: metadata.token_endpoint },
  })),
  { id: 'fapi2-security-profile-final-refresh-token', run: refreshTokens },
]

type AssertionFor = (bench: Bench, seconds: number) => Assertion

function refusedToken(id: string, token: TokenChanges): FapiModule {
  return {
    id: `fapi2-security-profile-final-${id}`,
    run: async (bench) => checkRefused(await askTokens(bench, bench.party, { token }), GRANT),
  }
}

function refusedAssertion(id: string, make: AssertionFor, errors?: string[]): FapiModule {
  return {
    id: `fapi2-security-profile-final-${id}`,
    isIn: inAll,
    async run(bench) {
      const assertion = make(bench, Math.floor(bench.target.now() / 1000))
      checkClientRefused(await askTokens(bench, bench.party, { token: { assertion } }), errors)
    },
  }
}

function refusedPush(id: string, make: AssertionFor): FapiModule {
  return {
    id: `fapi2-security-profile-final-${id}`,
    async run(bench) {
      const { party, target } = bench
      const assertion = make(bench, Math.floor(target.now() / 1000))
      checkClientRefused(await party.push(party.request(), { assertion }))
    },
  }
}

/** From more than a minute from now on. */
function later(now: number): Assertion {
  return { claims: { iat: now + 62, nbf: now + 62, exp: now + 122 } }
}

/** Where the plan uses an assertion first: pushed requests, or the token endpoint. */
async function refuseAssertions(bench: Bench): Promise<void> {
  const { party, otherParty, metadata, plan, target } = bench
  const now = Math.floor(target.now() / 1000)
  const token = metadata.token_endpoint
  const send = (assertion: Assertion): Promise<Reply> =>
    plan.credentials ? askTokens(bench, party, { token: { assertion } }) : party.push(party.request(), { assertion })
  const claims = (changes: Record<string, unknown>): Assertion => ({ claims: changes })
  const bad: readonly Assertion[] = [
    'none',
    { type: null },
    { type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
    claims({ sub: undefined }),
    claims({ sub: otherParty.client.id }),
    claims({ iss: undefined }),
    claims({ iss: 'someone' }),
    claims({ aud: undefined }),
    claims({ aud: 'https://resource.example.com/api/userinfo' }),
    ...(plan.credentials ? [] : [claims({ aud: metadata.pushed_authorization_request_endpoint })]),
    claims({ aud: token }),
    claims({ aud: [metadata.issuer, token] }),
    claims({ exp: now - 300 }),
    later(now),
    { alg: 'RS256' },
    { alg: 'none' },
    { isForged: true },
  ]
  for (const assertion of bad) {
    const reply = await send(assertion)
    assert.ok(reply.status >= 400, `${JSON.stringify(assertion)} is accepted`)
    checkClientRefused(reply)
  }
  for (const good of [claims({ iat: now + 8, nbf: now + 8 }), claims({})]) {
    const reply = await send(good)
    if (plan.credentials) await checkTokens(bench, party, reply)
    else checkPushed(reply)
  }
}

async function refreshTokens(bench: Bench): Promise<void> {
  const { party, otherParty, target } = bench
  await requestRefreshToken(bench, party)
  const second = await requestRefreshToken(bench, otherParty)
  const { status } = await party.resource(second.accessToken)
  assert.ok(status >= 400 && status < 500, `the token of another key: ${status}`)
  // Another client's.
  await target.elapse(SECOND)
  checkRefused(await party.token({ grant_type: 'refresh_token', refresh_token: second.refreshToken }), GRANT)
}

async function requestRefreshToken(bench: Bench, party: Party): Promise<{ refreshToken: string; accessToken: string }> {
  const { target } = bench
  const isFirst = party === bench.party
  const prompt = party.client.scope.includes('offline_access') ? { prompt: 'consent' } : {}
  const first = await grantTokens(bench, party, { request: prompt })
  assert.ok(first.refreshToken, 'there is no refresh token')
  const scope = isFirst ? { scope: party.client.scope } : {}

  const refresh = async (token: string) => {
    await target.elapse(SECOND)
    // Refresh tokens of confidential clients are not bound to the key (RFC 9449 §5).
    party.proofMaker = createProofMaker('ES256')
    const form = { grant_type: 'refresh_token', refresh_token: token, ...scope }
    const refreshed = await checkTokens(bench, party, await party.token(form))
    if (first.idToken !== undefined && refreshed.idToken !== undefined) {
      for (const name of ['iss', 'sub', 'aud', 'azp'])
        assert.deepEqual(refreshed.idToken[name], first.idToken[name], `OpenID Connect Core §12.2: ${name}`)
      if (refreshed.idToken.auth_time !== undefined)
        assert.equal(refreshed.idToken.auth_time, first.idToken.auth_time, 'auth_time')
      assert.notEqual(refreshed.idToken.iat, first.idToken.iat, 'iat')
    }
    return refreshed
  }

  let refreshed = await refresh(first.refreshToken)
  if (refreshed.refreshToken !== undefined && refreshed.refreshToken !== first.refreshToken) {
    // A lost answer: the one before still works (FAPI 2.0 Security Profile §5.3.2.1).
    await target.elapse(30 * SECOND)
    refreshed = await refresh(first.refreshToken)
  }
  const current = refreshed.refreshToken ?? first.refreshToken
  if (isFirst) {
    const form = { grant_type: 'refresh_token', refresh_token: current, ...scope }
    const unauthenticated = await party.token(form, { assertion: 'none', form: { client_id: undefined } })
    checkRefused(
      unauthenticated,
      ['invalid_client', 'invalid_request', 'invalid_grant'],
      unauthenticated.json.error === 'invalid_client' ? [401] : [400],
    )
    checkRefused(await party.token(form, { proof: 'none' }), UNPROVEN)
  }
  checkServed(await party.resource(refreshed.accessToken))
  return { refreshToken: current, accessToken: refreshed.accessToken }
}
