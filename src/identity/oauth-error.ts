/** The errors of the OAuth endpoints (RFC 6749 §5.2 and its extensions): which exist, and with which status each is answered. */
import { Refusal } from '../protocol/refusal.ts'

const STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  access_denied: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  unsupported_token_type: 400,
  temporarily_unavailable: 503,
} as const

export type OAuthErrorCode = keyof typeof STATUS

/** `why` reaches the log and the audit, never the caller. */
export function refuse(
  code: OAuthErrorCode,
  text: string,
  { why, status, headers }: { why?: string; status?: number; headers?: Readonly<Record<string, string>> } = {},
): Refusal {
  return new Refusal(code, status ?? STATUS[code], text, {
    ...(why === undefined ? {} : { cause: why }),
    ...(headers === undefined ? {} : { headers }),
  })
}

export function isOAuthError(code: string): code is OAuthErrorCode {
  return Object.hasOwn(STATUS, code)
}
