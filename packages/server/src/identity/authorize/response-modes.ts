/** How an authorization response is returned: OAuth 2.0 Multiple Response Types §2.1, Form Post Response Mode, and as a JWT (JARM §2.3). */
import { refuse } from './authorization-error.ts'
import type { RequestParameters, ResponseMode, Target } from './request.ts'

/** The values of `response_mode`; no mode: the default one of the response type. */
const MODES: ReadonlyMap<string, { readonly mode?: ResponseMode; readonly signed?: true }> = new Map([
  ['query', { mode: 'query' }],
  ['fragment', { mode: 'fragment' }],
  ['form_post', { mode: 'form_post' }],
  // JARM §2.3.
  ['jwt', { signed: true }],
  ['query.jwt', { mode: 'query', signed: true }],
  ['fragment.jwt', { mode: 'fragment', signed: true }],
  ['form_post.jwt', { mode: 'form_post', signed: true }],
])
export const RESPONSE_MODES = [...MODES.keys()]

/** The response mode, also for an error about `response_mode` itself. */
export function chooseMode(parameters: RequestParameters): Pick<Target, 'mode' | 'signed'> {
  const { mode, signed } = MODES.get(parameters.get('response_mode') ?? '') ?? {}
  const usual = defaultMode(parameters.get('response_type'))
  return { mode: mode === undefined || mode === 'query' ? usual : mode, ...(signed && { signed }) }
}

export function checkResponseMode(parameters: RequestParameters): void {
  const requested = parameters.get('response_mode')
  if (requested === undefined) return
  const known = MODES.get(requested)
  if (known === undefined) throw refuse('invalid_request', 'This response_mode is not supported')
  // JARM §2.3.1: nor in a JWT, unless it is encrypted.
  if (known.mode === 'query' && defaultMode(parameters.get('response_type')) !== 'query')
    throw refuse('invalid_request', 'Tokens are never returned in the query: use fragment or form_post')
}

/** OAuth 2.0 Multiple Response Types §5: tokens are not returned in the query. */
function defaultMode(responseType: string | undefined): 'query' | 'fragment' {
  const words = responseType?.split(' ') ?? []
  return words.includes('token') || words.includes('id_token') ? 'fragment' : 'query'
}
