/** The FAPI 2.0 modules of requests that must not be accepted: request objects, parameters and pushed requests with a fault. */
import assert from 'node:assert/strict'
import { checkGranted, checkNotOpened, checkPushed, checkPushRefused, checkServed, readResponse } from './checks.ts'
import { type FapiModule, inSigned, succeed } from './flow.ts'
import type { JwtChanges } from './jws.ts'
import { answerPages, type Bench, type PartyParameters, type PushChanges, randomText } from './party.ts'

const MINUTE = 60
const OBJECT = ['invalid_request_object']
const REQUEST = ['invalid_request']
const EITHER = ['invalid_request', 'invalid_request_object']
const RESPONSE_TYPE = ['unsupported_response_type', 'invalid_request', 'unauthorized_client']

export const requestModules: readonly FapiModule[] = [
  refusedObject('ensure-request-object-without-exp-fails', () => ({ claims: { exp: undefined } })),
  refusedObject('ensure-request-object-without-nbf-fails', () => ({ claims: { nbf: undefined } })),
  refusedObject('ensure-expired-request-object-fails', (now) => ({ claims: { exp: now - 60 * MINUTE } })),
  refusedObject('ensure-request-object-with-bad-aud-fails', () => ({
    claims: { aud: 'https://www.other1.example.com/' },
  })),
  refusedObject('ensure-request-object-with-exp-over-60-fails', (now) => ({ claims: { exp: now + 70 * MINUTE } })),
  refusedObject('ensure-request-object-with-nbf-over-60-fails', (now) => ({ claims: { nbf: now - 70 * MINUTE } })),
  refusedObject('ensure-signed-request-object-with-RS256-fails', () => ({ alg: 'RS256' })),
  refusedObject('ensure-request-object-signature-algorithm-is-not-none', () => ({ alg: 'none' })),
  refusedObject('ensure-request-object-with-invalid-signature-fails', () => ({ isForged: true })),
  refusedObject('par-authorization-request-containing-request_uri', () => ({
    claims: { request_uri: 'urn:example:bwc4JK-ESC0w8acc191e-Y1LTC2' },
  })),
  {
    ...refused('ensure-matching-key-in-authorization-request', EITHER, ({ otherParty }) => ({
      push: { object: { key: otherParty.client.key } },
    })),
    isIn: inSigned,
  },
  {
    ...refused('ensure-unsigned-request-at-par-endpoint-fails', REQUEST, () => ({ push: { isUnsigned: true } })),
    isIn: inSigned,
  },
  refused('ensure-request-object-without-redirect-uri-fails', EITHER, () => ({ request: { redirect_uri: undefined } })),
  refused('ensure-redirect-uri-in-authorization-request', EITHER, () => ({ request: { redirect_uri: undefined } })),
  refused('plain-fapi-tolerate-unregistered-redirect-uri', EITHER, ({ party }) => ({
    request: { redirect_uri: `${party.client.redirectUri}/${randomText(10)}` },
  })),
  refused('ensure-response-type-code-idtoken-fails', RESPONSE_TYPE, () => ({
    request: { response_type: 'code id_token' },
  })),
  refused('ensure-response-type-token-fails', RESPONSE_TYPE, () => ({ request: { response_type: 'token' } })),
  refused('par-ensure-pkce-required', REQUEST, () => ({
    request: { code_challenge: undefined, code_challenge_method: undefined },
  })),
  refused('par-plain-pkce-rejected', REQUEST, () => ({
    request: { code_challenge: randomText(64), code_challenge_method: 'plain' },
  })),
  refused(
    'par-authorization-request-containing-request_uri-form-param',
    [...EITHER, 'request_uri_not_supported'],
    () => ({
      push: { form: { request_uri: 'urn:example:bwc4JK-ESC0w8acc191e-Y1LTC2' } },
    }),
  ),
  refused('ensure-mismatched-dpop-jkt-fails', ['invalid_request', 'invalid_dpop_proof'], ({ otherParty }) => ({
    request: { dpop_jkt: otherParty.proofMaker.thumbprint },
    push: { proof: {} },
  })),
  {
    id: 'fapi2-security-profile-final-par-attempt-invalid-http-method',
    async run({ party }) {
      const { status } = await party.push(party.request(), { method: 'PUT' })
      assert.ok(status >= 400 && status < 600, `status ${status}`)
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-unsigned-authorization-request-without-using-par-fails',
    run: askWithoutPushing,
  },
  { id: 'fapi2-security-profile-final-par-attempt-reuse-request_uri', run: reuseRequestUri },
  { id: 'fapi2-security-profile-final-par-attempt-to-use-expired-request_uri', run: useExpiredRequestUri },
  {
    id: 'fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client',
    async run(bench) {
      const { party, otherParty } = bench
      const request = party.request()
      const { requestUri } = checkPushed(await party.push(request))
      const end = await party.open(request, requestUri, { outer: { client_id: otherParty.client.id } })
      await checkNotOpened(bench, party, end, [...EITHER, 'invalid_request_uri'])
    },
  },
]

interface Refused {
  readonly request?: PartyParameters
  readonly push?: PushChanges
}

/** A pushed request that is refused with one of the errors; the next one is accepted. */
function refused(id: string, errors: readonly string[], changesFor: (bench: Bench) => Refused): FapiModule {
  return {
    id: `fapi2-security-profile-final-${id}`,
    async run(bench) {
      const { request, push } = changesFor(bench)
      checkPushRefused(await bench.party.push(bench.party.request(request), push), errors)
      checkPushed(await bench.party.push(bench.party.request()))
    },
  }
}

function refusedObject(id: string, changesFor: (seconds: number) => JwtChanges): FapiModule {
  const object = (bench: Bench) => changesFor(Math.floor(bench.target.now() / 1000))
  return { ...refused(id, OBJECT, (bench) => ({ push: { object: object(bench) } })), isIn: inSigned }
}

/** An error for the client, or a page. */
async function askWithoutPushing(bench: Bench): Promise<void> {
  const { party, agent, metadata } = bench
  const request = party.request()
  const url = new URL(metadata.authorization_endpoint)
  for (const [name, value] of Object.entries(request)) url.searchParams.set(name, String(value))
  const end = await answerPages(agent, await agent.get(url))
  await checkNotOpened(bench, party, end, REQUEST)
  if (end.kind === 'page') return
  const response = await readResponse(bench, party, end)
  assert.equal(response.get('state'), request.state)
}

async function reuseRequestUri(bench: Bench): Promise<void> {
  const { party } = bench
  const request = party.request()
  const { requestUri } = checkPushed(await party.push(request))
  const response = await readResponse(bench, party, await party.open(request, requestUri))
  const code = checkGranted(bench, request, response)
  const redeemed = await party.redeem(request, code)
  checkServed(await party.resource(String(redeemed.json.access_token)))
  await checkNotOpened(bench, party, await party.open(request, requestUri), ['invalid_request_uri'])
}

async function useExpiredRequestUri(bench: Bench): Promise<void> {
  const { party, target } = bench
  const request = party.request()
  const { requestUri, expiresIn } = checkPushed(await party.push(request))
  await target.elapse(expiresIn * 1000 + 1000)
  await checkNotOpened(bench, party, await party.open(request, requestUri), ['invalid_request_uri'])
  await succeed(bench)
}
