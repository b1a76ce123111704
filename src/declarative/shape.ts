/** The shape of the declarative file: one schema gives its types, its checks and the published JSON Schema. */
import Type, { type Static, type TProperties } from 'typebox'
import { SCOPES } from '../protocol/scopes.ts'
import { AUTH_METHODS, GRANT_TYPES, RESPONSE_TYPES } from '../store/client-metadata.ts'

export type Declaration = Static<typeof DECLARATION>
export type DeclaredRole = Static<typeof ROLE>
export type DeclaredUser = Static<typeof USER>
export type DeclaredClient = Static<typeof CLIENT>
export type DeclaredTable = Static<typeof TABLE>
export type DeclaredColumn = Static<typeof COLUMN>
export type DeclaredSecret = Static<typeof SECRET>

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

const SECRET = Type.Union([
  Type.String({ minLength: 1, description: 'The value itself.' }),
  closed({ env: Type.String({ minLength: 1, description: 'The environment variable that holds the value.' }) }),
  closed({
    file: Type.String({
      minLength: 1,
      description: 'The file that holds the value, from the folder of this file; one line end is cut off.',
    }),
  }),
])

const ROLE = closed({
  name: Type.String({ pattern: NAME, maxLength: 128 }),
  scopes: optionalList(Type.Enum(SCOPES), 'The rights that the role gives.'),
  description: optionalText('What the role is for.'),
  require_second_factor: optionalFlag('Whoever holds the role must sign in with a second factor.'),
})

const USER = closed({
  username: Type.String({ pattern: NAME, maxLength: 128, description: 'Compared without case.' }),
  password: Type.Optional(SECRET),
  password_hash: Type.Optional(
    Type.String({ pattern: PASSWORD_HASH, description: 'A PHC string of Argon2 in place of a password.' }),
  ),
  roles: optionalList(Type.String(), 'Names of roles of this file or of the database.'),
  disabled: optionalFlag('A disabled user cannot sign in, and every token of theirs is void.'),
  name: optionalText(),
  given_name: optionalText(),
  family_name: optionalText(),
  middle_name: optionalText(),
  nickname: optionalText(),
  preferred_username: optionalText('The username when left out.'),
  profile: optionalText(),
  picture: optionalText(),
  website: optionalText(),
  email: Type.Optional(Type.String({ pattern: EMAIL, maxLength: 254 })),
  email_verified: optionalFlag(),
  gender: optionalText(),
  birthdate: Type.Optional(Type.String({ pattern: BIRTHDATE, description: 'YYYY-MM-DD, 0000-MM-DD or YYYY.' })),
  zoneinfo: optionalText('A time zone such as Europe/Paris.'),
  locale: optionalText('A language tag such as en-GB.'),
})

const CLIENT = closed({
  client_id: Type.String({ pattern: CLIENT_ID, maxLength: 128 }),
  client_name: optionalText('Shown to the user; the client_id when left out.'),
  client_secret: Type.Optional(SECRET),
  token_endpoint_auth_method: Type.Optional(
    Type.Enum(AUTH_METHODS, {
      description: 'Either way of sending the secret when left out; none makes a public client.',
    }),
  ),
  application_type: Type.Optional(
    Type.Enum(['web', 'native'], {
      description: 'web when left out. A native client may vary the port of a loopback redirect address.',
    }),
  ),
  redirect_uris: optionalList(Type.String(), 'Compared letter by letter.'),
  post_logout_redirect_uris: optionalList(Type.String()),
  grant_types: optionalList(Type.Enum(GRANT_TYPES), 'authorization_code when left out.'),
  response_types: optionalList(Type.Enum(RESPONSE_TYPES), 'code when left out.'),
  scope: optionalText('What the client may ask for, separated by spaces; openid when left out.'),
  frontchannel_logout_uri: optionalText(),
  frontchannel_logout_session_required: optionalFlag(),
  backchannel_logout_uri: optionalText(),
  backchannel_logout_session_required: optionalFlag(),
  jwks: Type.Optional(
    closed({
      keys: Type.Array(Type.Object({ kty: Type.String() }), { description: 'Public keys of signed request objects.' }),
    }),
  ),
  default_max_age: Type.Optional(Type.Integer({ minimum: 0 })),
  require_auth_time: optionalFlag(),
  initiate_login_uri: optionalText('https only.'),
  contacts: optionalList(Type.String()),
  client_uri: optionalText(),
  logo_uri: optionalText(),
  policy_uri: optionalText(),
  tos_uri: optionalText(),
  require_pkce: optionalFlag('A public client needs PKCE whether or not this is set.'),
  code_challenge_methods: optionalList(
    Type.Enum(['plain', 'S256']),
    'S256 alone for a public client when left out, else both.',
  ),
  require_second_factor: optionalFlag('Whoever signs in to this client needs a second factor.'),
  skip_consent: optionalFlag('For clients of the house: the user is not asked.'),
  allowed_origins: optionalList(Type.String(), 'Origins whose scripts may call the token endpoint (CORS).'),
  access_token_lifetime: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 86_400, description: 'Seconds; 3600 when left out.' }),
  ),
  disabled: optionalFlag(),
})

const COLUMN = closed({
  name: Type.String({ pattern: TABLE_NAME }),
  type: Type.String({ pattern: COLUMN_TYPE, description: 'Integer, Decimal(18,4), Text, Timestamp, …' }),
  primary_key: optionalFlag(),
  nullable: optionalFlag('True when left out, except for the primary key.'),
  unique: optionalFlag(),
})

const TABLE = closed({
  name: Type.String({ pattern: TABLE_NAME }),
  description: optionalText(),
  columns: Type.Array(COLUMN, { minItems: 1 }),
  read_scope: Type.Optional(nullable(Type.String(), 'Any Platform/ scope will do when left out.')),
  write_scope: Type.Optional(nullable(Type.String(), 'Platform/Admin when left out.')),
  row_filter: Type.Optional(nullable(Type.String(), 'An IQL predicate over :sub, :client_id and :role.')),
  csv: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Rows to start with, put in when the table is made; a header names the columns.',
    }),
  ),
})

const SETTING = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.String()),
  closed({ env: Type.String({ minLength: 1 }) }),
  closed({ file: Type.String({ minLength: 1 }) }),
])

export const DECLARATION = closed(
  {
    $schema: Type.Optional(Type.String()),
    settings: Type.Optional(
      Type.Record(Type.String(), SETTING, { description: 'Settings by their name in a file, such as log_level.' }),
    ),
    roles: Type.Optional(Type.Array(ROLE)),
    users: Type.Optional(Type.Array(USER)),
    clients: Type.Optional(Type.Array(CLIENT)),
    tables: Type.Optional(Type.Array(TABLE)),
    prune: optionalFlag('Remove the roles, users, clients and tables that this file does not name.'),
  },
  { title: 'The declarative file of Gatehouse' },
)

/** An unknown member is a mistake, never ignored. */
function closed<const Properties extends TProperties>(properties: Properties, options: object = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

function optionalText(description?: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength: 4096, ...described(description) }))
}

function optionalFlag(description?: string) {
  return Type.Optional(Type.Boolean(described(description)))
}

function optionalList<Item extends Type.TSchema>(item: Item, description?: string) {
  return Type.Optional(Type.Array(item, described(description)))
}

function nullable<Item extends Type.TSchema>(item: Item, description: string) {
  return Type.Union([item, Type.Null()], { description })
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}
