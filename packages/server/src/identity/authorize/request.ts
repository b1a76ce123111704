/** An authorization request that has passed every check. It is stored while the user signs in and consents. */

import type { ClaimsRequest } from '../../store/authorizations/grants.ts'
import type { ChallengeMethod, Client, ClientMetadata, ResponseType } from '../../store/clients/client-metadata.ts'

export type ResponseMode = 'query' | 'fragment' | 'form_post'
export type Prompt = 'none' | 'login' | 'consent' | 'select_account'

/** Where the response goes, also an error. Known once the client and its redirect URI have been checked. */
export interface Target {
  readonly redirectUri: string
  readonly mode: ResponseMode
  /** The parameters are one JWT, `response` (JARM §2.3). */
  readonly signed?: boolean
  readonly state: string | undefined
}

export interface AuthorizationRequest {
  readonly clientId: string
  readonly target: Target
  readonly responseType: ResponseType
  /** The values of `scope` as sent, known or not. */
  readonly askedScopes: readonly string[]
  /** Those that the client may request; the rights of the user are applied later. */
  readonly scopes: readonly string[]
  /** What the tokens are for, as named with `resource`; undefined: everything that the scopes are for. */
  readonly audiences?: readonly string[] | undefined
  readonly nonce: string | undefined
  readonly challenge: { readonly method: ChallengeMethod; readonly value: string } | undefined
  /** `dpop_jkt` (RFC 9449 §10): the thumbprint of the key that the code is bound to. A proof at the PAR endpoint sets it too. */
  readonly boundKey?: string | undefined
  readonly prompt: readonly Prompt[]
  /** Seconds. */
  readonly maxAge: number | undefined
  /** In the order of preference; absent if the request names none. */
  readonly acrValues?: readonly string[] | undefined
  readonly claims: ClaimsRequest | undefined
  /** The user must be one of these (`id_token_hint`, or `sub` in `claims`). */
  readonly subjects: readonly string[] | undefined
  readonly loginHint: string | undefined
  readonly uiLocales: string | undefined
  /** What the document of the client said, if it comes from one. */
  readonly document?: ClientMetadata | undefined
  /** The digest of its request_uri, if it was pushed (RFC 9126). */
  readonly pushed?: string | undefined
}

/** What the checks of single parameters read. */
export interface UncheckedRequest {
  readonly parameters: RequestParameters
  readonly client: Client
}

export interface RequestParameters {
  get(name: string): string | undefined
  readonly repeated: ReadonlySet<string>
  all(name: string): readonly string[]
}

export function isOpenid(request: Pick<AuthorizationRequest, 'scopes'>): boolean {
  return request.scopes.includes('openid')
}

export function gives(responseType: ResponseType, word: 'code' | 'token' | 'id_token'): boolean {
  return responseType.split(' ').includes(word)
}
