/** The FAPI 2.0 modules of clients that do everything right. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { checkClaimTypes } from '../../support/id-token.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { readName } from '../../support/visitor.ts'
import {
  checkDenied,
  checkGranted,
  checkPushed,
  checkPushRefused,
  checkServed,
  checkTokens,
  readResponse,
  type Tokens,
} from './checks.ts'
import { type FapiModule, grantTokens, inAll, inOpenid, inSigned, succeed } from './flow.ts'
import { sendGet } from './http.ts'
import { type Bench, type Party, type PartyParameters, randomText } from './party.ts'
import { checkTls } from './tls.ts'

export const flowModules: readonly FapiModule[] = [
  { id: 'fapi2-security-profile-final-happy-flow', isIn: inAll, run: happyFlow },
  { id: 'fapi2-security-profile-final-user-rejects-authentication', run: refuse },
  {
    id: 'fapi2-security-profile-final-ensure-request-object-with-multiple-aud-succeeds',
    isIn: inSigned,
    run: (bench) => {
      const aud = [bench.metadata.issuer, 'https://other1.example.com', 'invalid']
      return succeed(bench, bench.party, { push: { object: { claims: { aud } } }, open: { isMinimal: true } })
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-request-without-state-success',
    run: (bench) => succeed(bench, bench.party, { request: { state: undefined } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-request-without-nonce-success',
    isIn: inOpenid,
    run: (bench) => succeed(bench, bench.party, { request: { nonce: undefined } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-request-with-64-char-nonce-success',
    isIn: inOpenid,
    run: (bench) => succeed(bench, bench.party, { request: { nonce: randomText(64) } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-other-scope-order-succeeds',
    isIn: inOpenid,
    run: (bench) => {
      const scope = bench.party.client.scope.split(' ').reverse().join(' ')
      return succeed(bench, bench.party, { request: { scope } })
    },
  },
  { id: 'fapi2-security-profile-final-test-claims-parameter-identity-claims', isIn: inOpenid, run: askClaims },
  {
    id: 'fapi2-security-profile-final-access-token-type-header-case-sensitivity',
    isIn: inAll,
    run: (bench) => succeed(bench, bench.party, { proof: { scheme: 'dpOp' } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
    isIn: inSigned,
    run: (bench) => {
      const nbf = Math.floor(bench.target.now() / 1000) + 8
      return succeed(bench, bench.party, { push: { object: { claims: { nbf } } } })
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-different-nonce-inside-and-outside-request-object',
    isIn: inOpenid,
    run: (bench) => succeed(bench, bench.party, { open: { outer: { nonce: randomText(10) } } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-different-state-inside-and-outside-request-object',
    run: (bench) => succeed(bench, bench.party, { open: { outer: { state: randomText(10) } } }),
  },
  {
    id: 'fapi2-security-profile-final-state-only-outside-request-object-not-used',
    run: (bench) =>
      succeed(bench, bench.party, { request: { state: undefined }, open: { outer: { state: randomText(10) } } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-request-with-long-nonce',
    isIn: inOpenid,
    run: (bench) => succeedOrRefuse(bench, { nonce: randomText(384) }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-authorization-request-with-long-state',
    run: (bench) => succeedOrRefuse(bench, { state: randomText(1000) }),
  },
  {
    id: 'fapi2-security-profile-final-par-without-duplicate-parameters',
    run: (bench) => succeed(bench, bench.party, { open: { isMinimal: true } }),
  },
  {
    id: 'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds',
    run: openTwice,
  },
]

/** Both clients, the second with a redirect URI that has a query; then a key with the other's token. */
async function happyFlow(bench: Bench): Promise<void> {
  const { target, plan, party, otherParty } = bench
  await checkTls(target.resource(plan))
  const first = await grantTokens(bench, party)
  await useResource(bench, party, first)
  const dpopJkt = { dpop_jkt: otherParty.proofMaker.thumbprint }
  const second = await succeed(bench, otherParty, { request: dpopJkt, open: { isReversed: true } })
  const { status } = await party.resource(second.accessToken)
  assert.ok(status >= 400 && status < 500, `the token of another key: ${status}`)
  if (first.idToken !== undefined)
    for (const name of Object.keys(first.idToken)) assert.ok(UNASKED.has(name), `${name} in the ID token`)
}

/** The claims that may be in an ID token unasked, beyond those of the scopes. */
const UNASKED = new Set('iss sub aud exp iat auth_time nonce acr amr azp at_hash c_hash nbf jti sid s_hash'.split(' '))

