/** The discovery document (OpenID Connect Discovery §3, RFC 8414) and the published keys. */

import { SCOPES } from 'gatehouse-protocol'
import { JSON_TYPE } from '../../http/context.ts'
import type { Route } from '../../http/route.ts'
import { GRANT_TYPES, RESPONSE_TYPES } from '../../store/clients/client-metadata.ts'
import type { Signer } from '../tokens/signer.ts'

const HEADERS = { 'cache-control': 'public, max-age=300' } as const
const METADATA_PATH = '/.well-known/oauth-authorization-server'
/** RFC 8414 §2: public clients authenticate by no method. The contract's list in the OpenID document has no such member. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post']
const PUBLIC_CLIENTS = {
  token_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
  revocation_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
}
const JWKS_PATH = '/.well-known/openid-configuration/jwks'

export function discoveryRoutes(issuer: string, signer: Pick<Signer, 'jwks'>): readonly Route[] {
  const discovery = discoveryDocument(issuer)
  let keys = signer.jwks()
  let jwks = JSON.stringify(keys)
  // RFC 8414 §3.1: the well-known part precedes the path of the issuer.
  const { pathname } = new URL(issuer)
  const paths = [METADATA_PATH, ...(pathname === '/' ? [] : [METADATA_PATH + pathname])]
  const openId = JSON.stringify(discovery)
  const metadata = JSON.stringify({ ...discovery, ...PUBLIC_CLIENTS })
  return [
    documentRoute('/.well-known/openid-configuration', () => openId),
    ...paths.map((path) => documentRoute(path, () => metadata)),
    documentRoute(JWKS_PATH, () => {
      if (signer.jwks() !== keys) {
        keys = signer.jwks()
        jwks = JSON.stringify(keys)
      }
      return jwks
    }),
  ]
}

function documentRoute(path: string, read: () => string): Route {
  return {
    method: 'GET',
    path,
    handle(context) {
      context.setHeaders(HEADERS)
      context.send(JSON_TYPE, read())
    },
  }
}

/** The members of the contract in its order, then the others that clients need. */
function discoveryDocument(issuer: string): Readonly<Record<string, unknown>> {
  return {
    issuer,
    jwks_uri: issuer + JWKS_PATH,
    authorization_endpoint: `${issuer}/connect/authorize`,
    token_endpoint: `${issuer}/connect/token`,
    userinfo_endpoint: `${issuer}/connect/userinfo`,
    end_session_endpoint: `${issuer}/connect/endsession`,
    check_session_iframe: `${issuer}/connect/checksession`,
    revocation_endpoint: `${issuer}/connect/revocation`,
    introspection_endpoint: `${issuer}/connect/introspect`,
    device_authorization_endpoint: `${issuer}/connect/deviceauthorization`,
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    scopes_supported: SCOPES,
    claims_supported: [
      'sub',
      'updated_at',
      'locale',
      'zoneinfo',
      'birthdate',
      'gender',
      'website',
      'picture',
      'profile',
      'preferred_username',
      'nickname',
      'middle_name',
      'given_name',
      'family_name',
      'name',
      'email',
      'email_verified',
      'role',
    ],
    grant_types_supported: GRANT_TYPES,
    response_types_supported: RESPONSE_TYPES,
    response_modes_supported: ['form_post', 'query', 'fragment'],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    id_token_signing_alg_values_supported: ['RS256'],
    subject_types_supported: ['public'],
    code_challenge_methods_supported: ['plain', 'S256'],
    request_parameter_supported: true,
    request_object_signing_alg_values_supported: ['RS256'],
    // Absent would mean true.
    request_uri_parameter_supported: false,
    claims_parameter_supported: true,
    authorization_response_iss_parameter_supported: true,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    introspection_endpoint_auth_methods_supported: AUTH_METHODS,
  }
}
