/** The refusals that any part of the server may answer with over HTTP, and those of administration, pages and upgrades: one table, from which the documentation is made. */

export interface HttpError {
  readonly status: number
  readonly title: string
  /** What the caller, or the operator, can do about it. */
  readonly advice: string
}

const AGAIN = 'Wait as long as `Retry-After` says, then try again.'
const TOKEN = 'Send `Authorization: Bearer` with an access token of this server.'
const SIGN_IN = 'Refresh the token, or sign in again.'

export const HTTP_ERRORS = {
  'http.bad_request': { status: 400, title: 'The request cannot be read', advice: 'Mend what the detail names.' },
  'http.not_found': { status: 404, title: 'Nothing is served here', advice: 'Mend the address.' },
  'http.method_not_allowed': {
    status: 405,
    title: 'The address takes other methods',
    advice: 'Use one of the methods in `Allow`.',
  },
  'http.timeout': { status: 408, title: 'The request came too slowly', advice: 'Send it again, without pauses.' },
  'http.body_too_large': { status: 413, title: 'The body is too large', advice: 'Send less at once.' },
  'request.url_too_long': {
    status: 414,
    title: 'The address is too long',
    advice: 'Send the parameters in the body of a POST where the endpoint takes one.',
  },
  'http.unsupported_media_type': {
    status: 415,
    title: 'The content type is not accepted here',
    advice: 'Send the content type that the endpoint is documented with.',
  },
  'http.too_many_requests': { status: 429, title: 'A rate limit is used up', advice: AGAIN },
  'server.fault': {
    status: 500,
    title: 'The server failed',
    advice: 'Look into the log under the request id; report it if it stays.',
  },
  'access.token_needed': { status: 401, title: 'An access token is needed', advice: TOKEN },
  'access.invalid_token': { status: 401, title: 'The access token is not valid here', advice: SIGN_IN },
  'access.insufficient_scope': {
    status: 403,
    title: 'The access token lacks a scope',
    advice: 'Ask for a token with the scope that `WWW-Authenticate` names.',
  },
  'admin.bad_parameter': { status: 400, title: 'A parameter is wrong', advice: 'Correct what the detail names.' },
  'admin.not_found': { status: 404, title: 'There is no such thing', advice: 'Look at the list of what there is.' },
  'admin.conflict': {
    status: 409,
    title: 'The change contradicts what is there',
    advice: 'Change what the detail names.',
  },
  'admin.not_here': {
    status: 409,
    title: 'No node runs that service',
    advice: 'Start a node with the service; see `GATEHOUSE_SERVICES`.',
  },
  'admin.changed_meanwhile': {
    status: 412,
    title: 'It was changed meanwhile',
    advice: 'Read it again and repeat the change with the new `ETag`.',
  },
  'admin.bad_body': { status: 422, title: 'The body has faults', advice: 'Mend each that `Faults` lists.' },
  'admin.precondition_required': {
    status: 428,
    title: 'The change does not say what it is based on',
    advice: 'Send `If-Match` with the `ETag` that you have read, or `*`.',
  },
  'admin.busy': { status: 503, title: 'Too many passwords are being hashed', advice: AGAIN },
  'page.expired': {
    status: 400,
    title: 'The page is no longer valid',
    advice: 'Start again from the application; see [signing in](sign-in.md#when-something-goes-wrong).',
  },
  'page.forged': {
    status: 403,
    title: 'The form does not belong to this browser',
    advice: 'Allow cookies, and open the page under the host name of the issuer.',
  },
  'stream.version': { status: 400, title: 'The version is not spoken', advice: 'Use one of `SupportedVersions`.' },
  'stream.sub_protocol': {
    status: 400,
    title: 'No known sub-protocol is offered',
    advice: 'Offer one of `SupportedSubProtocols`.',
  },
  'stream.token_needed': { status: 401, title: 'The header holds no token', advice: TOKEN },
  'stream.provider': { status: 401, title: 'The provider is unknown', advice: 'Use `Bearer`, the only one.' },
  'stream.invalid_token': { status: 401, title: 'The access token is not valid here', advice: SIGN_IN },
  'stream.origin': {
    status: 403,
    title: 'Pages of this origin may not connect',
    advice: 'An operator adds the origin to `GATEHOUSE_STREAM_ORIGINS`.',
  },
  'stream.not_found': { status: 404, title: 'Nothing is streamed here', advice: 'Connect to `/Platform`.' },
  'stream.upgrade_required': {
    status: 426,
    title: 'The address speaks WebSocket',
    advice: 'Open a WebSocket connection.',
  },
  'stream.address_full': { status: 429, title: 'The address has too many connections', advice: AGAIN },
  'stream.user_full': { status: 429, title: 'The user has too many connections', advice: AGAIN },
  'stream.failure': { status: 500, title: 'The server failed', advice: 'Look into its log; report it if it stays.' },
  'stream.full': { status: 503, title: 'The node is full', advice: AGAIN },
  'stream.stopping': { status: 503, title: 'The node is stopping', advice: AGAIN },
} as const satisfies Readonly<Record<string, HttpError>>

/** For people, beside a code that may be another table's. */
export function titleOf(code: string): string {
  const errors: Readonly<Record<string, HttpError>> = HTTP_ERRORS
  return errors[code]?.title ?? code
}
