/** Administration of one-time set-up links: invitations of new users, and new passwords for those who forgot theirs. */
import type { IssuedLink, WantedLink } from '../accounts/set-up-links.ts'
import { USERS } from '../resources/users.ts'
import { type LinkOfUser, linkUrl } from '../store/accounts/set-up-links.ts'
import type { Stores } from '../store/stores.ts'
import { requireMail } from './mail.ts'
import { badBody, INVITED_SCHEMA, instant, type JsonObject, readObject, refuseUnknown } from './request/body.ts'
import { changeUsers } from './request/change.ts'
import { cursorQuery, PAGE_REPLY, pageReply, readPage, readTimeCursor, writeTimeCursor } from './request/page.ts'
import { readItem } from './request/resource-body.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'
import { findUser } from './users.ts'

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
      const cursorKey = ({ link }: LinkOfUser) => writeTimeCursor(link)
      return pageReply('/admin/links', call, page, found, { cursorKey, present: presentLink })
    },
  },
  {
    method: 'POST',
    path: '/admin/links',
    scope: 'Identity/Admin',
    summary:
      'Creates a one-time link that lets a person choose a password: for the existing `user`, for a new one with this `username` and the other members, or for the first administrator. It replaces earlier links of the user.',
    body: INVITED_SCHEMA,
    reply: 'The link, with its url, which is shown only once; with `send` it is mailed instead, and not shown.',
    status: 201,
    async run(call, env) {
      const { expires_in, first_administrator: isFirst, send = false, ...rest } = readObject(call.body)
      const lifetimeMs = readExpiry(expires_in) * 1000
      if (typeof isFirst !== 'boolean' && isFirst !== undefined)
        throw badBody([{ path: 'first_administrator', text: 'must be true or false' }])
      if (typeof send !== 'boolean') throw badBody([{ path: 'send', text: 'must be true or false' }])
      if (isFirst === true && send)
        throw badBody([{ path: 'send', text: 'is not possible for the first administrator, who has no address yet' }])
      if (isFirst === true) return createForAdministrator(call, env, rest)
      if (send) requireMail(env)
      const wanted = { lifetimeMs, isMailed: send }
      return 'user' in rest ? createForExisting(call, env, rest, wanted) : createForNew(call, env, rest, wanted)
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
      if (!(await changeUsers(env, call, (accounts) => accounts.revokeLink(link))))
        throw conflict(`The link ${id} is not open: it was used or revoked, or has expired`)
    },
  },
]

async function createForExisting(
  call: AdminCall,
  env: AdminEnv,
  body: JsonObject,
  wanted: WantedLink,
): Promise<AdminReply> {
  refuseUnknown(body, ['user'])
  const { user: name } = body
  if (typeof name !== 'string') throw badBody([{ path: 'user', text: 'must be a username or the id of a user' }])
  const made = await changeUsers(env, call, async (accounts, stores) => {
    const user = await findUser(stores, name)
    return { ...(await accounts.issueLink(user, wanted)), username: user.username }
  })
  return createdLink(env, made)
}

async function createForNew(call: AdminCall, env: AdminEnv, body: JsonObject, wanted: WantedLink): Promise<AdminReply> {
  const faults = ['password', 'password_hash', 'reset_password', 'must_change_password']
    .filter((path) => Object.hasOwn(body, path))
    .map((path) => ({ path, text: 'is not allowed in an invitation: the person chooses a password with the link' }))
  if (faults.length > 0) throw badBody(faults)
  const made = await changeUsers(env, call, async (accounts, stores) => {
    const user = await findUser(stores, await accounts.createUser(await readItem(USERS, body, stores, env)))
    return { ...(await accounts.issueLink(user, wanted)), username: user.username }
  })
  return createdLink(env, made)
}

async function createForAdministrator(call: AdminCall, env: AdminEnv, body: JsonObject): Promise<AdminReply> {
  refuseUnknown(body, [])
  const made = await changeUsers(env, call, (accounts) => accounts.issueAdministratorLink())
  if (made === undefined) throw conflict('There is an administrator already: they can invite others')
  return createdLink(env, { ...made, username: undefined })
}

function createdLink(
  env: AdminEnv,
  { link, token, username }: IssuedLink & { readonly username: string | undefined },
): AdminReply {
  const shown = link.mailedTo === undefined ? { url: linkUrl(env.issuer, token) } : {}
  return {
    status: 201,
    body: { ...presentLink({ link, username }), ...shown },
    headers: { location: `/admin/links/${link.id}` },
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
    sent_to: link.mailedTo ?? null,
    created_at: instant(link.createdAt),
    expires_at: instant(link.expiresAt),
  }
}

function readExpiry(seconds: unknown = DEFAULT): number {
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 60 || seconds > LONGEST)
    throw badBody([{ path: 'expires_in', text: 'must be a number of seconds, from a minute to 30 days' }])
  return seconds
}
