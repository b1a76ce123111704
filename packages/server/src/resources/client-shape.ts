/** A client as a file or a request declares it, and as it is stored. */
import { LONGEST_AGE } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { SIGNATURE_ALGS } from '../lib/signature-algs.ts'
import { closed, flag, number, oneOf, shortList, text, words } from '../schema/builders.ts'
import {
  AUTH_METHODS,
  type ClientMetadata,
  type ClientSecret,
  GRANT_TYPES,
  PROFILES,
  RESPONSE_TYPES,
} from '../store/clients/client-metadata.ts'
import { FOREIGN_ALGS } from '../store/keys/foreign-keys.ts'
import { ATTRIBUTE_VALUES } from './attributes.ts'
import { SECRET } from './declared-secret.ts'

export type DeclaredClient = XStatic<typeof CLIENT>

/** RFC 6749 appendix A.1, without spaces. */
export const CLIENT_ID = /^[\x21-\x7e]+$/.source

/** The library that reads the key checks its other members. */
const JWK = { type: 'object', required: ['kty'], properties: { kty: { type: 'string' } } } as const

export const CLIENT = closed(['client_id'], {
  client_id: text({ pattern: CLIENT_ID, maxLength: 512 }),
  client_name: words('Shown to users. Default: the client_id.'),
  client_secret: SECRET,
  token_endpoint_auth_method: oneOf(
    AUTH_METHODS,
    'none makes a public client; private_key_jwt takes assertions instead of a secret. Default: client_secret_basic and client_secret_post.',
  ),
  application_type: oneOf(
    ['web', 'native'],
    'A native client may use any port in a loopback redirect URI. Default: web.',
  ),
  redirect_uris: shortList(text(), 'Compared as exact strings.'),
  post_logout_redirect_uris: shortList(text()),
  grant_types: shortList(oneOf(GRANT_TYPES), 'Default: authorization_code.'),
  response_types: shortList(oneOf(RESPONSE_TYPES), 'Default: code.'),
  scope: words('The scopes that the client may request, separated by spaces. Default: openid.'),
  frontchannel_logout_uri: words(),
  frontchannel_logout_session_required: flag(),
  backchannel_logout_uri: words(),
  backchannel_logout_session_required: flag(),
  jwks: closed(['keys'], {
    keys: shortList(JWK, 'Public keys for signed request objects, and for assertions of private_key_jwt.'),
  }),
  jwks_uri: words('Where these public keys are published, instead of jwks. https.'),
  token_endpoint_auth_signing_alg: oneOf(
    FOREIGN_ALGS,
    'The only algorithm of its assertions. Default: any that fits the key.',
  ),
  request_object_signing_alg: oneOf(
    FOREIGN_ALGS,
    'The only algorithm of its request objects. Default: any that fits the key.',
  ),
  require_signed_request_object: flag(
    'Authorization requests are signed (RFC 9101): parameters outside the request object do not count.',
  ),
  federated: shortList(
    closed(['issuer', 'subject'], {
      issuer: text({ minLength: 1, maxLength: 512, description: 'The iss of its tokens.' }),
      subject: text({ minLength: 1, maxLength: 512, description: 'The sub of its tokens, compared exactly.' }),
      jwks: closed(['keys'], {
        keys: shortList(JWK, "The issuer's public keys. Default: those that its metadata name."),
      }),
    }),
    'Workloads, such as service accounts of Kubernetes or CI jobs, that authenticate as this client with a token of their issuer.',
  ),
  default_max_age: number('integer', { minimum: 0 }),
  require_auth_time: flag(),
  id_token_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of ID tokens and logout tokens, one of the setting signing_algs. Default: RS256.',
  ),
  authorization_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of signed authorization responses (JARM), one of the setting signing_algs. Default: RS256.',
  ),
  introspection_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of introspection responses as JWT (RFC 9701), one of the setting signing_algs. Default: RS256.',
  ),
  initiate_login_uri: words('https only.'),
  contacts: shortList(text()),
  client_uri: words(),
  logo_uri: words(),
  policy_uri: words(),
  tos_uri: words(),
  require_pkce: flag('Public clients always need PKCE.'),
  code_challenge_methods: shortList(oneOf(['plain', 'S256']), 'Default: S256 for a public client, otherwise both.'),
  require_second_factor: flag('Signing in to this client requires a second factor.'),
  require_acr: number('integer', {
    minimum: 1,
    maximum: 2,
    description: 'Signing in to this client needs 1 or 2 factors; 2 is the same as require_second_factor.',
  }),
  require_age: number('integer', {
    minimum: 1,
    maximum: LONGEST_AGE,
    description: 'Users whose sign-in is older, in seconds, sign in again before they reach this client.',
  }),
  skip_consent: flag(
    'For first-party clients: users are not asked for consent, not even by a public client on loopback, which other programs of the device can impersonate.',
  ),
  claims_in_id_token: flag(
    'Put the claims of the scopes in the ID token too, for applications that do not call userinfo.',
  ),
  allowed_origins: shortList(text(), 'Origins whose pages may call the server with a token (CORS).'),
  access_token_lifetime: number('integer', {
    minimum: 1,
    maximum: 86_400,
    description:
      'Seconds. Applies to new tokens; existing tokens keep their lifetime unless they are revoked. Default: 3600.',
  }),
  access_token_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of access tokens, one of the setting signing_algs. Default: RS256.',
  ),
  require_pushed_authorization_requests: flag(
    'Authorization requests must be pushed (PAR, RFC 9126): /connect/authorize takes only a request_uri.',
  ),
  profile: oneOf(
    PROFILES,
    'fapi2: the FAPI 2.0 Security Profile, with private_key_jwt, pushed requests, S256 and DPoP. Default: none.',
  ),
  dpop_bound_access_tokens: flag('Access tokens are always bound to a key of the client (DPoP, RFC 9449).'),
  attributes: { ...ATTRIBUTE_VALUES, description: 'Values of declared attributes, for tokens without a user.' },
  api: words('The resource of the API that the client is: it may exchange access tokens for it (RFC 8693).'),
  exchange_scope: words(
    'The scopes of other APIs and services that it may get by token exchange, separated by spaces.',
  ),
  agent: flag(
    'The client is an agent: its tokens are for the Model Context Protocol at /mcp and for nothing else, and users choose what it may read.',
  ),
  disabled: flag(),
})

/** As registered. Defaults of absent members are applied when it is read. */
export type ClientItem = ClientMetadata & {
  readonly secrets?: readonly ClientSecret[]
  /** Every server has it; nobody has registered it. */
  readonly isBuiltIn?: true
}

export function clientMetadata({ secrets, isBuiltIn, ...metadata }: ClientItem): ClientMetadata {
  return metadata
}
