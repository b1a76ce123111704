/** An authorization request that has passed every check: what we keep while a person signs in and decides. */
import type { ChallengeMethod, Client, ResponseType } from '../../store/client-metadata.ts'
import type { ClaimsRequest } from '../../store/grants.ts'

export type ResponseMode = 'query' | 'fragment' | 'form_post'
export type Prompt = 'none' | 'login' | 'consent' | 'select_account'

/** Where the answer goes, good or bad. Known only once the client and its address are. */
export interface Target {
  readonly redirectUri: string
  readonly mode: ResponseMode
  readonly state: string | undefined
}

export interface AuthorizationRequest {
  readonly clientId: string
  readonly target: Target
  readonly responseType: ResponseType
  /** The words of `scope` as they came, known or not. */
  readonly askedScopes: readonly string[]
  /** What of them this client may ask for; what the person holds is seen later. */
  readonly scopes: readonly string[]
  readonly nonce: string | undefined
  readonly challenge: { readonly method: ChallengeMethod; readonly value: string } | undefined
  readonly prompt: readonly Prompt[]
  /** Seconds. */
  readonly maxAge: number | undefined
  readonly claims: ClaimsRequest | undefined
  /** Only one of these people will do (`id_token_hint`, or `sub` in `claims`). */
  readonly subjects: readonly string[] | undefined
  readonly loginHint: string | undefined
  readonly uiLocales: string | undefined
}

/** What the checks of single parameters may look at. */
export interface Ask {
  readonly parameters: RequestParameters
  readonly client: Client
}

export interface RequestParameters {
  get(name: string): string | undefined
  readonly repeated: ReadonlySet<string>
}

export function isOpenid(request: Pick<AuthorizationRequest, 'scopes'>): boolean {
  return request.scopes.includes('openid')
}

export function gives(responseType: ResponseType, word: 'code' | 'token' | 'id_token'): boolean {
  return responseType.split(' ').includes(word)
}
