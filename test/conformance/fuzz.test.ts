/** Fuzzes every endpoint with random parameters: no server errors, no open redirects, no tokens. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../support/any-text.ts'
import { IS_LONG_RUN, onSqlite } from '../support/engines.ts'
import { readForms } from '../support/html-form.ts'
import { type Gatehouse, planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import { CALLBACK, clientFixtures } from '../support/providers/provider.ts'

/** For a longer run: TEST_FUZZ_REQUESTS=1000000. */
const REQUESTS = Number(process.env.TEST_FUZZ_REQUESTS ?? (IS_LONG_RUN ? 10_000 : 600))
const CONCURRENT = 20

interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly query: readonly (readonly [string, string])[]
  readonly form: readonly (readonly [string, string])[]
  readonly headers: Readonly<Record<string, string>>
}

const PATHS = [
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/jwks',
  '/.well-known/oauth-authorization-server',
  '/connect/authorize',
  '/connect/token',
  '/connect/userinfo',
  '/connect/introspect',
  '/connect/revocation',
  '/connect/deviceauthorization',
  '/connect/endsession',
  '/connect/checksession',
  '/sign-in',
  '/second-factor',
  '/consent',
  '/choose-account',
  '/device',
  '/device/decision',
  '/sign-out',
  '/account',
  '/account/profile',
  '/account/password',
  '/account/passkey',
  '/account/authenticator',
  '/account/sign-out',
]

const NAMES = [
  'client_id client_secret redirect_uri response_type response_mode scope state nonce prompt max_age id_token_hint',
  'login_hint ui_locales claims_locales acr_values display claims request request_uri registration code_challenge',
  'code_challenge_method code code_verifier grant_type username password refresh_token device_code user_code token',
  'token_type_hint access_token post_logout_redirect_uri logout_hint flow form_token action decision credential sealed',
]
  .join(' ')
  .split(' ')

/** Valid values in wrong places reach more code than random ones. */
const VALUES = [
  ...Object.values(clientFixtures('https://127.0.0.1:1/')).map(({ client_id: id }) => id),
  CALLBACK,
  `${CALLBACK}?foo=bar`,
  'https://evil.example/callback',
  '//evil.example',
  'javascript:alert(1)',
  'code',
  'token',
  'id_token',
  'code id_token token',
  'none',
  'query',
  'fragment',
  'form_post',
  'openid',
  'openid profile email offline_access',
  'Platform/Admin',
  'login',
  'consent',
  'select_account',
  'authorization_code',
  'client_credentials',
  'password',
  'refresh_token',
  'implicit',
  'urn:ietf:params:oauth:grant-type:device_code',
  'S256',
  'plain',
  'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  'buffy',
  '0',
  '-1',
  '99999999999999999999',
  '{"id_token":{"sub":{"value":"x"}}}',
  '{"userinfo":null}',
  '[[[[[[[[',
  'eyJhbGciOiJub25lIn0.eyJpc3MiOiJjbGllbnQifQ.',
  'eyJhbGciOiJSUzI1NiJ9.e30.AAAA',
  '<script>alert(1)</script>',
  "' or 1=1 --",
  '\u0000',
  '\r\nset-cookie: a=b',
  '😀'.repeat(20),
  '%',
  'allow',
  'leave',
]

const value = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 1, arbitrary: anyText({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 600 }) },
)
const pair = fc.tuple(
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: fc.string() }),
  value,
)
const pairs = fc.array(pair, { maxLength: 12 })
/** A valid authorization request with random changes. */
const nearlyRight = pairs.map((changes): (readonly [string, string])[] => [
  ...new Map<string, string>([
    ['client_id', 'client'],
    ['redirect_uri', CALLBACK],
    ['response_type', 'code'],
    ['scope', 'openid'],
    ...changes,
  ]),
])
const headers = fc.record(
  {
    authorization: fc.constantFrom(
      'Basic',
      'Basic !!!!',
      `Basic ${Buffer.from('client:wrong').toString('base64')}`,
      `Basic ${Buffer.from('no colon').toString('base64')}`,
      'Bearer',
      'Bearer eyJhbGciOiJub25lIn0.e30.',
      'Bearer a b',
      'Digest x',
    ),
    cookie: fc.constantFrom('__Host-session=x', '__Host-gatehouse=%00', 'a=b; =; ;', '__Host-session="'),
    'content-type': fc.constantFrom(
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded; charset=utf-7',
      'x',
    ),
    origin: fc.constantFrom('null', 'https://evil.example', 'http://['),
    'x-forwarded-host': fc.constant('evil.example'),
    'x-forwarded-proto': fc.constant('gopher'),
  },
  { requiredKeys: [] },
)
const request: fc.Arbitrary<FuzzRequest> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'POST', 'PUT', 'OPTIONS', 'HEAD'),
  path: fc.constantFrom(...PATHS, '/connect/authorize', '/connect/authorize', '/connect/token', '/connect/token'),
  query: fc.oneof(pairs, nearlyRight),
  form: fc.oneof(pairs, nearlyRight),
  headers: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
})

onSqlite('random parameters', (place) => {
  let gatehouse: Gatehouse
  before(async () => {
    gatehouse = await startGatehouse(place(), { declaration: planDeclaration('https://127.0.0.1:1/') })
  })
  after(() => gatehouse.stop())

  test(`${REQUESTS} random requests: no 5xx, no redirect to an unregistered URI, no token`, async () => {
    const batch = fc.array(request, { minLength: CONCURRENT, maxLength: CONCURRENT })
    const runs = Math.ceil(REQUESTS / CONCURRENT)
    await fc.assert(
      fc.asyncProperty(batch, async (requests) => {
        await Promise.all(requests.map((one) => send(gatehouse.issuer, one)))
      }),
      { numRuns: runs },
    )
  })
})

async function send(issuer: string, { method, path, query, form, headers: extra }: FuzzRequest): Promise<void> {
  const url = new URL(path, issuer)
  url.search = encode(query)
  const hasBody = method === 'POST' || method === 'PUT'
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {}), ...extra },
    ...(hasBody ? { body: encode(form) } : {}),
  })
  const body = await response.text()
  assert.ok(response.status < 500, `${response.status} ${body}`)
  const location = response.headers.get('location')
  if (location !== null) assertKnown(new URL(location, url), issuer)
  for (const { action } of readForms(body, url)) assertKnown(action, issuer)
  for (const text of [location ?? '', body]) {
    assert.doesNotMatch(text, /(?:access_token|id_token|refresh_token|[?&#"]code)["=:\s]+[\w-]{20,}/, text)
  }
  assert.equal(response.headers.get('set-cookie')?.includes('a=b') ?? false, false, 'a header was injected')
}

function assertKnown(url: URL, issuer: string): void {
  if (url.origin === issuer) return
  assert.equal(url.origin + url.pathname, CALLBACK, `redirected to ${url}`)
}

function encode(entries: readonly (readonly [string, string])[]): string {
  return new URLSearchParams(entries.map(([name, text]): [string, string] => [name, text.toWellFormed()])).toString()
}
