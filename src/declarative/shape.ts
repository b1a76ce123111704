/** The shape of the declarative file: one schema gives its types, its checks and the published JSON Schema. */
import type { XStatic } from 'typebox/schema'
import { SCOPES } from '../protocol/scopes.ts'
import { AUTH_METHODS, GRANT_TYPES, RESPONSE_TYPES } from '../store/client-metadata.ts'
import { closed, either, flag, list, number, oneOf, text } from './schema-words.ts'

export type Declaration = XStatic<typeof DECLARATION>
export type DeclaredRole = XStatic<typeof ROLE>
export type DeclaredUser = XStatic<typeof USER>
export type DeclaredClient = XStatic<typeof CLIENT>
export type DeclaredTable = XStatic<typeof TABLE>
export type DeclaredSecret = XStatic<typeof SECRET>

const NAME = /^[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u.source
/** RFC 6749 appendix A.1: a client_id is visible ASCII and spaces; we take no spaces. */
const CLIENT_ID = /^[\x21-\x7e]+$/.source
const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.source
const COLUMN_TYPE =
  /^\s*(?:Text|Integer|Double|Boolean|Timestamp|Date|Time|Uuid|Json|Binary|Decimal\s*\(\s*\d{1,2}\s*,\s*\d{1,2}\s*\))\s*$/
    .source

const EMAIL = /^[^\s@]+@[^\s@]+$/.source
const BIRTHDATE = /^\d{4}(-\d{2}-\d{2})?$/.source
const PASSWORD_HASH = /^\$argon2(id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.source

/** What each pattern asks for, in words. */
export const PATTERNS: ReadonlyMap<string, string> = new Map([
  [NAME, 'a name has no control characters, and no spaces at its ends'],
  [CLIENT_ID, 'a client_id has visible ASCII characters only'],
  [TABLE_NAME, 'a name of a table or column has letters, digits and _, up to 63, and starts with no digit'],
  [
    COLUMN_TYPE,
    'is none of the column types: Text, Integer, Decimal(p,s), Double, Boolean, Timestamp, Date, Time, Uuid, Json, Binary',
  ],
  [EMAIL, 'is not an e-mail address'],
  [BIRTHDATE, 'must be written YYYY-MM-DD, or YYYY alone'],
  [PASSWORD_HASH, 'must be a PHC string of Argon2, as in $argon2id$v=19$m=19456,t=2,p=1$…$…'],
])

const SECRET = either(
  text({ minLength: 1, description: 'The value itself.' }),
  closed(['env'], { env: text({ minLength: 1, description: 'The environment variable that holds the value.' }) }),
  closed(['file'], {
    file: text({
      minLength: 1,
      description: 'The file that holds the value, from the folder of this file; one line end is cut off.',
    }),
  }),
)

const ROLE = closed(['name'], {
  name: text({ pattern: NAME, maxLength: 128 }),
  scopes: list(oneOf(SCOPES), 'The rights that the role gives.'),
  description: words('What the role is for.'),
  require_second_factor: flag('Whoever holds the role must sign in with a second factor.'),
})

const USER = closed(['username'], {
  username: text({ pattern: NAME, maxLength: 128, description: 'Compared without case.' }),
  password: SECRET,
  password_hash: text({ pattern: PASSWORD_HASH, description: 'A PHC string of Argon2 in place of a password.' }),
  roles: list(text(), 'Names of roles of this file or of the database.'),
  disabled: flag('A disabled user cannot sign in, and every token of theirs is void.'),
  name: words(),
  given_name: words(),
  family_name: words(),
  middle_name: words(),
  nickname: words(),
  preferred_username: words('The username when left out.'),
  profile: words(),
  picture: words(),
  website: words(),
  email: text({ pattern: EMAIL, maxLength: 254 }),
  email_verified: flag(),
  gender: words(),
  birthdate: text({ pattern: BIRTHDATE, description: 'YYYY-MM-DD, 0000-MM-DD or YYYY.' }),
  zoneinfo: words('A time zone such as Europe/Paris.'),
  locale: words('A language tag such as en-GB.'),
})

/** The rest of a key is for the library that reads it. */
const JWK = { type: 'object', required: ['kty'], properties: { kty: { type: 'string' } } } as const

const CLIENT = closed(['client_id'], {
  client_id: text({ pattern: CLIENT_ID, maxLength: 128 }),
  client_name: words('Shown to the user; the client_id when left out.'),
  client_secret: SECRET,
  token_endpoint_auth_method: oneOf(
    AUTH_METHODS,
    'Either way of sending the secret when left out; none makes a public client.',
  ),
  application_type: oneOf(
    ['web', 'native'],
    'web when left out. A native client may vary the port of a loopback redirect address.',
  ),
  redirect_uris: list(text(), 'Compared letter by letter.'),
  post_logout_redirect_uris: list(text()),
  grant_types: list(oneOf(GRANT_TYPES), 'authorization_code when left out.'),
  response_types: list(oneOf(RESPONSE_TYPES), 'code when left out.'),
  scope: words('What the client may ask for, separated by spaces; openid when left out.'),
  frontchannel_logout_uri: words(),
  frontchannel_logout_session_required: flag(),
  backchannel_logout_uri: words(),
  backchannel_logout_session_required: flag(),
  jwks: closed(['keys'], { keys: list(JWK, 'Public keys of signed request objects.') }),
  default_max_age: number('integer', { minimum: 0 }),
  require_auth_time: flag(),
  initiate_login_uri: words('https only.'),
  contacts: list(text()),
  client_uri: words(),
  logo_uri: words(),
  policy_uri: words(),
  tos_uri: words(),
  require_pkce: flag('A public client needs PKCE whether or not this is set.'),
  code_challenge_methods: list(oneOf(['plain', 'S256']), 'S256 alone for a public client when left out, else both.'),
  require_second_factor: flag('Whoever signs in to this client needs a second factor.'),
  skip_consent: flag('For clients of the house: the user is not asked.'),
  claims_in_id_token: flag('What the scopes open is in the ID token too, for applications that never ask userinfo.'),
  allowed_origins: list(text(), 'Origins whose scripts may call the token endpoint (CORS).'),
  access_token_lifetime: number('integer', {
    minimum: 1,
    maximum: 86_400,
    description:
      'Seconds; 3600 when left out. Counts for tokens issued from then on: those that are out keep theirs unless they are revoked.',
  }),
  disabled: flag(),
})

const COLUMN = closed(['name', 'type'], {
  name: text({ pattern: TABLE_NAME }),
  type: text({ pattern: COLUMN_TYPE, description: 'Integer, Decimal(18,4), Text, Timestamp, …' }),
  primary_key: flag(),
  nullable: flag('True when left out, except for the primary key.'),
  unique: flag(),
})

const NULL = { type: 'null' } as const

const TABLE = closed(['name', 'columns'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  columns: { ...list(COLUMN), minItems: 1 },
  read_scope: either(text({ description: 'Any Platform/ scope will do when left out.' }), NULL),
  write_scope: either(text({ description: 'Platform/Admin when left out.' }), NULL),
  row_filter: either(text({ description: 'An IQL predicate over :sub, :client_id and :role.' }), NULL),
  csv: text({
    minLength: 1,
    description: 'Rows to start with, put in when the table is made; a header names the columns.',
  }),
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
      description: 'Settings by their name in a file, such as log_level.',
    },
    roles: list(ROLE),
    users: list(USER),
    clients: list(CLIENT),
    tables: list(TABLE),
    prune: flag('Remove the roles, users, clients and tables that this file does not name.'),
  }),
} as const

function words(description?: string) {
  return text({ minLength: 1, maxLength: 4096, ...(description === undefined ? {} : { description }) })
}
