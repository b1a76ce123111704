/** Administration of users: profile, roles, password, enabled or disabled. */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from 'gatehouse-protocol'
import { userTarget } from '../declarative/targets.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../store/accounts/password-hash.ts'
import { rolesByOperator, USER_ID_PREFIX, type User } from '../store/accounts/user.ts'
import type { SearchHit } from '../store/accounts/user-search.ts'
import { UsernameTaken } from '../store/accounts/users.ts'
import { limitTokens } from '../store/authorizations/change.ts'
import type { Stores } from '../store/stores.ts'
import { noticeOf } from './mail.ts'
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
import { change, record, recordPatch } from './request/change.ts'
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
      return pageReply('/admin/users', call, page, users, { keyOf: ({ username }) => username, present })
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
      const passwordHash = await readPassword(body, env)
      const mustChangePassword = readMustChange(body) ?? false
      const user = await change(env, async (stores) => {
        const { profile, ...target } = userTarget(readUser(withoutPassword(body), await knownNames(stores)))
        const id = await create(stores, { ...target, profile, passwordHash, mustChangePassword })
        return findUser(stores, id)
      })
      record(env, call, { event: 'user.created', target: user.id, details: { source: 'admin' } })
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
      const { before, after } = await change(env, async (stores, effects) => {
        const found = await findUser(stores, part(call, 'user'))
        requireMatch(call, presentUser(found))
        const form = declaredForm(found)
        const wanted = withAddress(found, mergePatch(form, withoutPassword(patch)), patch)
        const { roles, ...target } = userTarget(readUser(wanted, await knownNames(stores), form))
        // Removing it sets it to false.
        const mustChangePassword =
          'must_change_password' in patch ? (readMustChange(patch) ?? false) : found.mustChangePassword
        if (target.username !== found.username) await refuseTaken(stores, target.username, found.id)
        // A patch without effect keeps the ETag.
        if (!isDeepStrictEqual({ ...target, mustChangePassword, roles: [...roles].sort() }, current(found))) {
          await stores.users.update(found.id, { ...target, mustChangePassword })
          // What only others give is no operator's because it was listed with the rest.
          const byOthers = new Set(found.roles).difference(new Set(rolesByOperator(found)))
          await stores.users.setRoles(
            found.id,
            roles.filter((role) => !byOthers.has(role)),
          )
        }
        const changed = await findUser(stores, found.id)
        await requireBreakGlass(env, stores)
        await noticeAddress(env, stores, found, changed)
        await limitTokens(found, changed, effects)
        return { before: found, after: changed }
      })
      const [wasDisabled, isDisabled] = [before.disabled, after.disabled]
      recordPatch(env, call, 'user', { target: after.id, patch, wasDisabled, isDisabled })
      return tagged(presentUser(after))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}',
    scope: 'Identity/Admin',
    summary: 'Deletes a user with their sessions, consents and second factors, and revokes all tokens.',
    async run(call, env) {
      const user = await change(env, async (stores, { revocations }) => {
        const found = await findUser(stores, part(call, 'user'))
        checkMatch(call, presentUser(found))
        await stores.users.remove(found.id)
        await requireBreakGlass(env, stores)
        await revocations.revokeUser(found.id)
        return found
      })
      record(env, call, { event: 'user.deleted', target: user.id, details: { source: 'admin' } })
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
      const passwordHash = await readPassword({ ...body, password: generated ?? body.password }, env)
      const user = await change(env, async (stores, { revocations }) => {
        const found = await findUser(stores, part(call, 'user'))
        checkMatch(call, presentUser(found))
        if (passwordHash !== undefined)
          await stores.users.setPassword(found.id, passwordHash, { mustChange: mustChange ?? found.mustChangePassword })
        await revocations.revokeUser(found.id)
        await noticeOf(env, stores, { kind: 'password-changed', userId: found.id })
        return found
      })
      record(env, call, { event: 'password.reset', target: user.id })
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

/** To the old address. */
async function noticeAddress(env: AdminEnv, stores: Stores, { id: userId, profile }: User, after: User): Promise<void> {
  const { email: to } = profile
  if (typeof to === 'string' && profile.email_verified === true && to !== after.profile.email)
    await noticeOf(env, stores, { kind: 'address-changed', userId, to })
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

/** Where only users for emergencies use passwords, one of them must be left who can administer. */
export async function requireBreakGlass(env: AdminEnv, { users }: Pick<Stores, 'users'>): Promise<void> {
  const mode = env.settings().find(({ name }) => name === 'local_sign_in')?.value
  if (mode !== 'break_glass' || (await users.hasBreakGlass())) return
  throw conflict(
    'This is the last user who can sign in when all providers fail: with local_sign_in break_glass, an enabled user must have break_glass, Identity/Admin, a password and a second factor',
  )
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

function current({ username, profile, breakGlass, attributes, disabled, mustChangePassword, roles }: User) {
  return { username, profile, breakGlass, attributes, disabled, mustChangePassword, roles }
}

/** As in a declarative file. */
function declaredForm({ username, roles, attributes, breakGlass, disabled, profile }: User): JsonObject {
  return {
    ...{ username, roles, ...(Object.keys(attributes).length > 0 && { attributes }), disabled },
    ...(breakGlass && { break_glass: true }),
    ...profile,
  }
}

export async function create(stores: Stores, user: Parameters<Stores['users']['create']>[0]): Promise<string> {
  try {
    return await stores.users.create(user)
  } catch (error) {
    if (error instanceof UsernameTaken) throw conflict(error.message)
    throw error
  }
}

async function refuseTaken({ users }: Stores, username: string, id: string): Promise<void> {
  const holder = await users.findByUsername(username)
  if (holder !== undefined && holder.id !== id) throw conflict(`The username ${username} is taken`)
}

async function readPassword({ password }: JsonObject, env: AdminEnv): Promise<string | undefined> {
  if (password === undefined) return undefined
  if (typeof password !== 'string' || password.length < SHORTEST_PASSWORD || password.length > LONGEST_PASSWORD)
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
