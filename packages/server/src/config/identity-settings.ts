/** Settings of the identity service: tokens, keys, pages and browser sessions. */
import {
  DISCOVERY_MODES,
  oneOf,
  parseBoolean,
  parseBrandName,
  parseColour,
  parseContact,
  parseDays,
  parseDpopNonce,
  parseDpopReplay,
  parseLogo,
  parsePushedLifetime,
  parseSeconds,
  parseSigningAlgs,
  parseText,
  parseTokenLifetime,
  parseWebOrigins,
} from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const IDENTITY_SETTINGS = {
  accessTokenLifetime: setting(
    '3600',
    parseTokenLifetime,
    'Lifetime of access tokens in seconds, at most one day. A client can override it. Existing tokens keep their lifetime.',
  ),
  refreshTokenIdle: setting('2592000', parseSeconds, 'Seconds after which an unused refresh token expires.'),
  refreshTokenLifetime: setting(
    '15552000',
    parseSeconds,
    'Seconds after which a refresh token and all its successors expire, whether used or not.',
  ),
  refreshTokenGrace: setting(
    '10',
    parseSeconds,
    'Seconds within which a rotated refresh token may be used again with the same result, for lost responses and two tabs. If a node knows that the response did not reach the client, because the database did not answer or the client had left, it is half an hour, until the new token is used.',
  ),
  discovery: setting(
    'exact',
    oneOf(DISCOVERY_MODES),
    'What /.well-known/openid-configuration says: exact, the members of the contract and nothing else; complete, all that is configured, as /.well-known/oauth-authorization-server always does.',
  ),
  signingAlgs: setting(
    'RS256',
    parseSigningAlgs,
    'Algorithms that tokens can be signed with: RS256, and PS256, ES256 or EdDSA (Ed25519), separated by commas. Each has its own keys. A client chooses one by `id_token_signed_response_alg`, `access_token_alg`, `authorization_signed_response_alg` and `introspection_signed_response_alg`; others get RS256.',
  ),
  dpopNonce: setting(
    'public',
    parseDpopNonce,
    'Which DPoP proofs need a nonce of the server: those of public clients, of all, or of none (off). With a nonce, a proof cannot be made ahead, and the clock of the client does not matter.',
  ),
  dpopReplay: setting(
    'local',
    parseDpopReplay,
    'Where used DPoP proofs of queries, feeds and userinfo are remembered: local in the memory of each node, shared in the database for all nodes. Those of tokens, administration and streams are always shared.',
  ),
  publicOrigins: setting(
    '',
    parseWebOrigins,
    'Origins besides that of the issuer under which clients reach this server, separated by commas, such as https://stream.example.com. DPoP proofs are made for one of them.',
  ),
  parLifetime: setting(
    '60',
    parsePushedLifetime,
    'Seconds within which the browser must open a pushed authorization request (PAR), from 5 to 599.',
  ),
  requirePushedAuthorizationRequests: setting(
    'false',
    parseBoolean,
    'Take authorization requests only by a request_uri, after the client has pushed them (PAR). The console is excepted. A client can be set to this by itself.',
  ),
  keyRotation: setting('90', parseDays, 'Days between rotations of the signing key.'),
  brandName: setting('Gatehouse', parseBrandName, 'Name shown on the pages and in authenticator apps.'),
  brandColour: setting('#3056d3', parseColour, 'Colour of buttons and links on the pages, as #rrggbb.'),
  brandLogo: setting(
    '',
    parseLogo,
    'File with the logo on the pages (SVG, PNG, WebP or JPEG). Empty: the Gatehouse logo.',
  ),
  supportContact: setting(
    '',
    parseContact,
    'Contact that the pages show to people who need help: an e-mail address, a URL, or a text such as "the service desk, extension 4711". Empty: "your administrator".',
  ),
  console: setting('true', parseBoolean, 'Serve the console at /console, and let its built-in client sign users in.'),
  cliClient: setting(
    'true',
    parseBoolean,
    'Let people log in with "gatehouse login" without registering the client gatehouse-cli. A client registered with this id replaces the built-in one.',
  ),
  localSignIn: setting(
    'all',
    oneOf(['all', 'break_glass']),
    'Who may sign in with a password or a passkey of this server: all, or break_glass: only users with break_glass, others through a provider. It needs such a user with Identity/Admin, a password and a second factor.',
  ),
  scim: setting(
    'false',
    parseBoolean,
    'Serve SCIM 2.0 at /scim/v2, where clients with Identity/Provisioning create, change and disable users.',
  ),
  authzen: setting(
    'false',
    parseBoolean,
    'Answer what users and clients may use of products by the AuthZEN Authorization API 1.0 at /access/v1, for clients with Platform/Decisions.',
  ),
  licenceFirm: setting(
    '',
    parseText,
    'The attribute of users and clients whose value the usage report of market data has as the firm. Empty: none.',
  ),
  sessionIdle: setting('43200', parseSeconds, 'Seconds without a request after which a browser session expires.'),
  sessionLifetime: setting(
    '604800',
    parseSeconds,
    'Seconds after which a browser session expires, even if it is in use.',
  ),
  logoutPrivate: setting(
    'false',
    parseBoolean,
    'Allow back-channel logout to private and loopback addresses, also over http.',
  ),
  clientJwksPrivate: setting(
    'false',
    parseBoolean,
    'Allow the keys of clients (jwks_uri) and of the issuers of workloads (federated) to be fetched from private and loopback addresses, also over http.',
  ),
} as const satisfies Settings