async function useResource({ target, plan }: Bench, party: Party, { accessToken }: Tokens): Promise<void> {
  const id = randomUUID()
  const fapi = {
    'x-fapi-auth-date': new Date(target.now()).toUTCString(),
    'x-fapi-customer-ip-address': '198.51.100.119',
    'x-fapi-interaction-id': id,
  }
  const served = await party.resource(accessToken, {}, fapi)
  checkServed(served)
  const echoed = served.headers['x-fapi-interaction-id']
  assert.ok(echoed === undefined || echoed === id)
  const url = new URL(target.resource(plan))
  const proof = party.proofMaker.prove({ url: url.href, accessToken, now: target.now() })
  url.searchParams.set('access_token', accessToken)
  const { status } = await sendGet(url.href, { DPoP: proof })
  assert.ok([400, 401, 414].includes(status), `a token in the query: ${status}`)
  const version6 = { 'x-fapi-customer-ip-address': '2001:db8::1893:25c8:1946' }
  checkServed(await party.resource(accessToken, {}, { ...fapi, ...version6, 'accept-charset': 'utf-8' }))
  checkServed(await party.resource(accessToken, {}, { accept: 'application/json, application/*+json, */*' }))
}

async function refuse(bench: Bench): Promise<void> {
  for (const party of [bench.party, bench.otherParty]) {
    // The question is asked even if it was answered before.
    const request = party.request({ state: randomText(128), prompt: 'consent' })
    const { requestUri } = checkPushed(await party.push(request))
    const end = await party.open(request, requestUri, { isRefused: true })
    checkDenied(bench, request, await readResponse(bench, party, end), ['access_denied'])
  }
}

/** Each claim that the provider names, as voluntary, as essential and with a value; unknown members are ignored. */
async function askClaims(bench: Bench): Promise<void> {
  const { metadata, party } = bench
  if (metadata.claims_parameter_supported !== true) return
  const supported: unknown = metadata.claims_supported
  assert.ok(Array.isArray(supported))
  const names = supported.map(String).filter((name) => STANDARD.has(name))
  const forms = [null, { essential: true }, { essential: false }]
  const wanted = Object.fromEntries(names.map((name, index) => [name, forms[index % forms.length]]))
  const claims = { id_token: wanted, userinfo: wanted, [randomText(10)]: { [randomText(10)]: null } }
  const { accessToken, idToken = {} } = await grantTokens(bench, party, { request: { claims } })
  const served = await party.resource(accessToken)
  checkServed(served)
  checkClaimTypes(served.json)
  assert.equal(served.json.sub, idToken.sub, 'OpenID Connect Core §5.3.2')
  for (const name of names) assert.ok(name in served.json || name in idToken, `${name} is missing`)
  for (const name of Object.keys(served.json)) assert.ok(STANDARD.has(name), `${name} in userinfo`)
  for (const name of Object.keys(idToken))
    assert.ok(STANDARD.has(name) || (UNASKED.has(name) && name !== 'sid'), `${name} in the ID token`)
}

const STANDARD = new Set(
  [
    'sub name given_name family_name middle_name nickname preferred_username profile picture website email',
    'email_verified gender birthdate zoneinfo locale phone_number phone_number_verified address updated_at',
  ]
    .join(' ')
    .split(' '),
)

/** A long value comes back whole, or the pushed request is refused. */
async function succeedOrRefuse(bench: Bench, changes: PartyParameters): Promise<void> {
  const { party } = bench
  const request = party.request(changes)
  const pushed = await party.push(request)
  if (pushed.status !== 201) return checkPushRefused(pushed, ['invalid_request'])
  const end = await party.open(request, checkPushed(pushed).requestUri)
  const code = checkGranted(bench, request, await readResponse(bench, party, end))
  await checkTokens(bench, party, await party.redeem(request, code), request)
}

/** A request URI serves until there is an answer, so that a page can be loaded again. */
async function openTwice(bench: Bench): Promise<void> {
  const { party, target } = bench
  const agent = createUserAgent({ home: target.issuer, now: target.now })
  const request = party.request()
  const { requestUri } = checkPushed(await party.push(request))
  const first = await agent.get(party.authorizeUrl(request, requestUri))
  assert.ok(first.kind === 'page' && readName(first) === 'sign-in', 'the sign-in page is shown')
  const response = await readResponse(bench, party, await party.open(request, requestUri, { agent }))
  checkGranted(bench, request, response)
}
