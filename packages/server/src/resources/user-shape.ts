/** A user as a file or a request declares it, and as it is stored. */
import { LONGEST_NAME, NAME } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { languageTag } from '../lib/language-tags.ts'
import { isTimeZone } from '../lib/time-zones.ts'
import { closed, flag, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { rolesByOperator, USER_ID_PREFIX, type User } from '../store/accounts/user.ts'
import { ATTRIBUTE_VALUES, attributeValuesTarget, valueFaults } from './attributes.ts'
import { SECRET } from './declared-secret.ts'
import type { JsonObject, Known } from './define-resource.ts'
import { repeated, unknownName } from './names.ts'
import { NAME_PATTERN } from './roles.ts'

export type DeclaredUser = XStatic<typeof USER>

const EMAIL = /^[^\s@]+@[^\s@]+$/.source
const BIRTHDATE = /^\d{4}(-\d{2}-\d{2})?$/.source
const PASSWORD_HASH = /^\$argon2(id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.source

export const USER = closed(['username'], {
  username: text({ pattern: NAME.source, maxLength: LONGEST_NAME, description: 'Case-insensitive.' }),
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

export const USER_PATTERNS = [
  NAME_PATTERN,
  [EMAIL, 'must be an e-mail address'],
  [BIRTHDATE, 'must have the form YYYY-MM-DD or YYYY'],
  [PASSWORD_HASH, 'must be an Argon2 hash in PHC format, such as $argon2id$v=19$m=19456,t=2,p=1$…$…'],
] as const

/** The roles are those that an operator gives. */
export interface UserItem
  extends Pick<User, 'username' | 'profile' | 'breakGlass' | 'roles' | 'attributes' | 'disabled'> {
  /** At the next sign-in; undefined: as it is. */
  readonly mustChangePassword?: boolean | undefined
  /** Absent from one that is only declared. */
  readonly stored?: User
}

export function storedItem(user: User): UserItem {
  const { username, profile, breakGlass, attributes, disabled } = user
  return { username, profile, breakGlass, roles: rolesByOperator(user), attributes, disabled, stored: user }
}

/**
 * A user disabled by an operator stays disabled, and keeps the attributes that others gave, unless the file says otherwise. One that does
 * not say whether an address is verified leaves it to the links that are mailed.
 */
export function toUserItem(declared: DeclaredUser, before?: UserItem): UserItem {
  // Members about the password are applied with it, see users.ts.
  const { password, password_hash, reset_password, must_change_password, ...rest } = declared
  const { username, roles = [], attributes, disabled = before?.disabled ?? false, break_glass, ...claims } = rest
  const { email, email_verified } = before?.profile ?? {}
  const isSameAddress = email_verified !== undefined && !('email_verified' in claims) && claims.email === email
  return {
    username,
    profile: isSameAddress ? { ...claims, email_verified } : claims,
    breakGlass: break_glass ?? before?.breakGlass ?? false,
    roles: roles.toSorted(),
    attributes: attributes === undefined ? (before?.attributes ?? {}) : attributeValuesTarget(attributes),
    disabled,
    mustChangePassword: must_change_password,
  }
}

/** The password stays behind: someone who is created by the file chooses one with a link. */
export function declareUser(user: UserItem): JsonObject {
  return declaredMembers(user, user.roles, user.disabled || undefined)
}

/** With the roles of all sources. */
export function presentUser(user: UserItem): JsonObject {
  const { stored } = user
  if (stored === undefined) return declareUser(user)
  const byOthers = [...stored.roleSources].filter(([, given]) => given.some((source) => source !== 'operator'))
  return {
    id: stored.id,
    ...declaredMembers(user, stored.roles, user.disabled),
    must_change_password: stored.mustChangePassword,
    has_password: stored.passwordHash !== undefined,
    has_second_factor: stored.hasSecondFactor,
    // Who gives the roles that not only an operator gives: `provider:ID`, `scim:CLIENT`.
    ...(byOthers.length > 0 && { role_sources: Object.fromEntries(byOthers) }),
    created_at: new Date(stored.createdAt).toISOString(),
    updated_at: new Date(stored.updatedAt).toISOString(),
  }
}

function declaredMembers(
  { username, attributes, breakGlass, profile }: UserItem,
  roles: readonly string[],
  disabled: boolean | undefined,
): JsonObject {
  return {
    ...{ username, roles },
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(disabled !== undefined && { disabled }),
    ...(breakGlass && { break_glass: true }),
    ...profile,
  }
}

export function userFaults(
  { username, roles = [], attributes }: DeclaredUser,
  known: Pick<Known, 'roles' | 'attributes'>,
): Fault[] {
  return [
    ...(username.startsWith(USER_ID_PREFIX)
      ? [{ path: 'username', text: `must not begin with ${USER_ID_PREFIX}, the prefix of user ids` }]
      : []),
    ...repeated('roles', roles),
    ...roles.flatMap((role, index) =>
      known.roles.has(role) ? [] : [{ path: `roles[${index}]`, text: unknownName('role', role, known.roles, index) }],
    ),
    ...valueFaults(attributes, known.attributes),
  ]
}

/** Of the members about the password in a file. */
export function passwordFaults(user: DeclaredUser): Fault[] {
  const { password, password_hash: passwordHash } = user
  if (password !== undefined && passwordHash !== undefined)
    return [{ path: 'password_hash', text: 'cannot be combined with password' }]
  if (password !== undefined || passwordHash !== undefined) return []
  return (['reset_password', 'must_change_password'] as const).flatMap((path) =>
    user[path] === true ? [{ path, text: 'needs a password or password_hash' }] : [],
  )
}

/** What a user has before stays allowed: a file that an earlier version accepted may contain it. */
export function namedPlaceFaults(user: DeclaredUser, before: UserItem | undefined): Fault[] {
  return NAMED_PLACES.flatMap(({ path, isKnown, text: fault }) => {
    const name = user[path]
    const isNew = name !== undefined && name !== before?.profile[path]
    return isNew && !isKnown(name) ? [{ path, text: fault }] : []
  })
}

const NAMED_PLACES = [
  { path: 'zoneinfo', isKnown: isTimeZone, text: 'is not a known time zone; an example is Europe/Paris' },
  {
    path: 'locale',
    isKnown: (tag: string) => languageTag(tag) !== undefined,
    text: 'is not the tag of a known language; an example is en-GB',
  },
] as const
