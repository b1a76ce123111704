/** The rules about clients with the FAPI 2.0 Security Profile (§5.3.2, §5.3.3, §5.4). What they leave open is set by the profile itself. */
import type { Fault } from '../schema/check-schema.ts'
import type { DeclaredClient } from './client-shape.ts'

const GRANTS = ['authorization_code', 'refresh_token', 'client_credentials']
const ALG_MEMBERS = [
  'id_token_signed_response_alg',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
  'access_token_alg',
  'token_endpoint_auth_signing_alg',
  'request_object_signing_alg',
] as const
const ALWAYS = ['require_pkce', 'dpop_bound_access_tokens', 'require_pushed_authorization_requests'] as const

export function profileFaults(client: DeclaredClient): Fault[] {
  if (client.profile !== 'fapi2') return []
  const faults: Fault[] = []
  const fault = (path: string, text: string) => faults.push({ path, text: `fapi2: ${text}` })
  if (client.token_endpoint_auth_method !== 'private_key_jwt')
    fault('token_endpoint_auth_method', 'must be private_key_jwt')
  if (client.federated !== undefined)
    fault('federated', 'the client must authenticate with its own key, in jwks or jwks_uri')
  for (const [index, grant] of (client.grant_types ?? []).entries())
    if (!GRANTS.includes(grant)) fault(`grant_types[${index}]`, `must be one of ${GRANTS.join(', ')}`)
  for (const [index, type] of (client.response_types ?? []).entries())
    if (type !== 'code') fault(`response_types[${index}]`, 'must be code')
  for (const [index, uri] of (client.redirect_uris ?? []).entries()) {
    const url = URL.parse(uri)
    if (url?.protocol !== 'https:') fault(`redirect_uris[${index}]`, 'must use https')
    else if (isLoopback(url.hostname)) fault(`redirect_uris[${index}]`, 'must not be on loopback')
  }
  for (const [index, method] of (client.code_challenge_methods ?? []).entries())
    if (method !== 'S256') fault(`code_challenge_methods[${index}]`, 'must be S256')
  for (const path of ALWAYS) if (client[path] === false) fault(path, 'must not be false')
  for (const path of ALG_MEMBERS) if (client[path] === 'RS256') fault(path, 'must be PS256, ES256 or EdDSA')
  for (const [index, key] of (client.jwks?.keys ?? []).entries())
    if ('alg' in key && key.alg === 'RS256') fault(`jwks.keys[${index}].alg`, 'must be PS256, ES256 or EdDSA')
  return faults
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\./.test(host)
}
