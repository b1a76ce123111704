/** Users: people with roles. The account service (accounts/) writes them, with all that follows. */
import { isDeepStrictEqual } from 'node:util'
import { mergePatch } from '../lib/merge-patch.ts'
import { list } from '../schema/builders.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../store/accounts/password-hash.ts'
import { USER_ID_PREFIX, type User, usernameKey } from '../store/accounts/user.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { readPages } from './all-pages.ts'
import { VALUE_OPTION } from './attributes.ts'
import type { ItemChange, JsonObject, NewSecret, Resource, SecretDigests } from './define-resource.ts'
import {
  type DeclaredUser,
  declareUser,
  namedPlaceFaults,
  passwordFaults,
  presentUser,
  storedItem,
  toUserItem,
  USER,
  USER_PATTERNS,
  type UserItem,
  userFaults,
} from './user-shape.ts'

const NAME_AND_ADDRESS = {
  '--name': { value: 'NAME', help: 'the display name' },
  '--email': { value: 'EMAIL', help: 'the email address' },
} as const

/** Also of `gatehouse user invite`. */
export const NEW_USER_OPTIONS = {
  '--role': { isRead: true, value: 'ROLE', repeatable: true, help: 'a role of the user; repeatable' },
  ...NAME_AND_ADDRESS,
} as const

/** Also of `gatehouse user password`. */
export const MUST_CHANGE_OPTION = {
  '--must-change': { member: 'must_change_password', help: 'the user must replace the password at the next sign-in' },
} as const

export const USERS = {
  noun: 'user',
  section: 'users',
  isBeforeTables: true,
  key: 'username',
  foldKey: usernameKey,
  addressKey: ({ username, stored }) => stored?.id ?? username,
  scope: 'Identity/Admin',
  list: list(USER),
  patterns: USER_PATTERNS,
  onlyInFiles: {
    password_hash: 'is allowed only in declarative files; send password',
    reset_password: 'is allowed only in declarative files; a password sent here always replaces the current one',
  },
  toItem: toUserItem,
  present: presentUser,
  declare: declareUser,
  compare: ({ mustChangePassword, stored, ...user }) => user,
  merge: mergeUser,
  namedScopes: 'none',
  refersTo: ['roles', 'attributes'],
  faults: userFaults,
  requestFaults: namedPlaceFaults,
  secret: {
    member: 'password',
    body: { type: 'string' },
    bodyFault: (value) =>
      typeof value === 'string' && value.length >= SHORTEST_PASSWORD && value.length <= LONGEST_PASSWORD
        ? undefined
        : `must have ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters`,
    instead: 'must be set at /admin/users/{user}/password',
    declaredFaults: passwordFaults,
    plan: planPassword,
    async seal(secret, hashPassword) {
      const { value, isHash } = secret
      return value === undefined || isHash === true ? secret : { ...secret, value: await hashPassword(value) }
    },
  },
  store: storeUsers,
  isLarge: true,
  put: putUser,
  remove: async ({ stored }, { accounts }) => stored && accounts.deleteUser(stored),
  recordsItself: true,
  routes: {
    list: 'Lists users page by page, ordered by username, or the users that a search finds. `seen_at` is when a browser session of theirs was last used, as far as sessions are kept.',
    pages: {
      things: 'Users',
      after: 'The username of the last one on the previous page; in a search, as in `next` of it.',
      filters: {
        prefix: 'Only users whose username begins with this; upper and lower case are the same.',
        search:
          'Only users whose username, name, family name or e-mail address begins with this, ordered by what does; case is ignored. A page can be short or empty even if there is a `next`.',
        role: 'Only users with this role.',
      },
    },
    create: 'Creates a user.',
    taken: (username) => `The username ${username} is taken`,
    show: 'Shows a user by id or username.',
    change: 'Changes a user (JSON merge patch). Disabling a user revokes all sessions and tokens.',
    remove: 'Deletes a user with their sessions, consents and second factors, and revokes all tokens.',
  },
  commands: {
    argument: 'USER',
    options: {
      ...NEW_USER_OPTIONS,
      ...VALUE_OPTION,
      ...MUST_CHANGE_OPTION,
    },
    columns: ['username', 'id', 'roles', 'disabled', 'name', 'email'],
    filters: {
      '--prefix': { filter: 'prefix', value: 'TEXT', help: 'only users whose username begins with this' },
      '--search': {
        filter: 'search',
        value: 'TEXT',
        help: 'only users whose username, name or e-mail address begins with this',
      },
    },
    list: {
      summary: 'Lists users by name.',
      examples: ['user list', 'user list --search liddell', 'user list --after mallory --json'],
    },
    show: { summary: 'Shows a user, named by username or id.', examples: ['user show alice'] },
    add: {
      argument: 'USERNAME',
      summary: 'Creates a user; reads the password from a prompt or from stdin.',
      examples: ['user add alice --role trader --attribute desk=FX', 'user add alice --must-change < password.txt'],
      done: (username, { id }) => `User ${username} was added as ${id}.`,
    },
    set: {
      options: {
        ...NAME_AND_ADDRESS,
        '--role': {
          member: 'roles',
          value: 'ROLE',
          repeatable: true,
          help: 'a role of the user, replacing all earlier ones; repeatable',
        },
        ...VALUE_OPTION,
        '--username': { value: 'USERNAME', help: 'a new name to sign in with' },
        '--locale': { value: 'TAG', help: 'a language tag such as en-GB' },
        '--break-glass': { value: 'true|false', help: 'whether a password works where local_sign_in is break_glass' },
        '--must-change-password': { value: 'true|false', help: 'whether the next sign-in asks for a new password' },
      },
      summary: 'Changes a user.',
      examples: [
        'user set alice --email alice@example.com',
        'user set alice --role trader --role news',
        'user set alice --attribute desk=FX --attribute desk=Rates',
      ],
    },
    disable: {
      summary: 'Disables a user and ends all their sessions and tokens at once.',
      examples: ['user disable mallory --yes'],
      confirm: (user) => `End all sessions and tokens of ${user}?`,
    },
    enable: { summary: 'Enables a disabled user.', examples: ['user enable mallory'] },
    remove: {
      summary: 'Deletes a user and everything that belongs to them.',
      examples: ['user remove mallory --yes'],
      confirm: (user) => `Permanently delete the user ${user}?`,
      done: (user) => `The user ${user} was deleted.`,
    },
  },
} as const satisfies Resource<UserItem, DeclaredUser>

