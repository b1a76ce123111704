/** Administration of one-time set-up links: invitations of new users, and new passwords for those who forgot theirs. */
import { userTarget } from '../declarative/targets.ts'
import { newAdministratorLink } from '../store/accounts/administrators.ts'
import { type LinkOfUser, linkUrl, type SetUpLink } from '../store/accounts/set-up-links.ts'
import type { Stores } from '../store/stores.ts'
import {
  badBody,
  INVITED_SCHEMA,
  instant,
  type JsonObject,
  readObject,
  readUser,
  refuseUnknown,
} from './request/body.ts'
import { change, record } from './request/change.ts'
import { cursorQuery, PAGE_REPLY, pageReply, readPage, readTimeCursor, writeTimeCursor } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'
import { create, findUser, knownNames } from './users.ts'

const DAY = 86_400
const LONGEST = 30 * DAY
const DEFAULT = 3 * DAY

export const linkRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/links',
    scope: 'Identity/Admin',
    summary: 'Lists one-time set-up links page by page, newest first, until a month after they expire.',
    query: { user: 'Only those of this user, by name or id.', ...cursorQuery('Links') },
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const { user } = call.query
      const userId = user === undefined ? undefined : (await findUser(stores, user)).id
      const found = await stores.setUpLinks.page({ userId, limit: page.limit, after: readTimeCursor(page.after) })
      const keyOf = ({ link }: LinkOfUser) => writeTimeCursor(link)
      return pageReply('/admin/links', call, page, found, { keyOf, present: presentLink })
    },
  },
  {
    method: 'POST',
    path: '/admin/links',
    scope: 'Identity/Admin',
    summary:
      'Creates a one-time link that lets a person choose a password: for the existing `user`, for a new one with this `username` and the other members, or for the first administrator. It replaces earlier links of the user.',
    body: INVITED_SCHEMA,
    reply: 'The link, with its url, which is shown only once.',
    status: 201,
    async run(call, env) {
      const { expires_in, first_administrator: isFirst, ...rest } = readObject(call.body)
      const lifetimeMs = readExpiry(expires_in) * 1000
      if (typeof isFirst !== 'boolean' && isFirst !== undefined)
        throw badBody([{ path: 'first_administrator', text: 'must be true or false' }])
      if (isFirst === true) return createForAdministrator(call, env, rest)
      return 'user' in rest ? createForExisting(call, env, rest, lifetimeMs) : createForNew(call, env, rest, lifetimeMs)
    },
  },
  {
    method: 'GET',
    path: '/admin/links/{link}',
    scope: 'Identity/Admin',
    summary: 'Shows a one-time set-up link, without its url.',
    reply: 'The link.',
    async run(call, { stores }) {
      return { body: presentLink(await findLink(stores, part(call, 'link'))) }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/links/{link}',
    scope: 'Identity/Admin',
    summary: 'Revokes a one-time set-up link that is still open.',
    async run(call, env) {
      const id = part(call, 'link')
      const { link } = await findLink(env.stores, id)
      const revoked = await change(env, ({ setUpLinks }) => setUpLinks.revoke(id))
      if (!revoked) throw conflict(`The link ${id} is not open: it was used or revoked, or has expired`)
      record(env, call, { event: 'link.revoked', target: link.userId, details: { link: id, kind: link.kind } })
    },
  },
]

async function createForExisting(
  call: AdminCall,
  env: AdminEnv,
  body: JsonObject,
  lifetimeMs: number,
): Promise<AdminReply> {
  refuseUnknown(body, ['user'])
  const { user: name } = body
  if (typeof name !== 'string') throw badBody([{ path: 'user', text: 'must be a username or the id of a user' }])
  const made = await change(env, async (stores) => {
    const { id: userId, username, disabled, passwordHash } = await findUser(stores, name)
    if (disabled) throw conflict(`The user ${username} is disabled: enable them first`)
    const kind = passwordHash === undefined ? 'invitation' : 'reset'
    const createdBy = call.caller.subject
    return { ...(await stores.setUpLinks.create({ kind, userId, createdBy, lifetimeMs })), username }
  })
  return createdLink(call, env, made)
}

async function createForNew(call: AdminCall, env: AdminEnv, body: JsonObject, lifetimeMs: number): Promise<AdminReply> {
  const faults = ['password', 'password_hash', 'reset_password', 'must_change_password']
    .filter((path) => Object.hasOwn(body, path))
    .map((path) => ({ path, text: 'is not allowed in an invitation: the person chooses a password with the link' }))
  if (faults.length > 0) throw badBody(faults)
  const made = await change(env, async (stores) => {
    const target = userTarget(readUser(body, await knownNames(stores)))
    const userId = await create(stores, target)
    const createdBy = call.caller.subject
    const { link, token } = await stores.setUpLinks.create({ kind: 'invitation', userId, createdBy, lifetimeMs })
    return { link, token, username: (await findUser(stores, userId)).username }
  })
  record(env, call, { event: 'user.created', target: made.link.userId, details: { source: 'admin' } })
  return createdLink(call, env, made)
}

async function createForAdministrator(call: AdminCall, env: AdminEnv, body: JsonObject): Promise<AdminReply> {
  refuseUnknown(body, [])
  const made = await change(env, (stores) => newAdministratorLink(stores, call.caller.subject))
  if (made === undefined) throw conflict('There is an administrator already: they can invite others')
  return createdLink(call, env, { ...made, username: undefined })
}

function createdLink(
  call: AdminCall,
  env: AdminEnv,
  { link, token, username }: { link: SetUpLink; token: string; username: string | undefined },
): AdminReply {
  const { id, kind, userId: target, expiresAt } = link
  record(env, call, { event: 'link.created', target, details: { link: id, kind, expires: instant(expiresAt) } })
  return {
    status: 201,
    body: { ...presentLink({ link, username }), url: linkUrl(env.issuer, token) },
    headers: { location: `/admin/links/${id}` },
  }
}

async function findLink({ setUpLinks }: Stores, id: string): Promise<LinkOfUser> {
  const found = await setUpLinks.findById(id)
  if (found === undefined) throw notFound('link', id)
  return found
}

function presentLink({ link, username }: LinkOfUser): JsonObject {
  return {
    id: link.id,
    kind: link.kind,
    state: link.state,
    user: link.userId ?? null,
    username: username ?? null,
    created_by: link.createdBy,
    created_at: instant(link.createdAt),
    expires_at: instant(link.expiresAt),
  }
}

function readExpiry(seconds: unknown = DEFAULT): number {
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 60 || seconds > LONGEST)
    throw badBody([{ path: 'expires_in', text: 'must be a number of seconds, from a minute to 30 days' }])
  return seconds
}
