/** Error codes of HTTP, administration, pages and WebSocket upgrades, from which the docs are generated. */
import { FEED_ERRORS } from './feed-errors.ts'
import { AGAIN, type HttpError, SIGN_IN, TOKEN } from './http-error.ts'
import { UPGRADE_ERRORS } from './upgrade-errors.ts'

export const HTTP_ERRORS = {
  'http.bad_request': { status: 400, title: 'The request is malformed', advice: 'Correct what `detail` names.' },
  'http.not_found': { status: 404, title: 'There is no such resource', advice: 'Correct the URL.' },
  'http.method_not_allowed': {
    status: 405,
    title: 'The method is not allowed',
    advice: 'Use one of the methods in `Allow`.',
  },
  'http.timeout': { status: 408, title: 'The request was too slow', advice: 'Send it again without pauses.' },
  'http.headers_too_large': {
    status: 431,
    title: 'The header fields are too large',
    advice: 'Send fewer or shorter header fields: the limit is 16 KiB in total.',
  },
  'http.body_too_large': { status: 413, title: 'The body is too large', advice: 'Send less at once.' },
  'request.url_too_long': {
    status: 414,
    title: 'The URL is too long',
    advice: 'Send the parameters in the body of a POST, where the endpoint accepts one.',
  },
  'http.unsupported_media_type': {
    status: 415,
    title: 'The content type is not accepted here',
    advice: 'Send the documented content type.',
  },
  'http.unsupported_coding': {
    status: 501,
    title: 'The transfer coding is not supported',
    advice: 'Send the body with `Content-Length`, or `chunked` only.',
  },
  'http.too_many_requests': { status: 429, title: 'A rate limit is exceeded', advice: AGAIN },
  'http.busy': { status: 503, title: 'Too many request bodies are arriving', advice: AGAIN },
  'http.too_many_connections': {
    status: 503,
    title: 'The server has too many connections',
    advice: 'Retry after the seconds in `Retry-After`; the operator can raise the open-file limit.',
  },
  'server.fault': {
    status: 500,
    title: 'The server failed',
    advice: 'Look up the request id in the log; report the error if it persists.',
  },
  'server.unavailable': {
    status: 503,
    title: 'The database is not available',
    advice: 'Retry after the seconds in `Retry-After`; `detail` has the reason.',
  },
  'server.closed': {
    status: 503,
    title: 'This node no longer serves requests',
    advice:
      'Retry: another node will answer. The operator can find the reason in `detail`, in the log and at `/readyz`.',
  },
  'server.failed': {
    status: 503,
    title: 'The server is stopping after an internal error',
    advice: 'Retry after the seconds in `Retry-After`: another node, or this one once restarted, will answer.',
  },
  'access.token_needed': { status: 401, title: 'An access token is required', advice: TOKEN },
  'access.invalid_token': { status: 401, title: 'The access token is invalid', advice: SIGN_IN },
  'access.invalid_dpop_proof': {
    status: 401,
    title: 'The DPoP proof is missing or invalid',
    advice: 'Send a new proof in the `DPoP` header, for this method, address and token; `detail` has the reason.',
  },
  'access.use_dpop_nonce': {
    status: 401,
    title: 'The DPoP proof needs a nonce',
    advice: 'Repeat the request with a proof that has the nonce of the header `DPoP-Nonce`.',
  },
  'access.insufficient_scope': {
    status: 403,
    title: 'The access token lacks a scope',
    advice: 'Request a token with the scope in `WWW-Authenticate`.',
  },
  'Auth.StepUp': {
    status: 401,
    title: 'The sign-in is too weak or too old',
    advice:
      'Sign the user in again with `acr_values` and `max_age` of the header `WWW-Authenticate` (`AcrValues` and `MaxAge` of the problem), then repeat the request with the new token. See [step-up](step-up.md).',
  },
  'Auth.UserNeeded': {
    status: 403,
    title: 'The access token has no user',
    advice: 'Use a token of a user: what is protected by step-up is not for client credentials.',
  },
  'scim.bad_request': {
    status: 400,
    title: 'The SCIM request is not valid',
    advice: '`scimType` says what is wrong (RFC 7644 §3.12); correct what `detail` names.',
  },
  'scim.forbidden': {
    status: 403,
    title: 'SCIM may not change this',
    advice: 'Let an operator change break-glass users, and the `userName` and e-mail address of administrators.',
  },
  'scim.not_found': { status: 404, title: 'There is no such SCIM resource', advice: 'List the existing ones.' },
  'scim.not_supported': {
    status: 501,
    title: 'The optional part of SCIM is not supported',
    advice: 'Send requests one by one to `/Users` and `/Groups`.',
  },
  'scim.conflict': {
    status: 409,
    title: 'A `userName`, `displayName` or `externalId` is taken',
    advice: 'Find its holder with a filter; a group cannot have the name of any role.',
  },
  'scim.changed_meanwhile': {
    status: 412,
    title: 'The SCIM resource was changed in the meantime',
    advice: 'Read it again, and repeat the change with its `ETag`.',
  },
  'admin.bad_parameter': { status: 400, title: 'A parameter is invalid', advice: 'Correct what `detail` names.' },
  'admin.not_found': { status: 404, title: 'The object does not exist', advice: 'List the existing ones.' },
  'admin.conflict': {
    status: 409,
    title: 'The change conflicts with existing data',
    advice: 'Change what `detail` names.',
  },
  'admin.not_here': {
    status: 409,
    title: 'No node runs the service',
    advice: 'Start a node with the service; see `GATEHOUSE_SERVICES`.',
  },
  'Upgrade.Pending': {
    status: 409,
    title: 'Nodes of an earlier version are still running',
    advice: 'Finish the upgrade of all nodes, then repeat the request.',
  },
  'admin.changed_meanwhile': {
    status: 412,
    title: 'The object was changed in the meantime',
    advice: 'Read it again and repeat the change with the new `ETag`.',
  },
  'admin.bad_body': { status: 422, title: 'The body is invalid', advice: 'Correct the faults listed in `Faults`.' },
  'admin.precondition_required': {
    status: 428,
    title: 'If-Match is required',
    advice: 'Send `If-Match` with the `ETag` that you have read, or `*`.',
  },
  'admin.too_many_waiting': {
    status: 429,
    title: 'The caller has too many waiting requests',
    advice: 'End one of them.',
  },
  'admin.no_mail': {
    status: 409,
    title: 'No mail is set up',
    advice: 'Set `mail_url` and `mail_from`, or pass links on yourself.',
  },
  'admin.no_backup_url': {
    status: 409,
    title: 'Nothing is replicated',
    advice: 'Set `backup_url` and `backup_key`.',
  },
  'admin.mail_failed': {
    status: 502,
    title: 'The mail server did not take the mail',
    advice: 'Correct what `detail` names; `gatehouse doctor` checks the settings.',
  },
  'admin.busy': { status: 503, title: 'Too many passwords are being hashed', advice: AGAIN },
  ...FEED_ERRORS,
  'Licence.Needed': {
    status: 403,
    title: 'A licence is needed',
    advice:
      '`Products` names what has it, `Reason` says what is missing: an entitlement (`none`, `not_yet`, `expired`), the acceptance of the `agreement`; the product is `disabled`; or no product names this part (`uncovered`). See [licences](licences.md).',
  },
  'Licence.Places': {
    status: 403,
    title: 'All places of the product are in use',
    advice: 'Leave one of the `Limit` places, or wait until it is free.',
  },
  'Licence.Displaced': {
    status: 403,
    title: 'Another place uses the product now',
    advice: 'Stop using the product here; the place can be taken again like a new one.',
  },
  'Licence.Target': {
    status: 403,
    title: 'Licensed rows cannot be written there',
    advice:
      'Rows are only copied to a table that the `Products` which were read cover too, so that nobody reads them without a licence.',
  },
  'Licence.Column': {
    status: 409,
    title: 'The column says which product covers a row',
    advice: 'Delete the row, and insert it again.',
  },
  'Licence.Unavailable': {
    status: 503,
    title: 'Licences cannot be read',
    advice: AGAIN,
  },
  'Licence.NotReady': {
    status: 503,
    title: 'What readers with a delay see is not kept yet',
    advice:
      'Try again after the time in `Retry-After`. Rows of a table are copied first, and shown when the copy is as old as the delay; a change of its columns begins this anew.',
  },
  'licence.unknown': {
    status: 404,
    title: 'There is no such product or agreement',
    advice: 'List the products with `GET /licences`.',
  },
  'licence.bad_body': { status: 422, title: 'The body is invalid', advice: 'Correct the faults listed in `Faults`.' },
  'licence.other_version': {
    status: 409,
    title: 'The agreement has another version',
    advice: 'Read the current version, and accept that.',
  },
  'licence.no_trial': {
    status: 409,
    title: 'A trial of the product cannot begin',
    advice: '`detail` has the reason; each user can have one trial of a product, ever.',
  },
  'decision.bad_request': {
    status: 400,
    title: 'The request for a decision is malformed',
    advice: 'Correct what `detail` names; see the AuthZEN Authorization API 1.0.',
  },
  'provider.unavailable': {
    status: 503,
    title: 'Another provider does not answer',
    advice: 'Retry later, or sign in another way; the log has the reason.',
  },
  'provider.bad_answer': {
    status: 502,
    title: 'Another provider gave an answer that cannot be accepted',
    advice: 'The log says what is wrong with it: compare the definition of the provider with its settings.',
  },
  'provider.state': {
    status: 400,
    title: 'The sign-in through a provider has expired, or was begun in another browser',
    advice: 'Start again from the application.',
  },
  'provider.refused': {
    status: 403,
    title: 'Another provider refused the sign-in',
    advice: 'Sign in again there; the log has its reason.',
  },
  'identity.not_linked': {
    status: 403,
    title: 'No user is linked to the identity at a provider',
    advice: 'Sign in here to link it, or let an operator invite the person or set `provision`.',
  },
  'identity.not_allowed': {
    status: 403,
    title: 'The identity at a provider does not meet `require`',
    advice: 'Give the person the group or role at the provider; a trial sign-in shows the claims.',
  },
  'identity.disabled': {
    status: 403,
    title: 'The user of the identity at a provider is disabled',
    advice: 'Enable the user.',
  },
  'identity.groups_missing': {
    status: 403,
    title: 'A provider left out claims that rules read (group overage)',
    advice: 'Let the provider send application roles, or only the groups of the application.',
  },
  'identity.name_taken': {
    status: 409,
    title: 'The username of a new person is taken',
    advice: 'Let the person link the existing user, or rename one of the two.',
  },
  'identity.linked_elsewhere': {
    status: 409,
    title: 'The identity at a provider is linked to another user',
    advice: 'Unlink it from that user first.',
  },
  'identity.last_way': {
    status: 409,
    title: 'The user would have no way to sign in',
    advice: 'Set a password, add a passkey or link another identity first.',
  },
  'agent.not_allowed': {
    status: 403,
    title: 'The agent is not allowed on this server',
    advice:
      'Have an operator allow its host: `gatehouse agent allow HOST`. See [how agents sign in](agents-signing-in.md#allowed-agents).',
  },
  'agent.bad_document': {
    status: 400,
    title: 'The document of the agent cannot be used',
    advice:
      'The description says what is wrong with the document at its `client_id`. It is fetched again after a minute.',
  },
  'agent.too_many': {
    status: 503,
    title: 'There are too many agents with documents',
    advice: 'Remove clients that are no longer used: `gatehouse client remove ID`.',
  },
  'page.expired': {
    status: 400,
    title: 'The page is no longer valid',
    advice: 'Start again from the application; see [signing in](sign-in.md#when-something-goes-wrong).',
  },
  'page.forged': {
    status: 403,
    title: 'The form does not belong to this browser',
    advice: 'Allow cookies, and open the page on the host of the issuer.',
  },
  'mcp.expensive': {
    status: 422,
    title: 'The statement is too expensive for an agent',
    advice: 'Ask for less, run it in the console, or change `agent_scans`, `agent_scan_rows` or `agent_seconds`.',
  },
  'mcp.rows': {
    status: 429,
    title: 'The agents of the user have read the rows of a day',
    advice: 'Try again later, run the statement in the console, or raise `agent_rows_per_day`.',
  },
  'mcp.arguments': {
    status: 422,
    title: 'The arguments of a tool do not fit together',
    advice: 'Give those that the message names.',
  },
  'mcp.rights': {
    status: 403,
    title: 'The rights of the caller have changed while it waited',
    advice: 'Call again.',
  },
  'mcp.no_watch': {
    status: 404,
    title: 'There is no such watch',
    advice: 'It ends an hour after its last use: call `watch` again.',
  },
  'mcp.watches': { status: 429, title: 'The grant has too many watches', advice: AGAIN },
  'mcp.too_slow': {
    status: 503,
    title: 'The client reads notifications too slowly',
    advice: 'Read faster, and listen again.',
  },
  'mcp.origin': {
    status: 403,
    title: 'Pages of this origin may not call /mcp',
    advice: 'Add the origin to `GATEHOUSE_PUBLIC_ORIGINS`, or register it with a client (`allowed_origins`).',
  },
  ...UPGRADE_ERRORS,
} as const satisfies Readonly<Record<string, HttpError>>

/** The title of a code; the code itself if it is from another table. */
export function errorTitle(code: string): string {
  const errors: Readonly<Record<string, HttpError>> = HTTP_ERRORS
  return (Object.hasOwn(errors, code) ? errors[code]?.title : undefined) ?? code
}
