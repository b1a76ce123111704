/** What the administration of users has besides their definition: a search, when they were last seen, and passwords. */
import { randomBytes } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import { AccountFault } from '../accounts/account-fault.ts'
import { requireEmergencyUser } from '../accounts/accounts.ts'
import { storedItem, type UserItem } from '../resources/user-shape.ts'
import { findUser as findByName, USERS } from '../resources/users.ts'
import type { User } from '../store/accounts/user.ts'
import type { SearchHit } from '../store/accounts/user-search.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, instant, type JsonObject, readObject, refuseUnknown } from './request/body.ts'
import { changeUsers, localSignIn } from './request/change.ts'
import { checkMatch } from './request/etag.ts'
import { badCursor, readPage } from './request/page.ts'
import { readSecret } from './request/resource-body.ts'
import type { ResourceSpecials } from './resource-kind.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'

export const USER_SPECIALS: ResourceSpecials<UserItem> = {
  listDetails,
  find(call, env) {
    const { search, prefix, role } = call.query
    if ([search, prefix, role].filter((given) => given !== undefined).length > 1)
      throw new Refusal('admin.bad_parameter', 400, 'prefix, search and role cannot be combined')
    return search === undefined ? undefined : searchUsers(call, env, search)
  },
}

export const passwordRoutes: readonly AdminRoute[] = [
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
      const { value: passwordHash = '' } = await readSecret(USERS.secret, generated ?? body.password, env)
      await changeUsers(env, call, async (accounts, stores) => {
        const found = await findUser(stores, part(call, 'user'))
        checkMatch(call, USERS.present(storedItem(found)))
        await accounts.setPassword(found.id, passwordHash, { mustChange: mustChange ?? found.mustChangePassword })
      })
      return generated === undefined ? undefined : { body: { password: generated } }
    },
  },
]

/** The cursor is opaque: its parts come from people's names. */
async function searchUsers(call: AdminCall, env: AdminEnv, text: string): Promise<AdminReply> {
  const { after: cursor, limit } = readPage(call)
  const { users, next } = await env.stores.users.search(text, { limit, after: readHit(cursor) })
  const after = next && Buffer.from(JSON.stringify([next.key, next.id])).toString('base64url')
  const search = after && new URLSearchParams({ ...call.query, after, limit: String(limit) })
  const found = users.map(storedItem)
  const details = await listDetails(found, env)
  const items = found.map((user, index) => ({ ...USERS.present(user), ...details[index] }))
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

/** When they were last seen. Alone a user has an ETag, which that must not change. */
async function listDetails(users: readonly UserItem[], { stores }: AdminEnv): Promise<readonly JsonObject[]> {
  const ids = users.map(USERS.addressKey)
  const seen = await stores.sessions.lastSeen(ids)
  return ids.map((id) => ({ seen_at: instant(seen.get(id)) }))
}

/** For a change of a role, on which the rights of users for emergencies depend. */
export async function requireBreakGlass(env: AdminEnv, stores: Pick<Stores, 'users'>): Promise<void> {
  await requireEmergencyUser(stores, localSignIn(env)).catch((error: unknown) => {
    throw error instanceof AccountFault ? conflict(error.message) : error
  })
}

export async function findUser(stores: Pick<Stores, 'users'>, name: string): Promise<User> {
  const user = await findByName(stores, name)
  if (user === undefined) throw notFound('user', name)
  return user
}

/** Undefined where it is absent or null. */
function readMustChange({ must_change_password: flag }: JsonObject): boolean | undefined {
  if (flag === undefined || flag === null) return undefined
  if (typeof flag !== 'boolean') throw badBody([{ path: 'must_change_password', text: 'must be true or false' }])
  return flag
}
