/** The FAPI 2.0 plans of the certification suite, and what a provider has to be set up with for them. */
import type { SigningKey } from './jws.ts'

export interface Plan {
  /** The plan and its variant, as the suite writes them. */
  readonly name: string
  /** With ID tokens; without, the plan reads the metadata of RFC 8414. */
  readonly openid: boolean
  /** Request objects are signed (RFC 9101). */
  readonly signed: boolean
  /** Authorization responses are JWTs. */
  readonly jarm: boolean
  /** The client credentials grant and nothing else. */
  readonly credentials: boolean
}

const AUTHENTICATION = '[client_auth_type=private_key_jwt][sender_constrain=dpop]'
const SECURITY_PROFILE = 'fapi2-security-profile-final-test-plan'
const MESSAGE_SIGNING = 'fapi2-message-signing-final-test-plan'

const plain = { openid: false, signed: false, jarm: false, credentials: false } as const

export const PLANS = {
  oauth: { ...plain, name: `${SECURITY_PROFILE}[openid=plain_oauth]${AUTHENTICATION}[fapi_profile=plain_fapi]` },
  openid: {
    ...plain,
    name: `${SECURITY_PROFILE}[openid=openid_connect]${AUTHENTICATION}[fapi_profile=plain_fapi]`,
    openid: true,
  },
  credentials: {
    ...plain,
    name: `${SECURITY_PROFILE}[openid=plain_oauth]${AUTHENTICATION}[fapi_profile=fapi_client_credentials_grant]`,
    credentials: true,
  },
  jarm: {
    ...plain,
    name: `${MESSAGE_SIGNING}[openid=openid_connect]${AUTHENTICATION}[fapi_request_method=signed_non_repudiation][fapi_profile=plain_fapi][fapi_response_mode=jarm]`,
    openid: true,
    signed: true,
    jarm: true,
  },
  signed: {
    ...plain,
    name: `${MESSAGE_SIGNING}[openid=openid_connect]${AUTHENTICATION}[fapi_request_method=signed_non_repudiation][fapi_profile=plain_fapi][fapi_response_mode=plain_response]`,
    openid: true,
    signed: true,
  },
} as const satisfies Record<string, Plan>

/** A client of a plan, and its private key. */
export interface PlanClient {
  readonly id: string
  readonly key: SigningKey
  readonly redirectUri: string
  readonly scope: string
}

/** The provider under test, as far as the modules may know it. */
export interface Target {
  readonly name: string
  readonly issuer: string
  /** The first has an RSA key, which one module needs. */
  clients(plan: Plan): readonly [PlanClient, PlanClient]
  /** The address of a GET request that accepts the access tokens of the plan. */
  resource(plan: Plan): string
  /** The provider's clock, in milliseconds. */
  now(): number
  /** Lets time pass for the provider. */
  elapse(milliseconds: number): Promise<void>
  /** Why a module cannot be tried here; undefined if it can. */
  lacks(id: string, plan: Plan): string | undefined
  stop(): Promise<void>
}

/** Where nobody listens. */
const CALLBACK = 'https://rp.example.com/callback'

/** The redirect URIs of the first and of the second client: the query must come back. */
export const CALLBACKS = [CALLBACK, `${CALLBACK}?dummy1=lorem&dummy2=ipsum`] as const
