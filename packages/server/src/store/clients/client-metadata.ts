/** Client metadata by its registered names (OpenID Connect Registration §2, RFC 7591), and the Client that it is parsed to. */
import type { SignatureAlg } from '../../lib/signature-algs.ts'
import { splitWords } from '../../lib/words.ts'
import type { AttributeValues } from '../accounts/user.ts'
import type { ForeignAlg, Jwk } from '../keys/foreign-keys.ts'

/** As stored in the database and written in a declarative file. Members from `code_challenge_methods` on are our own. */
export interface ClientMetadata {
  readonly client_id: string
  readonly client_name?: string
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  readonly contacts?: readonly string[]
  readonly application_type?: 'web' | 'native'
  /** If absent, the client may send its secret by either method. */
  readonly token_endpoint_auth_method?: AuthMethod
  readonly redirect_uris?: readonly string[]
  readonly post_logout_redirect_uris?: readonly string[]
  readonly grant_types?: readonly string[]
  readonly response_types?: readonly string[]
  readonly scope?: string
  readonly frontchannel_logout_uri?: string
  readonly frontchannel_logout_session_required?: boolean
  readonly backchannel_logout_uri?: string
  readonly backchannel_logout_session_required?: boolean
  /** RFC 9449 §5.2. */
  readonly dpop_bound_access_tokens?: boolean
  /** RFC 9126 §6. */
  readonly require_pushed_authorization_requests?: boolean
  readonly jwks?: KeySet
  readonly jwks_uri?: string
  readonly token_endpoint_auth_signing_alg?: ForeignAlg
  readonly request_object_signing_alg?: ForeignAlg
  /** RFC 9101 §10.5. */
  readonly require_signed_request_object?: boolean
  readonly default_max_age?: number
  readonly require_auth_time?: boolean
  /** Of ID tokens and logout tokens. */
  readonly id_token_signed_response_alg?: SignatureAlg
  /** Of authorization responses (JARM §3). */
  readonly authorization_signed_response_alg?: SignatureAlg
  /** RFC 9701 §6. */
  readonly introspection_signed_response_alg?: SignatureAlg
  readonly initiate_login_uri?: string
  readonly code_challenge_methods?: readonly ChallengeMethod[]
  readonly require_pkce?: boolean
  readonly skip_consent?: boolean
  readonly require_second_factor?: boolean
  /** Of the sign-in (RFC 9470); 2 is the same as `require_second_factor`. */
  readonly require_acr?: number
  /** Seconds since the user signed in. */
  readonly require_age?: number
  readonly claims_in_id_token?: boolean
  readonly allowed_origins?: readonly string[]
  /** Seconds. */
  readonly access_token_lifetime?: number
  readonly access_token_alg?: SignatureAlg
  /** For tokens without a user. */
  readonly attributes?: AttributeValues
  /** Workloads that authenticate as this client with a token of their own issuer (RFC 7523 §2.2). */
  readonly federated?: readonly FederatedWorkload[]
  /** The API that this client is, by its resource: for token exchange, which takes access tokens for it. */
  readonly api?: string
  /** The scopes outside of this API that it may get by token exchange. */
  readonly exchange_scope?: string
  readonly profile?: ClientProfile
  /** Its tokens are for agents, and for nothing else. */
  readonly agent?: boolean
  /** It comes from the document at its client_id, and nobody has registered it. */
  readonly document?: boolean
  readonly disabled?: boolean
}

export interface KeySet {
  readonly keys: readonly Jwk[]
}

export interface FederatedWorkload {
  readonly issuer: string
  readonly subject: string
  /** If absent, the keys are found by the issuer's metadata. */
  readonly jwks?: KeySet
}

export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

/** A security profile, whose rules apply to everything that the client does: the FAPI 2.0 Security Profile. */
export const PROFILES = ['fapi2'] as const
export type ClientProfile = (typeof PROFILES)[number]

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
/** With an ID-JAG: the provider of a firm vouches for a user to an agent. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

export const GRANT_TYPES = [
  'authorization_code',
  'client_credentials',
  'refresh_token',
  'implicit',
  'password',
  'urn:ietf:params:oauth:grant-type:device_code',
  TOKEN_EXCHANGE,
  JWT_BEARER,
] as const
export type GrantType = (typeof GRANT_TYPES)[number]

export const RESPONSE_TYPES = [
  'code',
  'token',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
] as const
export type ResponseType = (typeof RESPONSE_TYPES)[number]

export type ChallengeMethod = 'plain' | 'S256'

/** What the server uses of the metadata; the rest is for people who read the registration. */
export interface Client {
  readonly id: string
  readonly name: string
  /** A public client has no secret and is not authenticated (RFC 6749 §2.1). */
  readonly public: boolean
  readonly native: boolean
  readonly authMethods: ReadonlySet<AuthMethod>
  readonly secrets: readonly ClientSecret[]
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  readonly grantTypes: ReadonlySet<GrantType>
  readonly responseTypes: ReadonlySet<ResponseType>
  /** The scopes that it may request. */
  readonly scopes: ReadonlySet<string>
  readonly frontchannelLogoutUri: string | undefined
  readonly backchannelLogoutUri: string | undefined
  readonly jwks: readonly Jwk[]
  readonly jwksUri: string | undefined
  /** The only algorithm of its assertions; undefined: any that fits the key. */
  readonly assertionAlg: ForeignAlg | undefined
  /** The only algorithm of its request objects; undefined: any that fits the key. */
  readonly requestObjectAlg: ForeignAlg | undefined
  /** Its authorization requests are signed, and nothing outside the request object counts. */
  readonly requireSignedRequest: boolean
  readonly federated: readonly FederatedWorkload[]
  readonly defaultMaxAge: number | undefined
  readonly challengeMethods: ReadonlySet<ChallengeMethod>
  readonly requirePkce: boolean
  readonly skipConsent: boolean
  readonly requireSecondFactor: boolean
  /** How old, in seconds, a sign-in may be; undefined without a limit. */
  readonly requireAge: number | undefined
  /** The claims of the scopes are in the ID token too, not only at the userinfo endpoint. */
  readonly claimsInIdToken: boolean
  readonly allowedOrigins: readonly string[]
  /** Seconds; undefined for the server's default. */
  readonly accessTokenLifetime: number | undefined
  /** Undefined: the first algorithm of the FAPI profile that this server signs with. */
  readonly accessTokenAlg: SignatureAlg | undefined
  /** The algorithm of ID tokens and logout tokens; undefined as above. */
  readonly idTokenAlg: SignatureAlg | undefined
  /** The algorithm of authorization responses, where the request asks for signed ones. */
  readonly responseAlg: SignatureAlg | undefined
  readonly introspectionAlg: SignatureAlg | undefined
  /** Its access tokens are always bound to a key. */
  readonly requireDpop: boolean
  /** Its authorization requests are pushed. */
  readonly requirePushedRequests: boolean
  readonly profile: ClientProfile | undefined
  /** For tokens without a user. */
  readonly attributes: AttributeValues
  readonly api: string | undefined
  readonly exchangeScopes: ReadonlySet<string>
  /** Its tokens are for agents, and for nothing else. */
  readonly agent: boolean
  /** It is registered by the document at its id: which scopes it may ask for depends on which agents are allowed. */
  readonly document: boolean
  readonly disabled: boolean
}

