/** The errors of the OAuth endpoints (RFC 6749 §5.2 and its extensions): which exist, and what each means for a client. */
import { Refusal } from '../protocol/refusal.ts'

export interface OAuthError {
  readonly status: number
  readonly when: string
  /** What the developer or operator of the client can do about it. */
  readonly advice: string
}

export const OAUTH_ERRORS = {
  invalid_request: {
    status: 400,
    when: 'A parameter is missing, comes twice or cannot be read.',
    advice: 'Mend what the description names.',
  },
  invalid_client: {
    status: 401,
    when: 'The client is unknown, disabled, or did not prove itself.',
    advice: 'Check id, secret and the way it is sent; the audit log has the reason under `client.refused`.',
  },
  invalid_grant: {
    status: 400,
    when: 'The code, refresh token, device code or password is not good, or no longer.',
    advice: 'Start the flow again. A refresh token that was used twice has ended its whole grant.',
  },
  invalid_token: {
    status: 401,
    when: 'The access token is unknown, expired or taken back.',
    advice: 'Refresh it, or sign in again.',
  },
  insufficient_scope: {
    status: 403,
    when: 'The access token lacks a scope.',
    advice: 'Ask for a token with the scope that `WWW-Authenticate` names.',
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
    advice: 'Ask for less, or let an operator allow it.',
  },
  access_denied: {
    status: 400,
    when: 'The person at the device declined.',
    advice: 'Start again if they did not mean it.',
  },
  authorization_pending: {
    status: 400,
    when: 'Nobody has decided about the device yet.',
    advice: 'Ask again after `interval` seconds.',
  },
  slow_down: {
    status: 400,
    when: 'The device asks too often.',
    advice: 'Wait five seconds longer between two requests from now on.',
  },
  expired_token: { status: 400, when: 'The device code has expired.', advice: 'Ask for a new one.' },
  temporarily_unavailable: {
    status: 503,
    when: 'Too many attempts or too much to do at once (429 for a rate limit).',
    advice: 'Wait as long as `Retry-After` says, then try again.',
  },
} as const satisfies Readonly<Record<string, OAuthError>>

export type OAuthErrorCode = keyof typeof OAUTH_ERRORS

/** `why` reaches the log and the audit, never the caller. */
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
