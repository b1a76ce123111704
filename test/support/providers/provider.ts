/** What a conformance test may know of the provider under test, and what every provider is set up with. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface Provider {
  readonly name: string
  readonly issuer: string
  /** The discovery document as it was served. */
  readonly metadata: Metadata
  /** The provider's clock, in milliseconds. */
  now(): number
  /** Lets time pass for the provider. */
  elapse(milliseconds: number): Promise<void>
  /** Why a row cannot be tried here; undefined when it can. */
  lacks(row: string): string | undefined
  stop(): Promise<void>
}

export interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly userinfo_endpoint: string
  readonly jwks_uri: string
  readonly end_session_endpoint: string
  readonly introspection_endpoint: string
  readonly revocation_endpoint: string
  readonly device_authorization_endpoint: string
  readonly [name: string]: unknown
}

/** Client metadata by its registered names. */
export interface ClientFixture {
  readonly client_id: string
  readonly client_secret?: string
  readonly token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post' | 'none'
  readonly redirect_uris: readonly string[]
  readonly post_logout_redirect_uris: readonly string[]
  readonly response_types: readonly string[]
  readonly grant_types: readonly string[]
  readonly [name: string]: unknown
}

export const RESPONSE_TYPES = {
  C: 'code',
  I: 'id_token',
  IT: 'id_token token',
  CI: 'code id_token',
  CT: 'code token',
  CIT: 'code id_token token',
} as const
export type TypeCode = keyof typeof RESPONSE_TYPES

/** Nobody listens here: the scriptless user agent stops before it leaves the provider. */
export const RP = 'https://rp.example.com'
export const CALLBACK = `${RP}/callback`
export const POST_LOGOUT = `${RP}/post_logout_redirect`
export const FRONTCHANNEL_LOGOUT = `${RP}/frontchannel_logout`

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

/** The key with which `client` signs its request objects. */
export const requestKey: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } = generateKeyPairSync(
  'rsa',
  { modulusLength: 2048 },
)

const web = {
  token_endpoint_auth_method: 'client_secret_basic',
  redirect_uris: [CALLBACK],
  post_logout_redirect_uris: [POST_LOGOUT],
  response_types: Object.values(RESPONSE_TYPES),
  grant_types: ['authorization_code', 'implicit', 'refresh_token'],
} as const

/** Static clients, as the certification plans ask for, and a few of our own. */
export function clientFixtures(backchannelUri: string) {
  return {
    client: {
      ...web,
      client_id: 'client',
      client_secret: 'client-secret-that-nobody-guesses-0001',
      jwks: { keys: [{ ...requestKey.publicKey.export({ format: 'jwk' }), kid: 'rp', use: 'sig', alg: 'RS256' }] },
    },
    client2: { ...web, client_id: 'client2', client_secret: 'client-secret-that-nobody-guesses-0002' },
    post: {
      ...web,
      client_id: 'client-post',
      client_secret: 'client-secret-that-nobody-guesses-0003',
      token_endpoint_auth_method: 'client_secret_post',
    },
    frontchannel: {
      ...web,
      client_id: 'client-frontchannel',
      client_secret: 'client-secret-that-nobody-guesses-0004',
      frontchannel_logout_uri: FRONTCHANNEL_LOGOUT,
      frontchannel_logout_session_required: true,
    },
    backchannel: {
      ...web,
      client_id: 'client-backchannel',
      client_secret: 'client-secret-that-nobody-guesses-0005',
      backchannel_logout_uri: backchannelUri,
      backchannel_logout_session_required: true,
    },
    query: {
      ...web,
      client_id: 'client-query',
      client_secret: 'client-secret-that-nobody-guesses-0006',
      redirect_uris: [`${CALLBACK}?foo=bar`],
    },
    twoAddresses: {
      ...web,
      client_id: 'client-two',
      client_secret: 'client-secret-that-nobody-guesses-0007',
      redirect_uris: [CALLBACK, `${RP}/other`],
    },
    codeOnly: {
      ...web,
      client_id: 'client-code',
      client_secret: 'client-secret-that-nobody-guesses-0008',
      response_types: ['code'],
      grant_types: ['authorization_code'],
    },
    authTime: {
      ...web,
      client_id: 'client-auth-time',
      client_secret: 'client-secret-that-nobody-guesses-0009',
      require_auth_time: true,
    },
    maxAge: {
      ...web,
      client_id: 'client-max-age',
      client_secret: 'client-secret-that-nobody-guesses-0010',
      default_max_age: 3600,
    },
    unknown: {
      ...web,
      client_id: 'client-never-agreed-to',
      client_secret: 'client-secret-that-nobody-guesses-0011',
    },
    native: {
      client_id: 'client-native',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/by-name', 'http://[::1]/six'],
      post_logout_redirect_uris: [],
      response_types: ['code', 'code id_token'],
      grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    },
    device: {
      client_id: 'client-device',
      token_endpoint_auth_method: 'none',
      redirect_uris: [],
      post_logout_redirect_uris: [],
      response_types: [],
      grant_types: [DEVICE, 'refresh_token'],
    },
  } as const satisfies Record<string, ClientFixture>
}

/** One person who holds every claim that the profile and email scopes ask for. */
export const person = {
  username: 'buffy',
  password: 'correct horse battery staple',
  claims: {
    name: 'Buffy Anne Summers',
    given_name: 'Buffy',
    family_name: 'Summers',
    middle_name: 'Anne',
    nickname: 'Buff',
    preferred_username: 'buffy',
    profile: 'https://people.example.com/buffy',
    picture: 'https://people.example.com/buffy.png',
    website: 'https://buffy.example.com',
    gender: 'female',
    birthdate: '1981-01-19',
    zoneinfo: 'America/Los_Angeles',
    locale: 'en-US',
    email: 'buffy@example.com',
    email_verified: true,
  },
} as const

export const PROFILE_CLAIMS = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'updated_at',
] as const
