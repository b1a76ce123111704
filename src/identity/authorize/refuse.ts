/** The refusals of the authorization endpoint by their registered codes; the endpoint decides whether a page or a redirect tells it. */
import { Refusal } from '../../protocol/refusal.ts'

/** RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6, and OpenID Connect Unmet Authentication Requirements. */
const AUTHORIZATION_ERRORS = [
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'invalid_request_object',
  'request_uri_not_supported',
  'registration_not_supported',
  'unmet_authentication_requirements',
] as const
export type AuthorizationError = (typeof AUTHORIZATION_ERRORS)[number]

export function refuse(code: AuthorizationError, text: string, cause?: unknown): Refusal {
  return new Refusal(code, 400, text, cause === undefined ? {} : { cause })
}

export function isAuthorizationError(code: string): code is AuthorizationError {
  return AUTHORIZATION_ERRORS.some((known) => known === code)
}
