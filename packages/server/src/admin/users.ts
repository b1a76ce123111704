/** Administration of users: profile, roles, password, enabled or disabled. */
import { randomBytes } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import { AccountFault } from '../accounts/account-fault.ts'
import { requireEmergencyUser } from '../accounts/accounts.ts'
import { passwordFault } from '../accounts/passwords.ts'
import { userTarget } from '../declarative/targets.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../store/accounts/password-hash.ts'
import { rolesByOperator, USER_ID_PREFIX, type User } from '../store/accounts/user.ts'
import type { SearchHit } from '../store/accounts/user-search.ts'
import type { Stores } from '../store/stores.ts'
import {
  badBody,
  instant,
  type JsonObject,
  type KnownNames,
  readObject,
  readUser,
  refuseUnknown,
  USER_SCHEMA,
} from './request/body.ts'
import { changeUsers, localSignIn } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { badCursor, PAGE_REPLY, type Page, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'

export const userRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/users',
    scope: 'Identity/Admin',
    summary:
      'Lists users page by page, ordered by username, or the users that a search finds. `seen_at` is when a browser session of theirs was last used, as far as sessions are kept.',
    query: {
      ...pageQuery('Users', 'username'),
      after: 'The username of the last one on the previous page; in a search, as in `next` of it.',
      prefix: 'Only users whose username begins with this; upper and lower case are the same.',
      search:
        'Only users whose username, name, family name or e-mail address begins with this, ordered by what does; case is ignored. A page can be short or empty even if there is a `next`.',
      role: 'Only users with this role.',
    },
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const { search, prefix, role } = call.query
      if ([search, prefix, role].filter((given) => given !== undefined).length > 1)
        throw new Refusal('admin.bad_parameter', 400, 'prefix, search and role cannot be combined')
      if (search !== undefined) return searchUsers(call, stores, search, page)
      const users =
        role === undefined
          ? await stores.users.list({ ...page, prefix: prefix ?? '' })
          : await stores.users.listWith(role, page)
      const present = await listed(stores, users)
      return pageReply('/admin/users', call, page, users, { cursorKey: ({ username }) => username, present })
    },
  },
  {
    method: 'POST',
    path: '/admin/users',
    scope: 'Identity/Admin',
    summary: 'Creates a user.',
    body: USER_SCHEMA,
    reply: 'The user.',
    status: 201,
    async run(call, env) {
      const body = readObject(call.body)
      const passwordHash = body.password === undefined ? undefined : await readPassword(body.password, env)
      const mustChangePassword = readMustChange(body) ?? false
      const user = await changeUsers(env, call, async (accounts, stores) => {
        const target = userTarget(readUser(withoutPassword(body), await knownNames(stores)))
        const id = await accounts.createUser({ ...target, passwordHash, mustChangePassword })
        return findUser(stores, id)
      })
      return created(presentUser(user), `/admin/users/${user.id}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/users/{user}',
    scope: 'Identity/Admin',
    summary: 'Shows a user by id or username.',
    reply: 'The user.',
    async run(call, { stores }) {
      return tagged(presentUser(await findUser(stores, part(call, 'user'))))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/users/{user}',
    scope: 'Identity/Admin',
    summary: 'Changes a user (JSON merge patch). Disabling a user revokes all sessions and tokens.',
    body: USER_SCHEMA,
    reply: 'The changed user.',
    async run(call, env) {
      const patch = readObject(call.body)
      if ('password' in patch)
        throw badBody([{ path: 'password', text: 'must be set at /admin/users/{user}/password' }])
      const after = await changeUsers(env, call, async (accounts, stores) => {
        const found = await findUser(stores, part(call, 'user'))
        requireMatch(call, presentUser(found))
        const form = declaredForm(found)
        const wanted = withAddress(found, mergePatch(form, withoutPassword(patch)), patch)
        const { roles: listed, ...target } = userTarget(readUser(wanted, await knownNames(stores), form))
        // What only others give is no operator's because it was listed with the rest.
        const byOthers = new Set(found.roles).difference(new Set(rolesByOperator(found)))
        const roles = listed.filter((role) => !byOthers.has(role))
        // Removing it sets it to false.
        const mustChangePassword =
          'must_change_password' in patch ? (readMustChange(patch) ?? false) : found.mustChangePassword
        await accounts.changeUser(found.id, { ...target, roles, mustChangePassword }, Object.keys(patch))
        return findUser(stores, found.id)
      })
      return tagged(presentUser(after))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}',
    scope: 'Identity/Admin',
    summary: 'Deletes a user with their sessions, consents and second factors, and revokes all tokens.',
    async run(call, env) {
      await changeUsers(env, call, async (accounts, stores) => {
        const found = await findUser(stores, part(call, 'user'))
        checkMatch(call, presentUser(found))
        await accounts.deleteUser(found)
      })
    },
  },
  {
    method: 'PUT',
    path: '/admin/users/{user}/password',
    scope: 'Identity/Admin',
    summary: 'Sets a password, or generates one that is shown only once. Revokes all sessions and tokens.',
    body: {
      type: 'object',
      properties: { password: { type: 'string' }, must_change_password: { type: 'boolean' } },
      additionalProperties: false,
    },
    reply: '{"password": "…"} if it was generated, otherwise nothing.',
    async run(call, env) {
      const body = call.body === undefined ? {} : readObject(call.body)
      refuseUnknown(body, ['password', 'must_change_password'])
      const mustChange = readMustChange(body)
      const generated = body.password === undefined ? randomBytes(15).toString('base64url') : undefined
      const passwordHash = await readPassword(generated ?? body.password, env)
      await changeUsers(env, call, async (accounts, stores) => {
        const found = await findUser(stores, part(call, 'user'))
        checkMatch(call, presentUser(found))
        await accounts.setPassword(found.id, passwordHash, { mustChange: mustChange ?? found.mustChangePassword })
      })
      return generated === undefined ? undefined : { body: { password: generated } }
    },
  },
]

/** A changed address is not verified, unless the operator says so. */
function withAddress(before: User, wanted: JsonObject, patch: JsonObject): JsonObject {
  if (wanted.email === before.profile.email || 'email_verified' in patch || !('email_verified' in wanted)) return wanted
  const { email_verified, ...rest } = wanted
  return wanted.email === undefined ? rest : { ...rest, email_verified: false }
}

/** The cursor is opaque: its parts come from people's names. */
async function searchUsers(call: AdminCall, stores: Stores, text: string, page: Page): Promise<AdminReply> {
  const { users: found, next } = await stores.users.search(text, { limit: page.limit, after: readHit(page.after) })
  const after = next && Buffer.from(JSON.stringify([next.key, next.id])).toString('base64url')
  const search = after && new URLSearchParams({ ...call.query, after, limit: String(page.limit) })
  const items = found.map(await listed(stores, found))
  return { body: { items, next: search === undefined ? null : `/admin/users?${search}` } }
}

function readHit(cursor: string): SearchHit | undefined {
  if (cursor === '') return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const [key, id]: unknown[] = Array.isArray(value) ? value : []
    if (typeof key === 'string' && typeof id === 'string') return { key, id }
  } catch {
    // Answered below.
  }
  throw badCursor()
}

/** For a change of a role, on which the rights of users for emergencies depend. */
export async function requireBreakGlass(env: AdminEnv, stores: Pick<Stores, 'users'>): Promise<void> {
  await requireEmergencyUser(stores, localSignIn(env)).catch((error: unknown) => {
    throw error instanceof AccountFault ? conflict(error.message) : error
  })
}

export async function findUser({ users }: Pick<Stores, 'users'>, name: string): Promise<User> {
  const user = name.startsWith(USER_ID_PREFIX) ? await users.findById(name) : await users.findByUsername(name)
  if (user === undefined) throw notFound('user', name)
  return user
}

/** In a list, with when they were last seen. Alone a user has an ETag, which that must not change. */
async function listed({ sessions }: Stores, users: readonly User[]): Promise<(user: User) => JsonObject> {
  const seen = await sessions.lastSeen(users.map(({ id }) => id))
  return (user) => ({ ...presentUser(user), seen_at: instant(seen.get(user.id)) })
}

function presentUser(user: User): JsonObject {
  return {
    id: user.id,
    ...declaredForm(user),
    must_change_password: user.mustChangePassword,
    has_password: user.passwordHash !== undefined,
    has_second_factor: user.hasSecondFactor,
    ...roleSources(user),
    created_at: instant(user.createdAt),
    updated_at: instant(user.updatedAt),
  }
}

/** Who gives the roles that not only an operator gives: `provider:ID`, `scim:CLIENT`. */
function roleSources({ roleSources: sources }: User): JsonObject {
  const byOthers = [...sources].filter(([, given]) => given.some((source) => source !== 'operator'))
  return byOthers.length === 0 ? {} : { role_sources: Object.fromEntries(byOthers) }
}

/** As in a declarative file. */
function declaredForm({ username, roles, attributes, breakGlass, disabled, profile }: User): JsonObject {
  return {
    ...{ username, roles, ...(Object.keys(attributes).length > 0 && { attributes }), disabled },
    ...(breakGlass && { break_glass: true }),
    ...profile,
  }
}

/** The hash of an acceptable password. */
async function readPassword(password: unknown, env: AdminEnv): Promise<string> {
  if (typeof password !== 'string' || passwordFault(password) !== undefined)
    throw badBody([{ path: 'password', text: `must have ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters` }])
  const hash = await env.hashPassword(password)
  if (hash === undefined)
    throw new Refusal('admin.busy', 503, 'Too many passwords are being hashed', { headers: { 'retry-after': '5' } })
  return hash
}

/** Undefined where it is absent, or null in a patch. */
function readMustChange({ must_change_password: flag }: JsonObject): boolean | undefined {
  if (flag === undefined || flag === null) return undefined
  if (typeof flag !== 'boolean') throw badBody([{ path: 'must_change_password', text: 'must be true or false' }])
  return flag
}

/** Excludes members that are read separately, because a declarative file has other rules for them. */
function withoutPassword({ password, must_change_password, ...rest }: JsonObject): JsonObject {
  if ('password_hash' in rest)
    throw badBody([{ path: 'password_hash', text: 'is allowed only in declarative files; send password' }])
  if ('reset_password' in rest)
    throw badBody([
      {
        path: 'reset_password',
        text: 'is allowed only in declarative files; a password sent here always replaces the current one',
      },
    ])
  return rest
}

export async function knownNames({ roles, attributes }: Stores): Promise<KnownNames> {
  return { roles: (await roles.list()).map(({ name }) => name), attributes: await attributes.list() }
}