export interface ClientSecret {
  readonly id: string
  readonly digest: string
  /** Set by a declarative file. */
  readonly declared: boolean
  readonly createdAt: number
  readonly expiresAt: number | undefined
}

export function toClient(metadata: ClientMetadata, secrets: readonly ClientSecret[]): Client {
  const isPublic = metadata.token_endpoint_auth_method === 'none'
  const isFapi = metadata.profile === 'fapi2'
  const defaultAlg = isFapi ? undefined : 'RS256'
  return {
    id: metadata.client_id,
    name: metadata.client_name ?? metadata.client_id,
    public: isPublic,
    native: metadata.application_type === 'native',
    authMethods: new Set(
      metadata.token_endpoint_auth_method === undefined
        ? ['client_secret_basic', 'client_secret_post']
        : [metadata.token_endpoint_auth_method],
    ),
    secrets,
    redirectUris: metadata.redirect_uris ?? [],
    postLogoutRedirectUris: metadata.post_logout_redirect_uris ?? [],
    grantTypes: new Set(
      (metadata.grant_types ?? ['authorization_code']).flatMap((name) => knownAs(name, GRANT_TYPES) ?? []),
    ),
    responseTypes: new Set((metadata.response_types ?? ['code']).flatMap((name) => parseResponseType(name) ?? [])),
    scopes: new Set(splitWords(metadata.scope ?? 'openid')),
    frontchannelLogoutUri: metadata.frontchannel_logout_uri,
    backchannelLogoutUri: metadata.backchannel_logout_uri,
    jwks: metadata.jwks?.keys ?? [],
    jwksUri: metadata.jwks_uri,
    assertionAlg: metadata.token_endpoint_auth_signing_alg,
    requestObjectAlg: metadata.request_object_signing_alg,
    requireSignedRequest: metadata.require_signed_request_object ?? false,
    federated: metadata.federated ?? [],
    defaultMaxAge: metadata.default_max_age,
    challengeMethods: new Set(metadata.code_challenge_methods ?? (isPublic || isFapi ? ['S256'] : ['plain', 'S256'])),
    // RFC 9700 §2.1.1: public clients must use PKCE.
    requirePkce: isPublic || isFapi || (metadata.require_pkce ?? false),
    skipConsent: metadata.skip_consent ?? false,
    requireSecondFactor: metadata.require_second_factor === true || metadata.require_acr === 2,
    requireAge: metadata.require_age,
    claimsInIdToken: metadata.claims_in_id_token ?? false,
    allowedOrigins: metadata.allowed_origins ?? [],
    accessTokenLifetime: metadata.access_token_lifetime,
    accessTokenAlg: metadata.access_token_alg ?? defaultAlg,
    idTokenAlg: metadata.id_token_signed_response_alg ?? defaultAlg,
    responseAlg: metadata.authorization_signed_response_alg ?? defaultAlg,
    introspectionAlg: metadata.introspection_signed_response_alg ?? defaultAlg,
    requireDpop: isFapi || (metadata.dpop_bound_access_tokens ?? false),
    requirePushedRequests: isFapi || (metadata.require_pushed_authorization_requests ?? false),
    profile: metadata.profile,
    attributes: metadata.attributes ?? {},
    api: metadata.api,
    exchangeScopes: new Set(splitWords(metadata.exchange_scope ?? '')),
    agent: metadata.agent ?? false,
    document: metadata.document ?? false,
    disabled: metadata.disabled ?? false,
  }
}

/** Whether a client with this metadata authenticates with a secret. */
export function hasSecret({ token_endpoint_auth_method: method }: Pick<ClientMetadata, 'token_endpoint_auth_method'>) {
  return method !== 'none' && method !== 'private_key_jwt'
}

/** The words of a response type may be in any order. Undefined for one that is unsupported or repeats a word. */
export function parseResponseType(text: string): ResponseType | undefined {
  const words = text.split(' ').sort()
  return RESPONSE_TYPES.find((type) => type.split(' ').sort().join(' ') === words.join(' '))
}

function knownAs<const T extends string>(text: string, known: readonly T[]): T | undefined {
  return known.find((name) => name === text)
}