/** A changed address is not verified, unless the operator says so. */
function mergeUser(before: JsonObject, patch: JsonObject): JsonObject {
  // Removing the flag is saying false.
  const mustChange = patch.must_change_password === null && { must_change_password: false }
  const wanted: JsonObject = { ...mergePatch(before, patch), ...mustChange }
  if (wanted.email === before.email || 'email_verified' in patch || !('email_verified' in wanted)) return wanted
  const { email_verified, ...rest } = wanted
  return wanted.email === undefined ? rest : { ...rest, email_verified: false }
}

/**
 * A declared password is for the creation of the user. Users may change theirs later, so only a new value in the file sets it
 * again. A user who was created in another way keeps their password, unless `reset_password` says otherwise.
 */
function planPassword(
  user: DeclaredUser,
  before: UserItem | undefined,
  { passwordDigest }: SecretDigests,
): NewSecret | undefined {
  const value = user.password ?? user.password_hash
  if (typeof value !== 'string') return undefined
  const digest = passwordDigest(usernameKey(user.username), value)
  const { passwordHash, declaredDigest } = before?.stored ?? {}
  if (digest === declaredDigest) return undefined
  const isFirst = passwordHash !== undefined && declaredDigest === undefined
  if (isFirst && user.reset_password !== true)
    return { value: undefined, digest, difference: 'kept, since the user already has one' }
  return { value, digest, isHash: user.password === undefined }
}

async function putUser(
  { mustChangePassword, stored: _, ...user }: UserItem,
  { accounts, before, secret, isDeclared, isNew, patch }: ItemChange<UserItem>,
): Promise<undefined> {
  if (before?.stored === undefined || isNew === true) {
    const password = { passwordHash: secret?.value, declaredDigest: secret?.digest, mustChangePassword }
    await accounts.createUser({ ...user, ...password })
    return
  }
  const { id, roles } = before.stored
  if (!isDeclared) {
    // What only others give is no operator's because it was listed with the rest.
    const byOthers = new Set(roles).difference(new Set(before.roles))
    const own = user.roles.filter((role) => !byOthers.has(role))
    const flag = mustChangePassword === undefined ? {} : { mustChangePassword }
    await accounts.changeUser(id, { ...user, ...flag, roles: own }, Object.keys(patch ?? {}))
    return
  }
  const former = new Map<string, unknown>(Object.entries(before))
  const changed = Object.entries(user).flatMap(([name, value]) =>
    isDeepStrictEqual(former.get(name), value) ? [] : [name],
  )
  await accounts.changeUser(id, { ...user, ...(secret && { declaredDigest: secret.digest }) }, changed)
  if (secret?.value !== undefined) await accounts.setPassword(id, secret.value, { mustChange: mustChangePassword })
}

/** By username, or by id. */
export function findUser({ users }: Pick<Stores, 'users'>, name: string): Promise<User | undefined> {
  return name.startsWith(USER_ID_PREFIX) ? users.findById(name) : users.findByUsername(name)
}

function storeUsers(stores: Pick<Stores, 'users'>): DefinitionStore<UserItem> {
  const { users } = stores
  const readPage = async (last: UserItem | undefined, limit: number) =>
    (await users.list({ after: last?.username ?? '', limit })).map(storedItem)
  const refuseToWrite = () => Promise.reject(new Error('The account service writes users'))
  return {
    async find(name) {
      const user = await findUser(stores, name)
      return user && storedItem(user)
    },
    async list({ after = '', limit, filter = {} } = {}) {
      if (limit === undefined) return readPages(readPage, 'users: leave them out with users=false, or --without-users')
      const { role, prefix = '' } = filter
      const page = { after, limit }
      const found = await (role === undefined ? users.list({ ...page, prefix }) : users.listWith(role, page))
      return found.map(storedItem)
    },
    put: refuseToWrite,
    remove: refuseToWrite,
  }
}
