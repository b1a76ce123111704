/** The refusals of the authorization endpoint by their registered codes; the endpoint decides whether a page or a redirect tells it. */
import { Refusal } from '../../protocol/refusal.ts'

export interface AuthorizationErrorEntry {
  readonly when: string
  readonly advice: string
}

/** RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6, and OpenID Connect Unmet Authentication Requirements. */
export const AUTHORIZATION_ERRORS = {
  invalid_request: {
    when: 'A parameter is missing, comes twice or cannot be read.',
    advice: 'Mend what the description names.',
  },
  unauthorized_client: {
    when: 'The client is unknown, disabled, or not registered for this response type.',
    advice: 'Check the client with `gatehouse client show ID`.',
  },
  access_denied: { when: 'The person said no.', advice: 'Go on without, or explain and ask again.' },
  unsupported_response_type: {
    when: 'The response type is not offered.',
    advice: 'Use one of `response_types_supported` in the discovery document.',
  },
  invalid_scope: {
    when: 'A scope is not offered, or not allowed for the client.',
    advice: 'Ask for less, or let an operator allow it.',
  },
  server_error: { when: 'The server failed.', advice: 'Look into its log under the request id.' },
  temporarily_unavailable: { when: 'The server has too much to do.', advice: 'Try again a moment later.' },
  interaction_required: {
    when: '`prompt=none`, and the person would have to do something.',
    advice: 'Send the person without `prompt=none`.',
  },
  login_required: {
    when: '`prompt=none`, and nobody is signed in, or not freshly enough.',
    advice: 'Send the person without `prompt=none`.',
  },
  account_selection_required: {
    when: '`prompt=none`, and the person would have to choose an account.',
    advice: 'Send the person without `prompt=none`.',
  },
  consent_required: {
    when: '`prompt=none`, and the person has not agreed yet.',
    advice: 'Send the person without `prompt=none`.',
  },
  invalid_request_object: {
    when: 'The request object is not signed by a key of the client, has expired, or contradicts the parameters.',
    advice: 'Compare it with the registered keys; the description names a member where one is at fault.',
  },
  request_uri_not_supported: { when: 'A request object came by address.', advice: 'Send it by value, as `request`.' },
  registration_not_supported: { when: 'The request tries to register.', advice: 'Register the client beforehand.' },
  unmet_authentication_requirements: {
    when: 'The person cannot sign in as `acr` demands.',
    advice: 'Ask for less, or let the person add a second factor.',
  },
} as const satisfies Readonly<Record<string, AuthorizationErrorEntry>>
export type AuthorizationError = keyof typeof AUTHORIZATION_ERRORS

export function refuse(code: AuthorizationError, text: string, cause?: unknown): Refusal {
  return new Refusal(code, 400, text, cause === undefined ? {} : { cause })
}

export function isAuthorizationError(code: string): code is AuthorizationError {
  return Object.hasOwn(AUTHORIZATION_ERRORS, code)
}
