/** The discovery document (OpenID Connect Discovery §3), the metadata of the authorization server (RFC 8414), and the published keys. */

import { AGENT_PATH, IDENTITY_AUDIENCE, PLATFORM_AUDIENCE, SCOPES } from 'gatehouse-protocol'
import { JSON_TYPE } from '../../http/context.ts'
import { RESOURCE_METADATA_PATH } from '../../http/protected-resource.ts'
import { PROOF_ALGS } from '../../http/request/proof.ts'
import type { Route } from '../../http/route.ts'
import type { SignatureAlg } from '../../lib/signature-algs.ts'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import { GRANT_TYPES, JWT_BEARER, RESPONSE_TYPES, TOKEN_EXCHANGE } from '../../store/clients/client-metadata.ts'
import { FOREIGN_ALGS } from '../../store/keys/foreign-keys.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { QUERY_PATH, STREAM_PATH } from '../apis/targets.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import type { PushedSettings } from '../authorize/pushed-request.ts'
import { RESPONSE_MODES } from '../authorize/response-modes.ts'
import type { Signer } from '../tokens/signer.ts'

const HEADERS = { 'cache-control': 'public, max-age=300' } as const
const METADATA_PATH = '/.well-known/oauth-authorization-server'
/** RFC 8414 §2: public clients authenticate by no method. The contract's list in the OpenID document has no such member. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post']
const ALL_AUTH_METHODS = [...AUTH_METHODS, 'private_key_jwt']
const CLIENT_AUTHENTICATION = {
  token_endpoint_auth_methods_supported: [...ALL_AUTH_METHODS, 'none'],
  token_endpoint_auth_signing_alg_values_supported: FOREIGN_ALGS,
  revocation_endpoint_auth_methods_supported: [...ALL_AUTH_METHODS, 'none'],
  revocation_endpoint_auth_signing_alg_values_supported: FOREIGN_ALGS,
  introspection_endpoint_auth_methods_supported: ALL_AUTH_METHODS,
  introspection_endpoint_auth_signing_alg_values_supported: FOREIGN_ALGS,
}
const CONTRACT_GRANT_TYPES = GRANT_TYPES.filter((type) => type !== TOKEN_EXCHANGE && type !== JWT_BEARER)
const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'
const RESOURCES = [
  { path: '', audience: IDENTITY_AUDIENCE },
  { path: QUERY_PATH, audience: PLATFORM_AUDIENCE },
  { path: STREAM_PATH, audience: PLATFORM_AUDIENCE },
] as const
const JWKS_PATH = '/.well-known/openid-configuration/jwks'

export interface DiscoveryOptions {
  readonly issuer: string
  readonly signer: Pick<Signer, 'jwks' | 'algs'>
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly attributes: Pick<AttributeDirectory, 'claims'>
  /** Whether the OpenID document says only what the contract does, or all that the metadata of RFC 8414 says. */
  readonly mode: 'exact' | 'complete'
  readonly pushed: PushedSettings
}

export function discoveryRoutes({
  issuer,
  signer,
  apis,
  attributes,
  mode,
  pushed,
}: DiscoveryOptions): readonly Route[] {
  const exact = JSON.stringify(discoveryDocument(issuer))
  const metadata = cacheText(
    () => [apis.known(), attributes.claims(), signer.algs()] as const,
    ([known, claims, algs]) => serverMetadata(issuer, known, claims, algs, pushed),
  )
  return [
    documentRoute('/.well-known/openid-configuration', mode === 'exact' ? () => exact : metadata),
    ...wellKnownPaths(METADATA_PATH, issuer).map((path) => documentRoute(path, metadata)),
    documentRoute(
      JWKS_PATH,
      cacheText(
        () => [signer.jwks()] as const,
        ([keys]) => keys,
      ),
    ),
    ...RESOURCES.flatMap(({ path, audience }) =>
      resourceDocument(path, (known) => known.scopes().filter((scope) => known.findAudience(scope) === audience)),
    ),
    ...(apis.known().agents === undefined ? [] : resourceDocument(AGENT_PATH, (known) => known.agents?.scopes ?? [])),
  ]

  function resourceDocument(path: string, scopes: (known: KnownScopes) => readonly string[]): readonly Route[] {
    const text = cacheText(
      () => [apis.known()] as const,
      ([known]) => resourceMetadata(issuer, path, scopes(known)),
    )
    return wellKnownPaths(RESOURCE_METADATA_PATH, issuer).map((prefix) => documentRoute(prefix + path, text))
  }
}

/** At the root of the server, and at the path that RFC 8414 §3.1 and RFC 9728 §3.1 derive from an issuer with a path. */
function wellKnownPaths(path: string, issuer: string): readonly string[] {
  const { pathname } = new URL(issuer)
  return [path, ...(pathname === '/' ? [] : [path + pathname])]
}

/** The document as JSON, written again when one of the objects that it is made from is another one. */
function cacheText<Sources extends readonly object[]>(
  read: () => Sources,
  write: (sources: Sources) => object,
): () => string {
  let from: Sources | undefined
  let text = ''
  return () => {
    const sources = read()
    if (from === undefined || sources.some((source, index) => source !== from?.[index])) {
      from = sources
      text = JSON.stringify(write(sources))
    }
    return text
  }
}

/** What is configured here: the OpenID document, every method of client authentication, and the scopes and resources of APIs (RFC 9728 §4). */
function serverMetadata(
  issuer: string,
  known: KnownScopes,
  claims: AttributeClaims,
  algs: readonly SignatureAlg[],
  { required }: PushedSettings,
): object {
  const own = known.apis.filter(({ resource }) => resource !== PLATFORM_AUDIENCE).map(({ resource }) => resource)
  const others = known.agents === undefined ? own : [known.agents.resource, ...own]
  const contract = discoveryDocument(issuer)
  return {
    ...contract,
    claims_supported: [...contract.claims_supported, ...claims.names()],
    ...CLIENT_AUTHENTICATION,
    dpop_signing_alg_values_supported: PROOF_ALGS,
    request_object_signing_alg_values_supported: FOREIGN_ALGS,
    response_modes_supported: RESPONSE_MODES,
    id_token_signing_alg_values_supported: algs,
    authorization_signing_alg_values_supported: algs,
    introspection_signing_alg_values_supported: algs,
    pushed_authorization_request_endpoint: `${issuer}/connect/par`,
    require_pushed_authorization_requests: required,
    grant_types_supported: [
      ...CONTRACT_GRANT_TYPES,
      // Only what is an API can exchange tokens.
      ...(own.length > 0 ? [TOKEN_EXCHANGE] : []),
      ...(known.agents === undefined ? [] : [JWT_BEARER]),
    ],
    ...(known.agents !== undefined && { authorization_grant_profiles_supported: [ID_JAG_PROFILE] }),
    ...(known.agents !== undefined && { client_id_metadata_document_supported: true }),
    scopes_supported: known.scopes(),
    ...(others.length > 0 && { protected_resources: [...RESOURCES.map(({ path }) => issuer + path), ...others] }),
  }
}

/** RFC 9728 §2. Declared APIs publish theirs themselves. */
function resourceMetadata(issuer: string, path: string, scopes: readonly string[]): object {
  return {
    resource: issuer + path,
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: PROOF_ALGS,
  }
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
function discoveryDocument(issuer: string) {
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
    grant_types_supported: CONTRACT_GRANT_TYPES,
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
