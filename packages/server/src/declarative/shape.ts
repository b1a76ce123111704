/** The schema of the declarative file, from which its types, its validation and the published JSON Schema are derived. */

import { NAME as anyName, LONGEST_AGE, LONGEST_NAME } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { SIGNATURE_ALGS } from '../lib/signature-algs.ts'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTE_VALUES, ATTRIBUTES } from '../resources/attributes.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import { SECRET } from '../resources/declared-secret.ts'
import type { AnySection } from '../resources/define-resource.ts'
import { FEEDS } from '../resources/feeds.ts'
import { PROVIDERS } from '../resources/providers.ts'
import { listResources } from '../resources/resources.ts'
import { NAME_PATTERN, ROLES } from '../resources/roles.ts'
import { STEP_UP_MEMBERS, WRITE_STEP_UP_MEMBERS } from '../resources/step-up-members.ts'
import { closed, either, flag, list, number, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { SchemaRules } from '../schema/check-schema.ts'
import { AUTH_METHODS, GRANT_TYPES, PROFILES, RESPONSE_TYPES } from '../store/clients/client-metadata.ts'
import { FOREIGN_ALGS } from '../store/keys/foreign-keys.ts'

export type Declaration = XStatic<typeof DECLARATION>
export type DeclaredUser = XStatic<typeof USER>
export type DeclaredClient = XStatic<typeof CLIENT>
export type DeclaredTable = XStatic<typeof TABLE>
export type DeclaredView = XStatic<typeof VIEW>

const NAME = anyName.source
/** RFC 6749 appendix A.1, without spaces. */
const CLIENT_ID = /^[\x21-\x7e]+$/.source
const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.source
const COLUMN_TYPE =
  /^\s*(?:Text|Integer|Double|Boolean|Timestamp|Date|Time|Uuid|Json|Binary|Decimal\s*\(\s*\d{1,2}\s*,\s*\d{1,2}\s*\))\s*$/
    .source

const EMAIL = /^[^\s@]+@[^\s@]+$/.source
const BIRTHDATE = /^\d{4}(-\d{2}-\d{2})?$/.source
const PASSWORD_HASH = /^\$argon2(id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.source

/** The error message for each pattern. */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  NAME_PATTERN,
  [CLIENT_ID, 'must contain only visible ASCII characters'],
  [TABLE_NAME, 'must consist of up to 63 letters, digits and underscores, and not begin with a digit'],
  [
    COLUMN_TYPE,
    'must be one of the column types Text, Integer, Decimal(p,s), Double, Boolean, Timestamp, Date, Time, Uuid, Json, Binary',
  ],
  [EMAIL, 'must be an e-mail address'],
  [BIRTHDATE, 'must have the form YYYY-MM-DD or YYYY'],
  [PASSWORD_HASH, 'must be an Argon2 hash in PHC format, such as $argon2id$v=19$m=19456,t=2,p=1$…$…'],
])

const USER = closed(['username'], {
  username: text({ pattern: NAME, maxLength: LONGEST_NAME, description: 'Case-insensitive.' }),
  password: SECRET,
  password_hash: text({ pattern: PASSWORD_HASH, description: 'An Argon2 hash in PHC format instead of a password.' }),
  reset_password: flag(
    'Replace the password of a user who already had one when the file first declared a password. Default: false.',
  ),
  must_change_password: flag(
    'The user must replace the declared password at the next sign-in. Applies each time the file sets the password. Default: false.',
  ),
  roles: shortList(text(), 'Names of roles in this file or in the database.'),
  attributes: ATTRIBUTE_VALUES,
  disabled: flag('A disabled user cannot sign in, and all their tokens are revoked.'),
  break_glass: flag('May sign in with a password where local_sign_in is break_glass. Default: false.'),
  name: words(),
  given_name: words(),
  family_name: words(),
  middle_name: words(),
  nickname: words(),
  preferred_username: words('Default: the username.'),
  profile: words(),
  picture: words(),
  website: words(),
  email: text({ pattern: EMAIL, maxLength: 254 }),
  email_verified: flag(),
  gender: words(),
  birthdate: text({ pattern: BIRTHDATE, description: 'YYYY-MM-DD, 0000-MM-DD or YYYY.' }),
  zoneinfo: words('A time zone, such as Europe/Paris.'),
  locale: words('A language tag, such as en-GB.'),
})

