/** Every row of the acceptance checklist: a rule, and the id that its tests have in their names. */
import { FAPI2_ROWS } from './rows-fapi2.ts'
import { PROTOCOL_ROWS } from './rows-protocol.ts'
import { SECURITY_ROWS } from './rows-security.ts'

export interface Row {
  readonly id: string
  readonly rule: string
  /** Why the row does not apply; it is listed, but has no test. */
  readonly without?: string
}

export interface Part {
  readonly title: string
  readonly rows: readonly Row[]
}

const NO_REGISTRATION = 'needs dynamic client registration, which is not supported'
const UNSUPPORTED_SCOPE = 'the scope is not in scopes_supported, so the suite skips the module'
const NO_UNSIGNED = 'unsigned request objects are not advertised, so the suite skips the module; C-100 refuses them'

/** Modules of the OpenID Foundation's suite, by their names there. */
export const MODULE_ROWS: readonly Row[] = table([
  ['oidcc-server', 'the basic flow returns valid tokens, hashes and a strong code'],
  ['oidcc-server-client-secret-post', 'the basic flow with the secret in the body'],
  ['oidcc-response-type-missing', 'a request without response_type is refused, by redirect or error page'],
  ['oidcc-idtoken-signature', 'ID tokens are RS256 with a published kid'],
  ['oidcc-idtoken-unsigned', 'an unsigned ID token', NO_REGISTRATION],
  ['oidcc-userinfo-get', 'userinfo by GET'],
  ['oidcc-userinfo-post-header', 'userinfo by POST with the token in the header'],
  ['oidcc-userinfo-post-body', 'userinfo by POST with the token in the form'],
  ['oidcc-ensure-request-without-nonce-succeeds-for-code-flow', 'the code flow needs no nonce'],
  ['oidcc-ensure-request-without-nonce-fails', 'an ID token in the front channel requires a nonce'],
  ['oidcc-scope-profile', 'the profile scope returns its fourteen claims'],
  ['oidcc-scope-email', 'the email scope returns email and email_verified and nothing else'],
  ['oidcc-scope-address', 'the address scope', UNSUPPORTED_SCOPE],
  ['oidcc-scope-phone', 'the phone scope', UNSUPPORTED_SCOPE],
  ['oidcc-scope-all', 'all claim scopes together', UNSUPPORTED_SCOPE],
  ['oidcc-alternate-happy-flow', 'the order of scopes and parameters does not matter'],
  ['oidcc-display-page', 'display=page is accepted'],
  ['oidcc-display-popup', 'display=popup is accepted'],
  ['oidcc-prompt-login', 'prompt=login asks for credentials again and updates auth_time'],
  ['oidcc-prompt-none-not-logged-in', 'prompt=none without a session returns an error to the client'],
  ['oidcc-prompt-none-logged-in', 'prompt=none with a session succeeds without a page'],
  ['oidcc-max-age-1', 'a sign-in older than max_age is repeated'],
  ['oidcc-max-age-10000', 'a sign-in younger than max_age is kept'],
  ['oidcc-ensure-request-with-unknown-parameter-succeeds', 'unknown parameters are ignored'],
  ['oidcc-id-token-hint', 'id_token_hint of the same user with prompt=none succeeds'],
  ['oidcc-login-hint', 'login_hint is accepted'],
  ['oidcc-ui-locales', 'ui_locales is accepted'],
  ['oidcc-claims-locales', 'claims_locales is accepted'],
  ['oidcc-ensure-request-with-acr-values-succeeds', 'acr_values is accepted'],
  ['oidcc-codereuse', 'a code cannot be redeemed twice'],
  ['oidcc-codereuse-30seconds', 'redeeming a code twice revokes its tokens'],
  ['oidcc-ensure-registered-redirect-uri', 'an unregistered redirect URI gets an error page'],
  ['oidcc-ensure-post-request-succeeds', 'the authorization request may be a form POST'],
  ['oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported', 'request_uri', NO_REGISTRATION],
  ['oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', 'alg none', NO_UNSIGNED],
  ['oidcc-ensure-request-object-with-redirect-uri', 'alg none with a redirect URI in the request object', NO_UNSIGNED],
  ['oidcc-claims-essential', 'an essential claim is returned where it was requested'],
  ['oidcc-refresh-token', 'a refresh returns new tokens of the same sign-in, to the same client only'],
  ['oidcc-ensure-request-with-valid-pkce-succeeds', 'PKCE with S256'],
  ['oidcc-discovery-endpoint-verification', 'the discovery document and the keys are well formed'],
  ['oidcc-rp-initiated-logout-discovery-endpoint-verification', 'discovery lists end_session_endpoint'],
  ['oidcc-rp-initiated-logout', 'sign-out returns to the client with an unusual state unchanged'],
  ['oidcc-rp-initiated-logout-no-state', 'sign-out without state returns without one'],
  [
    'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
    'sign-out without post_logout_redirect_uri ends at our page',
  ],
  ['oidcc-rp-initiated-logout-no-params', 'sign-out without parameters asks for confirmation and ends at our page'],
  ['oidcc-rp-initiated-logout-only-state', 'a state alone changes nothing'],
  ['oidcc-rp-initiated-logout-no-id-token-hint', 'without a hint the browser is not redirected to the client'],
  ['oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', 'the browser is never redirected to an unregistered URI'],
  ['oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri', 'post-logout URIs are compared exactly'],
  ['oidcc-rp-initiated-logout-modified-id-token-hint', 'a hint without its signature is refused'],
  ['oidcc-rp-initiated-logout-bad-id-token-hint', 'a hint forged by the client is refused'],
  ['oidcc-session-management-discovery-endpoint-verification', 'discovery lists the session iframe'],
  ['oidcc-session-management-rp-initiated-logout', 'the iframe reports unchanged, and changed after sign-out'],
  ['oidcc-frontchannel-logout-discovery-endpoint-verification', 'discovery announces front-channel logout'],
  ['oidcc-frontchannel-rp-initiated-logout', "sign-out loads the client's logout URI with iss and sid"],
  ['oidcc-backchannel-logout-discovery-endpoint-verification', 'discovery announces back-channel logout'],
  ['oidcc-backchannel-rp-initiated-logout', 'sign-out posts a signed logout token'],
  ['oidcc-redirect-uri-query-OK', 'the registered query is preserved'],
  ['oidcc-redirect-uri-query-mismatch', 'another query gets an error page'],
  ['oidcc-redirect-uri-query-added', 'an added query gets an error page'],
  ['oidcc-redirect-uri-regfrag', 'a redirect URI with a fragment cannot be registered'],
  ['oidcc-ensure-redirect-uri-in-authorization-request', 'redirect_uri is required'],
  ['oidcc-idtoken-rs256', 'ID tokens are RS256 with a kid'],
  ['oidcc-server-rotate-keys', 'after a rotation the new and the old key are published'],
  ['oidcc-3rd_party-init-login', 'initiate_login_uri is stored with the client'],
  ['oidcc-3rd_party-init-login-nohttps', 'initiate_login_uri must be https'],
  ['oidcc-userinfo-rs256', 'signed userinfo', NO_REGISTRATION],
  ['oidcc-registration-logo-uri', 'logo_uri', NO_REGISTRATION],
  ['oidcc-registration-policy-uri', 'policy_uri', NO_REGISTRATION],
  ['oidcc-registration-tos-uri', 'tos_uri', NO_REGISTRATION],
  ['oidcc-registration-jwks-uri', 'jwks_uri of a client', NO_REGISTRATION],
  ['oidcc-registration-sector-uri', 'sector_identifier_uri', NO_REGISTRATION],
  ['oidcc-registration-sector-bad', 'sector_identifier_uri', NO_REGISTRATION],
  ['oidcc-request-uri-unsigned', 'request_uri', NO_REGISTRATION],
  ['oidcc-request-uri-signed-rs256', 'request_uri', NO_REGISTRATION],
  ['oidcc-refresh-token-rp-key-rotation', "the client's keys are rotated", NO_REGISTRATION],
  [
    'oidcc-ensure-client-assertion-with-iss-aud-succeeds',
    'private_key_jwt',
    'the OpenID document names the method with `discovery: complete` only',
  ],
])

export const PARTS: readonly Part[] = [
  { title: 'Modules of the certification suite', rows: MODULE_ROWS },
  { title: 'Modules of the FAPI 2.0 plans', rows: table(FAPI2_ROWS) },
  { title: 'Protocol and token rules', rows: table(PROTOCOL_ROWS) },
  { title: 'Security rules', rows: table(SECURITY_ROWS) },
]

export const ROWS: readonly Row[] = PARTS.flatMap(({ rows }) => rows)

function table(entries: readonly (readonly [id: string, rule: string, without?: string])[]): Row[] {
  return entries.map(([id, rule, without]) => ({ id, rule, ...(without === undefined ? {} : { without }) }))
}
