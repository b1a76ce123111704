/** The errors of the OAuth endpoints (RFC 6749 §5.2 and extensions), what a client can do about each, and the error reply. */
import { Refusal } from 'gatehouse-protocol'
import type { Context, HeaderFields } from '../http/context.ts'
import { outageRefusal } from '../http/problem.ts'

export interface OAuthError {
  readonly status: number
  readonly when: string
  /** What the developer or operator of the client can do about it. */
  readonly advice: string
}

export const OAUTH_ERRORS = {
  invalid_request: {
    status: 400,
    when: 'A parameter is missing, repeated or malformed.',
    advice: 'Correct the parameter that the description names.',
  },
  invalid_client: {
    status: 401,
    when: 'The client is unknown or disabled, or failed to authenticate.',
    advice: 'Check the client id, the secret and how it is sent; the audit log has the reason under `client.refused`.',
  },
  invalid_grant: {
    status: 400,
    when: 'The code, refresh token, device code or password is invalid, expired or already used.',
    advice: 'Start the flow again. Using a refresh token twice revokes its grant.',
  },
  invalid_token: {
    status: 401,
    when: 'The access token is unknown, expired or revoked.',
    advice: 'Refresh it, or sign in again.',
  },
  insufficient_scope: {
    status: 403,
    when: 'The access token lacks a scope.',
    advice: 'Request a token with the scope that `WWW-Authenticate` names.',
  },
  invalid_dpop_proof: {
    status: 400,
    when: 'The DPoP proof is missing or invalid, or was used before.',
    advice: 'Send a new proof in the `DPoP` header, for this method and address.',
  },
  use_dpop_nonce: {
    status: 400,
    when: 'The DPoP proof needs a nonce of this server.',
    advice: 'Repeat the request with a proof that has the nonce of the header `DPoP-Nonce`. Nothing was spent.',
  },
  unauthorized_client: {
    status: 400,
    when: 'The client is not registered for this grant.',
    advice: 'Have an operator add it: `gatehouse client set ID --grant …`.',
  },
  unsupported_grant_type: {
    status: 400,
    when: 'The grant type is not offered.',
    advice: 'Use one of `grant_types_supported` in the discovery document.',
  },
  invalid_scope: {
    status: 400,
    when: 'A scope is not offered, not allowed for the client, or more than was granted.',
    advice: 'Request fewer scopes, or have an operator allow them.',
  },
  invalid_target: {
    status: 400,
    when: 'A `resource` (RFC 8707) is unknown, malformed, repeated too often or not covered by the grant, the client is registered for no scope of it, or none is named where the token could be for several APIs.',
    advice: 'Name one declared API exactly as it is declared: `gatehouse api list`.',
  },
  access_denied: {
    status: 400,
    when: 'The user declined.',
    advice: 'Start again if it was a mistake.',
  },
  authorization_pending: {
    status: 400,
    when: 'The user has not decided yet.',
    advice: 'Poll again after `interval` seconds.',
  },
  slow_down: {
    status: 400,
    when: 'The device polls too often.',
    advice: 'Increase the polling interval by five seconds.',
  },
  expired_token: { status: 400, when: 'The device code has expired.', advice: 'Request a new one.' },
  temporarily_unavailable: {
    status: 503,
    when: 'The database is not available, the server is overloaded, or there were too many failed attempts (with status 429, like a rate limit).',
    advice: 'Wait as long as `Retry-After` says, then try again.',
  },
} as const satisfies Readonly<Record<string, OAuthError>>

export type OAuthErrorCode = keyof typeof OAUTH_ERRORS

/** `why` goes to the log and the audit log, never to the caller. */
export function refuse(
  code: OAuthErrorCode,
  text: string,
  { why, status, headers }: { why?: string; status?: number; headers?: Readonly<Record<string, string>> } = {},
): Refusal {
  return new Refusal(code, status ?? OAUTH_ERRORS[code].status, text, {
    ...(why === undefined ? {} : { cause: why }),
    ...(headers === undefined ? {} : { headers }),
  })
}

export function isOAuthError(code: string): code is OAuthErrorCode {
  return Object.hasOwn(OAUTH_ERRORS, code)
}

/** RFC 6749 §4.1.2.1, §5.2: a description is printable ASCII without quotation marks and backslashes. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' ')
}

/** Names the repeated parameter, unless the name could be anything. */
export function repeatedText(repeated: ReadonlySet<string>): string {
  const name = [...repeated].find((candidate) => /^[a-z_]{1,40}$/.test(candidate))
  return name === undefined ? 'A parameter is repeated' : `The parameter ${name} is repeated`
}

/** Exactly what the contract shows on token responses. */
export const OAUTH_HEADERS: HeaderFields = { 'cache-control': 'no-store, no-cache, max-age=0', pragma: 'no-cache' }

/** RFC 6750 §3.1: a request without a token gets a challenge without an error code. */
export const TOKEN_NEEDED = 'token_needed'

/** RFC 6749 §5.2. */
export function replyWithOAuthError(context: Context, error: unknown): void {
  const outage = outageRefusal(error)
  if (outage !== undefined) {
    context.log.debug({ reason: outage.message }, 'refused')
    context.setHeaders(outage.details.headers ?? {})
    context.json({ error: 'temporarily_unavailable', error_description: printable(outage.message) }, outage.status)
    return
  }
  if (!(error instanceof Refusal)) {
    context.log.error({ err: error }, 'failed')
    context.json({ error: 'server_error', error_description: 'The server failed to answer' }, 500)
    return
  }
  if (error.cause !== undefined) context.log.info({ code: error.code, why: String(error.cause) }, 'refused')
  const { code, status } = isOAuthError(error.code) ? error : (accessError(error) ?? translated(error))
  context.setHeaders(error.details.headers ?? {})
  context.json(error.code === TOKEN_NEEDED ? {} : { error: code, error_description: printable(error.message) }, status)
}

/** Refusals of the proof of an access token (RFC 9449 §7.1), at the userinfo endpoint. */
function accessError({ code, status }: Refusal): { code: string; status: number } | undefined {
  const name = code.replace(/^access\./, '')
  return code !== name && isOAuthError(name) ? { code: name, status } : undefined
}

/** Refusals of the pipeline: the body is too large or not a form, there were too many requests, or the server accepts none. */
function translated({ status }: Refusal): { code: string; status: number } {
  if (status === 429 || status === 503) return { code: 'temporarily_unavailable', status }
  // C-41: a body that is not a form is an invalid request.
  return { code: 'invalid_request', status: status === 415 ? 400 : status }
}