/** The library that reads the key checks its other members. */
const JWK = { type: 'object', required: ['kty'], properties: { kty: { type: 'string' } } } as const

const CLIENT = closed(['client_id'], {
  client_id: text({ pattern: CLIENT_ID, maxLength: 128 }),
  client_name: words('Shown to users. Default: the client_id.'),
  client_secret: SECRET,
  token_endpoint_auth_method: oneOf(
    AUTH_METHODS,
    'none makes a public client; private_key_jwt takes assertions instead of a secret. Default: client_secret_basic and client_secret_post.',
  ),
  application_type: oneOf(
    ['web', 'native'],
    'A native client may use any port in a loopback redirect URI. Default: web.',
  ),
  redirect_uris: shortList(text(), 'Compared as exact strings.'),
  post_logout_redirect_uris: shortList(text()),
  grant_types: shortList(oneOf(GRANT_TYPES), 'Default: authorization_code.'),
  response_types: shortList(oneOf(RESPONSE_TYPES), 'Default: code.'),
  scope: words('The scopes that the client may request, separated by spaces. Default: openid.'),
  frontchannel_logout_uri: words(),
  frontchannel_logout_session_required: flag(),
  backchannel_logout_uri: words(),
  backchannel_logout_session_required: flag(),
  jwks: closed(['keys'], {
    keys: shortList(JWK, 'Public keys for signed request objects, and for assertions of private_key_jwt.'),
  }),
  jwks_uri: words('Where these public keys are published, instead of jwks. https.'),
  token_endpoint_auth_signing_alg: oneOf(
    FOREIGN_ALGS,
    'The only algorithm of its assertions. Default: any that fits the key.',
  ),
  request_object_signing_alg: oneOf(
    FOREIGN_ALGS,
    'The only algorithm of its request objects. Default: any that fits the key.',
  ),
  require_signed_request_object: flag(
    'Authorization requests are signed (RFC 9101): parameters outside the request object do not count.',
  ),
  federated: shortList(
    closed(['issuer', 'subject'], {
      issuer: text({ minLength: 1, maxLength: 512, description: 'The iss of its tokens.' }),
      subject: text({ minLength: 1, maxLength: 512, description: 'The sub of its tokens, compared exactly.' }),
      jwks: closed(['keys'], {
        keys: shortList(JWK, "The issuer's public keys. Default: those that its metadata name."),
      }),
    }),
    'Workloads, such as service accounts of Kubernetes or CI jobs, that authenticate as this client with a token of their issuer.',
  ),
  default_max_age: number('integer', { minimum: 0 }),
  require_auth_time: flag(),
  id_token_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of ID tokens and logout tokens, one of the setting signing_algs. Default: RS256.',
  ),
  authorization_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of signed authorization responses (JARM), one of the setting signing_algs. Default: RS256.',
  ),
  introspection_signed_response_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of introspection responses as JWT (RFC 9701), one of the setting signing_algs. Default: RS256.',
  ),
  initiate_login_uri: words('https only.'),
  contacts: shortList(text()),
  client_uri: words(),
  logo_uri: words(),
  policy_uri: words(),
  tos_uri: words(),
  require_pkce: flag('Public clients always need PKCE.'),
  code_challenge_methods: shortList(oneOf(['plain', 'S256']), 'Default: S256 for a public client, otherwise both.'),
  require_second_factor: flag('Signing in to this client requires a second factor.'),
  require_acr: number('integer', {
    minimum: 1,
    maximum: 2,
    description: 'Signing in to this client needs 1 or 2 factors; 2 is the same as require_second_factor.',
  }),
  require_age: number('integer', {
    minimum: 1,
    maximum: LONGEST_AGE,
    description: 'Users whose sign-in is older, in seconds, sign in again before they reach this client.',
  }),
  skip_consent: flag(
    'For first-party clients: users are not asked for consent, not even by a public client on loopback, which other programs of the device can impersonate.',
  ),
  claims_in_id_token: flag(
    'Put the claims of the scopes in the ID token too, for applications that do not call userinfo.',
  ),
  allowed_origins: shortList(text(), 'Origins whose pages may call the server with a token (CORS).'),
  access_token_lifetime: number('integer', {
    minimum: 1,
    maximum: 86_400,
    description:
      'Seconds. Applies to new tokens; existing tokens keep their lifetime unless they are revoked. Default: 3600.',
  }),
  access_token_alg: oneOf(
    SIGNATURE_ALGS,
    'The algorithm of access tokens, one of the setting signing_algs. Default: RS256.',
  ),
  require_pushed_authorization_requests: flag(
    'Authorization requests must be pushed (PAR, RFC 9126): /connect/authorize takes only a request_uri.',
  ),
  profile: oneOf(
    PROFILES,
    'fapi2: the FAPI 2.0 Security Profile, with private_key_jwt, pushed requests, S256 and DPoP. Default: none.',
  ),
  dpop_bound_access_tokens: flag('Access tokens are always bound to a key of the client (DPoP, RFC 9449).'),
  attributes: { ...ATTRIBUTE_VALUES, description: 'Values of declared attributes, for tokens without a user.' },
  api: words('The resource of the API that the client is: it may exchange access tokens for it (RFC 8693).'),
  exchange_scope: words(
    'The scopes of other APIs and services that it may get by token exchange, separated by spaces.',
  ),
  disabled: flag(),
})

