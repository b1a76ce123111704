/** The FAPI 2.0 module about the provider's metadata. */
import assert from 'node:assert/strict'
import { ALGS } from './checks.ts'
import { type FapiModule, inAll } from './flow.ts'
import type { Bench, Metadata } from './party.ts'
import type { Plan } from './plan.ts'

export const discoveryModules: readonly FapiModule[] = [
  { id: 'fapi2-security-profile-final-discovery-end-point-verification', isIn: inAll, run: verifyMetadata },
]

/** OpenID Connect Discovery §4 with openid, RFC 8414 §3 without. */
export async function readMetadata(issuer: string, { openid }: Plan): Promise<Metadata> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const address = openid
    ? `${origin}${path}/.well-known/openid-configuration`
    : `${origin}/.well-known/oauth-authorization-server${path}`
  const response = await fetch(address)
  assert.equal(response.status, 200, address)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  return (await response.json()) as Metadata
}

async function verifyMetadata({ metadata, plan, target, party, otherParty }: Bench): Promise<void> {
  assert.equal(metadata.issuer, target.issuer)
  const { protocol, search, hash, username } = new URL(metadata.issuer)
  assert.deepEqual([protocol, search, hash, username], ['https:', '', '', ''], 'RFC 8414 §2')
  for (const [name, value] of Object.entries(metadata)) verifyMember(name, value)
  assertHttps(metadata.token_endpoint)
  assertAlgs(metadata, 'dpop_signing_alg_values_supported')
  assert.ok(requireList(metadata, 'token_endpoint_auth_methods_supported').includes('private_key_jwt'))
  assertAlgs(metadata, 'token_endpoint_auth_signing_alg_values_supported')
  if (metadata.registration_endpoint !== undefined) assertHttps(metadata.registration_endpoint)
  // A warning of the happy flow.
  if (metadata.scopes_supported !== undefined) {
    const scopes = requireList(metadata, 'scopes_supported')
    for (const { client } of [party, otherParty])
      for (const scope of client.scope.split(' ')) assert.ok(scopes.includes(scope), scope)
  }
  if (plan.credentials) {
    assert.ok(requireList(metadata, 'grant_types_supported').includes('client_credentials'))
    return
  }
  assertHttps(metadata.authorization_endpoint)
  assertHttps(metadata.pushed_authorization_request_endpoint)
  assert.ok(requireList(metadata, 'response_types_supported').includes('code'))
  assert.ok(requireList(metadata, 'code_challenge_methods_supported').includes('S256'))
  assertAlgs(metadata, 'id_token_signing_alg_values_supported')
  if (metadata.userinfo_signing_alg_values_supported !== undefined)
    assertAlgs(metadata, 'userinfo_signing_alg_values_supported')
  const mustPush = metadata.require_pushed_authorization_requests
  assert.ok(mustPush === undefined || typeof mustPush === 'boolean')
  // Without the second there is a warning of the refresh module.
  for (const grant of ['authorization_code', 'refresh_token'])
    assert.ok(requireList(metadata, 'grant_types_supported').includes(grant), grant)
  if (plan.signed) assertAlgs(metadata, 'request_object_signing_alg_values_supported')
  if (plan.jarm) {
    assert.ok(requireList(metadata, 'response_modes_supported').includes('jwt'))
    for (const name of ['signing_alg', 'encryption_alg', 'encryption_enc']) {
      const member = `authorization_${name}_values_supported`
      if (metadata[member] !== undefined) requireList(metadata, member)
    }
  } else assert.equal(metadata.authorization_response_iss_parameter_supported, true)
  if (plan.openid) {
    assert.ok(requireList(metadata, 'scopes_supported').includes('openid'))
    assert.ok(requireList(metadata, 'subject_types_supported').includes('public'))
  }
  if (plan.openid || plan.jarm) await verifyKeys(metadata.jwks_uri)
}

/** Names that nobody has registered are a warning, and values of another type a failure. */
function verifyMember(name: string, value: unknown): void {
  if (name === 'issuer' || /_(?:endpoint|uri|iframe)$/.test(name)) {
    assert.ok(URL.canParse(String(value)), name)
    return
  }
  if (FLAGS.has(name)) {
    assert.equal(typeof value, 'boolean', name)
    return
  }
  assert.ok(LISTS.has(name), `${name} is not registered metadata`)
  assert.ok(Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== ''), name)
  if (name === 'scopes_supported') for (const scope of value) assert.match(scope, /^[\x21\x23-\x5b\x5d-\x7e]+$/)
  if (name.endsWith('_locales_supported'))
    for (const tag of value) assert.equal(Intl.getCanonicalLocales(tag)[0], tag, 'RFC 5646 §2.1.1')
}

const FLAGS: ReadonlySet<string> = new Set(
  [
    'claims_parameter_supported request_parameter_supported request_uri_parameter_supported',
    'require_request_uri_registration require_pushed_authorization_requests require_signed_request_object',
    'authorization_response_iss_parameter_supported frontchannel_logout_supported',
    'frontchannel_logout_session_supported backchannel_logout_supported backchannel_logout_session_supported',
  ]
    .join(' ')
    .split(' '),
)

const LISTS: ReadonlySet<string> = new Set(
  [
    'scopes response_types response_modes grant_types subject_types claims claim_types display_values acr_values',
    'prompt_values ui_locales claims_locales code_challenge_methods token_endpoint_auth_methods',
    'token_endpoint_auth_signing_alg_values revocation_endpoint_auth_methods',
    'revocation_endpoint_auth_signing_alg_values introspection_endpoint_auth_methods',
    'introspection_endpoint_auth_signing_alg_values introspection_signing_alg_values id_token_signing_alg_values',
    'userinfo_signing_alg_values request_object_signing_alg_values authorization_signing_alg_values',
    'dpop_signing_alg_values',
  ]
    .join(' ')
    .split(' ')
    .map((name) => `${name}_supported`)
    .concat('protected_resources'),
)

async function verifyKeys(address: string): Promise<void> {
  assertHttps(address)
  const { keys } = (await (await fetch(address)).json()) as { keys: Record<string, unknown>[] }
  assert.ok(keys.length > 0)
  for (const key of keys) {
    assert.equal(typeof key.kid, 'string')
    assert.notEqual(key.kty, 'oct')
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.ok(!(secret in key), secret)
    if (key.kty === 'RSA') assert.ok(Buffer.from(String(key.n), 'base64url').length >= 256, 'RSA of 2048 bits')
  }
}

function assertAlgs(metadata: Metadata, name: string): void {
  const algs = requireList(metadata, name)
  assert.ok(
    ALGS.some((alg) => algs.includes(alg)),
    `${name}: ${algs.join()}`,
  )
}

function assertHttps(value: unknown): void {
  assert.equal(new URL(String(value)).protocol, 'https:')
}

function requireList(metadata: Metadata, name: string): string[] {
  const value = metadata[name]
  assert.ok(
    Array.isArray(value) && value.every((item) => typeof item === 'string'),
    `${name}: ${JSON.stringify(value)}`,
  )
  return value
}
