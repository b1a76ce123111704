/** The modules about the discovery document and the keys. */
import assert from 'node:assert/strict'
import type { Provider } from '../support/providers/provider.ts'

export interface ConfigModule {
  readonly id: string
  readonly run: (provider: Provider) => Promise<unknown>
}

export const configModules: readonly ConfigModule[] = [
  { id: 'oidcc-discovery-endpoint-verification', run: verifyDiscovery },
  {
    id: 'oidcc-rp-initiated-logout-discovery-endpoint-verification',
    run: async ({ metadata }) => assertHttps(metadata.end_session_endpoint),
  },
  {
    id: 'oidcc-session-management-discovery-endpoint-verification',
    async run({ metadata }) {
      assertHttps(metadata.check_session_iframe)
      assertHttps(metadata.end_session_endpoint)
    },
  },
  {
    id: 'oidcc-frontchannel-logout-discovery-endpoint-verification',
    async run({ metadata }) {
      assert.equal(metadata.frontchannel_logout_supported, true)
      assert.equal(metadata.frontchannel_logout_session_supported, true)
      assertHttps(metadata.end_session_endpoint)
    },
  },
  {
    id: 'oidcc-backchannel-logout-discovery-endpoint-verification',
    async run({ metadata }) {
      assert.equal(metadata.backchannel_logout_supported, true)
      assert.equal(metadata.backchannel_logout_session_supported, true)
      assertHttps(metadata.end_session_endpoint)
    },
  },
]

async function verifyDiscovery(provider: Provider): Promise<void> {
  const response = await fetch(`${provider.issuer}/.well-known/openid-configuration`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const document = (await response.json()) as Record<string, unknown>
  assert.equal(document.issuer, provider.issuer)
  const issuer = new URL(provider.issuer)
  assert.deepEqual([issuer.protocol, issuer.search, issuer.hash, issuer.username], ['https:', '', '', ''])
  assert.ok(requireList(document.response_types_supported).some((type) => RESPONSE_TYPES.has(type)))
  assert.ok(requireList(document.subject_types_supported).includes('public'))
  assert.ok(requireList(document.id_token_signing_alg_values_supported).includes('RS256'))
  for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'])
    assertHttps(document[name])
  if (document.grant_types_supported !== undefined) assert.ok(requireList(document.grant_types_supported).length > 0)
  const scopes = requireList(document.scopes_supported)
  assert.ok(scopes.includes('openid'))
  for (const scope of scopes) assert.match(scope, /^[\x21\x23-\x5b\x5d-\x7e]+$/)
  for (const name of ['ui_locales_supported', 'claims_locales_supported'])
    if (document[name] !== undefined) for (const tag of requireList(document[name])) new Intl.Locale(tag)
  if (document.code_challenge_methods_supported !== undefined) requireList(document.code_challenge_methods_supported)
  assert.ok(requireList(document.claims_supported).length > 0)
  assert.ok(requireList(document.request_object_signing_alg_values_supported).includes('RS256'))
  for (const [name, value] of Object.entries(document)) {
    assert.ok(REGISTERED.has(name), `${name} is not registered metadata`)
    assert.ok(value !== null && value !== '' && !(Array.isArray(value) && value.length === 0), `${name} is empty`)
  }
  await verifyKeys(String(document.jwks_uri))
}

async function verifyKeys(address: string): Promise<void> {
  const response = await fetch(address)
  assert.equal(response.status, 200)
  const { keys } = (await response.json()) as { keys: Record<string, unknown>[] }
  assert.ok(keys.length > 0)
  const kids = new Set<unknown>()
  for (const key of keys) {
    assert.notEqual(key.kty, 'oct')
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']) assert.ok(!(secret in key), secret)
    if (key.kty === 'RSA') for (const part of [key.n, key.e]) assert.match(String(part), /^[A-Za-z0-9_-]+$/)
    assert.equal(typeof key.kid, 'string')
    assert.ok(!kids.has(key.kid), `the kid ${key.kid} is not unique`)
    kids.add(key.kid)
  }
}

function assertHttps(value: unknown): void {
  const address = new URL(String(value))
  assert.equal(address.protocol, 'https:')
}

function requireList(value: unknown): string[] {
  assert.ok(Array.isArray(value) && value.every((item) => typeof item === 'string'), JSON.stringify(value))
  return value
}

const RESPONSE_TYPES = new Set([
  'code',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
])

/** The registered authorization server metadata that a provider of this kind may use. */
const REGISTERED = new Set(
  [
    'issuer authorization_endpoint token_endpoint jwks_uri registration_endpoint scopes_supported',
    'response_types_supported response_modes_supported grant_types_supported acr_values_supported',
    'token_endpoint_auth_methods_supported token_endpoint_auth_signing_alg_values_supported',
    'service_documentation ui_locales_supported op_policy_uri op_tos_uri prompt_values_supported',
    'revocation_endpoint revocation_endpoint_auth_methods_supported',
    'revocation_endpoint_auth_signing_alg_values_supported',
    'introspection_endpoint introspection_endpoint_auth_methods_supported',
    'introspection_endpoint_auth_signing_alg_values_supported',
    'code_challenge_methods_supported userinfo_endpoint subject_types_supported',
    'id_token_signing_alg_values_supported userinfo_signing_alg_values_supported',
    'request_object_signing_alg_values_supported display_values_supported claim_types_supported',
    'claims_supported claims_locales_supported claims_parameter_supported request_parameter_supported',
    'request_uri_parameter_supported require_request_uri_registration device_authorization_endpoint',
    'pushed_authorization_request_endpoint dpop_signing_alg_values_supported',
    'authorization_response_iss_parameter_supported check_session_iframe end_session_endpoint',
    'frontchannel_logout_supported frontchannel_logout_session_supported',
    'backchannel_logout_supported backchannel_logout_session_supported',
  ]
    .join(' ')
    .split(' '),
)
