/** The errors of the OAuth endpoints (RFC 6749 §5.2 and extensions) and what a client can do about each. */
import { Refusal } from 'gatehouse-protocol'

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
    advice: 'Check id, secret and the way it is sent; the audit log has the reason under `client.refused`.',
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
  unauthorized_client: {
    status: 400,
    when: 'The client is not registered for this grant.',
    advice: 'An operator adds it: `gatehouse client set ID --grant …`.',
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
    when: 'The database is not available, the server is overloaded, or there were too many failed attempts (429, as for a rate limit).',
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
