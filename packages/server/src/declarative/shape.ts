/** The schema of the declarative file, from which its types, its validation and the published JSON Schema are derived. */

import { NAME as anyName, LONGEST_NAME } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTE_VALUES, ATTRIBUTES } from '../resources/attributes.ts'
import { CLIENTS } from '../resources/clients.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import { SECRET } from '../resources/declared-secret.ts'
import type { AnySection } from '../resources/define-resource.ts'
import { FEEDS } from '../resources/feeds.ts'
import { PROVIDERS } from '../resources/providers.ts'
import { listResources } from '../resources/resources.ts'
import { NAME_PATTERN, ROLES } from '../resources/roles.ts'
import { TABLES } from '../resources/tables.ts'
import { VIEWS } from '../resources/views.ts'
import { closed, either, flag, list, number, shortList, text, words } from '../schema/builders.ts'
import type { SchemaRules } from '../schema/check-schema.ts'

export type Declaration = XStatic<typeof DECLARATION>
export type DeclaredUser = XStatic<typeof USER>

const NAME = anyName.source
const EMAIL = /^[^\s@]+@[^\s@]+$/.source
const BIRTHDATE = /^\d{4}(-\d{2}-\d{2})?$/.source
const PASSWORD_HASH = /^\$argon2(id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.source

/** The error message for each pattern. */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  NAME_PATTERN,
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
    clients: CLIENTS.list,
    tables: TABLES.list,
    views: VIEWS.list,
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
  const all = [...resources, TABLES, VIEWS]
  const lists = all.map(({ section, list: each }) => [section, each] as const)
  return {
    schema: { ...DECLARATION, properties: { ...DECLARATION.properties, ...Object.fromEntries(lists) } },
    patterns: new Map([...PATTERNS, ...all.flatMap(({ patterns = [] }: AnySection) => patterns)]),
  }
}

/** Of every server. */
export const FILE: SchemaRules = fileSchema(listResources())
