/** The errors of the authorization endpoint; whether an error page or a redirect reports one is decided elsewhere. */
import { Refusal } from 'gatehouse-protocol'

export interface AuthorizationErrorEntry {
  readonly when: string
  readonly advice: string
}

/** RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6, and OpenID Connect Unmet Authentication Requirements. */
export const AUTHORIZATION_ERRORS = {
  invalid_request: {
    when: 'A parameter is missing, repeated or malformed.',
    advice: 'Correct the parameter that the description names.',
  },
  unauthorized_client: {
    when: 'The client is unknown, disabled, or not registered for this response type.',
    advice: 'Check the client with `gatehouse client show ID`.',
  },
  access_denied: {
    when: 'The user denied access.',
    advice: 'Continue without access, or explain why it is needed and ask again.',
  },
  unsupported_response_type: {
    when: 'The response type is not supported.',
    advice: 'Use one of `response_types_supported` in the discovery document.',
  },
  invalid_scope: {
    when: 'A scope is not supported, or not allowed for the client.',
    advice: 'Request fewer scopes, or have an operator allow them.',
  },
  invalid_target: {
    when: 'A `resource` (RFC 8707) is unknown, malformed or repeated too often, or the client is registered for no scope of it.',
    advice: 'Name APIs exactly as they are declared: `gatehouse api list`.',
  },
  server_error: { when: 'The server failed.', advice: 'Search its log for the request id.' },
  temporarily_unavailable: { when: 'The server is overloaded.', advice: 'Try again in a moment.' },
  interaction_required: {
    when: 'The request has `prompt=none`, but the user would have to interact.',
    advice: 'Repeat the request without `prompt=none`.',
  },
  login_required: {
    when: 'The request has `prompt=none`, but no user is signed in, or the sign-in is too old.',
    advice: 'Repeat the request without `prompt=none`.',
  },
  account_selection_required: {
    when: 'The request has `prompt=none`, but the user would have to choose an account.',
    advice: 'Repeat the request without `prompt=none`.',
  },
  consent_required: {
    when: 'The request has `prompt=none`, but the user has not consented yet.',
    advice: 'Repeat the request without `prompt=none`.',
  },
  invalid_request_object: {
    when: 'The request object is not signed by a key of the client, has expired, or contradicts the parameters.',
    advice: 'Compare it with the registered keys; the description names the invalid member, if there is one.',
  },
  invalid_request_uri: {
    when: 'The `request_uri` of a pushed request (RFC 9126) is unknown, expired or that of another client, or its request was answered already.',
    advice: 'Push the request again, and send the browser to the new `request_uri` at once.',
  },
  request_uri_not_supported: {
    when: 'A request object was passed by reference.',
    advice: 'Pass it by value, as `request`, or push the request to `/connect/par`.',
  },
  registration_not_supported: {
    when: 'The request contains `registration`.',
    advice: 'Register the client beforehand.',
  },
  unmet_authentication_requirements: {
    when: 'The user cannot satisfy the requested `acr`.',
    advice: 'Request a lower `acr`, or have the user add a second factor.',
  },
} as const satisfies Readonly<Record<string, AuthorizationErrorEntry>>
export type AuthorizationError = keyof typeof AUTHORIZATION_ERRORS

export function refuse(code: AuthorizationError, text: string, cause?: unknown): Refusal {
  return new Refusal(code, 400, text, cause === undefined ? {} : { cause })
}

export function isAuthorizationError(code: string): code is AuthorizationError {
  return Object.hasOwn(AUTHORIZATION_ERRORS, code)
}