const COLUMN = closed(['name', 'type'], {
  name: text({ pattern: TABLE_NAME }),
  type: text({ pattern: COLUMN_TYPE, description: 'Such as Integer, Decimal(18,4), Text or Timestamp.' }),
  primary_key: flag(),
  nullable: flag('Default: true, except for the primary key.'),
  unique: flag(),
})

const NULL = { type: 'null' } as const

const TABLE = closed(['name', 'columns'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  columns: { ...list(COLUMN), minItems: 1 },
  read_scope: either(text({ description: 'Default: any Platform/ scope.' }), NULL),
  write_scope: either(text({ description: 'Default: Platform/Admin.' }), NULL),
  row_filter: either(
    text({
      description: 'An IQL predicate over :sub, :username, :client, :roles and attributes such as :attribute.desk.',
    }),
    NULL,
  ),
  checks: {
    type: 'object',
    additionalProperties: text({ minLength: 1 }),
    description: 'CHECK constraints by name: IQL conditions over the columns, such as price > 0.',
  },
  ...STEP_UP_MEMBERS,
  ...WRITE_STEP_UP_MEMBERS,
  live: flag('false: changes are not logged, and live queries read the table again as a whole. Default: true.'),
  csv: text({
    minLength: 1,
    description: 'A CSV file with the initial rows, inserted when the table is created. The header names the columns.',
  }),
})

const VIEW = closed(['name', 'query'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  query: text({ minLength: 1, description: 'An IQL query without parameters, over tables and other views.' }),
  columns: list(text({ pattern: TABLE_NAME }), 'Names of the columns. Default: those of the query.'),
  read_scope: either(text({ description: 'In addition to the scopes of what the query reads. Default: none.' }), NULL),
})

const SETTING = either(
  text(),
  number('number'),
  flag(),
  list(text()),
  closed(['env'], { env: text({ minLength: 1 }) }),
  closed(['file'], { file: text({ minLength: 1 }) }),
)

export const DECLARATION = {
  title: 'The declarative file of Gatehouse',
  ...closed([], {
    $schema: text(),
    settings: {
      type: 'object',
      additionalProperties: SETTING,
      description: 'Settings by their names in a file, such as log_level.',
    },
    apis: APIS.list,
    roles: ROLES.list,
    attributes: ATTRIBUTES.list,
    users: list(USER),
    clients: list(CLIENT),
    tables: list(TABLE),
    views: list(VIEW),
    controllers: CONTROLLERS.list,
    providers: PROVIDERS.list,
    feeds: FEEDS.list,
    prune: flag(
      'Remove APIs, roles, attributes, users, clients, tables, views, providers, feeds and controllers that are not in this file, of each list that is.',
    ),
  }),
} as const

/** The schema of a file, and the messages of its patterns; `resources` may be more than those that every server has. */
export function fileSchema(resources: readonly AnySection[]): SchemaRules {
  const lists = resources.map(({ section, list: each }) => [section, each] as const)
  return {
    schema: { ...DECLARATION, properties: { ...DECLARATION.properties, ...Object.fromEntries(lists) } },
    patterns: new Map([...PATTERNS, ...resources.flatMap(({ patterns = [] }) => patterns)]),
  }
}

/** Of every server. */
export const FILE: SchemaRules = fileSchema(listResources())
