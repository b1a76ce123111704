/** Administration of one-time set-up links: invitations of new users, and new passwords for those who forgot theirs. */
import { userTarget } from '../declarative/targets.ts'
import { isMailAddress } from '../lib/mail-address.ts'
import { newAdministratorLink } from '../store/accounts/administrators.ts'
import { type LinkOfUser, linkUrl, type SetUpLink } from '../store/accounts/set-up-links.ts'
import type { User } from '../store/accounts/user.ts'
import type { MailPort } from '../store/mail/notify.ts'
import type { Stores } from '../store/stores.ts'
import { ADDRESS_FORM, requireMail } from './mail.ts'
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
import { create as createUser, findUser, knownNames } from './users.ts'

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
      const wanted = { lifetimeMs, mail: send ? requireMail(env).port : undefined }
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
      const revoked = await change(env, ({ setUpLinks }) => setUpLinks.revoke(id))
      if (!revoked) throw conflict(`The link ${id} is not open: it was used or revoked, or has expired`)
      record(env, call, { event: 'link.revoked', target: link.userId, details: { link: id, kind: link.kind } })
    },
  },
]

interface Wanted {
  readonly lifetimeMs: number
  /** Where the link is mailed. */
  readonly mail: MailPort | undefined
}

async function createForExisting(
  call: AdminCall,
  env: AdminEnv,
  body: JsonObject,
  wanted: Wanted,
): Promise<AdminReply> {
  refuseUnknown(body, ['user'])
  const { user: name } = body
  if (typeof name !== 'string') throw badBody([{ path: 'user', text: 'must be a username or the id of a user' }])
  const made = await change(env, async (stores) => {
    const user = await findUser(stores, name)
    if (user.disabled) throw conflict(`The user ${user.username} is disabled: enable them first`)
    const kind = user.passwordHash === undefined ? 'invitation' : 'reset'
    return create(call, stores, user, kind, wanted)
  })
  return createdLink(call, env, made)
}

/** In a transaction: the link, and where it is mailed its mail. */
async function create(
  call: AdminCall,
  stores: Stores,
  { id: userId, username, profile, passwordHash }: User,
  kind: 'invitation' | 'reset',
  { lifetimeMs, mail }: Wanted,
) {
  const { email, email_verified: isVerified } = profile
  const mailedTo = mail === undefined ? undefined : String(email ?? '')
  if (mailedTo !== undefined && !isMailAddress(mailedTo))
    throw conflict(`The user ${username} has no e-mail address that mail is sent to: ${ADDRESS_FORM}`)
  // Whoever reads the mail of an address that nobody has confirmed must not get an account that is in use.
  if (mailedTo !== undefined && passwordHash !== undefined && isVerified !== true)
    throw conflict(
      `The e-mail address of ${username} is not verified: set email_verified, or pass the link on yourself`,
    )
  const made = await stores.setUpLinks.create({ kind, userId, createdBy: call.caller.subject, lifetimeMs, mailedTo })
  const { expiresAt } = made.link
  if (mailedTo !== undefined) await mail?.sendLink(stores, { kind, userId, to: mailedTo, token: made.token, expiresAt })
  return { ...made, username }
}

async function createForNew(call: AdminCall, env: AdminEnv, body: JsonObject, wanted: Wanted): Promise<AdminReply> {
  const faults = ['password', 'password_hash', 'reset_password', 'must_change_password']
    .filter((path) => Object.hasOwn(body, path))
    .map((path) => ({ path, text: 'is not allowed in an invitation: the person chooses a password with the link' }))
  if (faults.length > 0) throw badBody(faults)
  const made = await change(env, async (stores) => {
    const target = userTarget(readUser(body, await knownNames(stores)))
    const user = await findUser(stores, await createUser(stores, target))
    return create(call, stores, user, 'invitation', wanted)
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
  const { id, kind, userId: target, expiresAt, mailedTo } = link
  record(env, call, { event: 'link.created', target, details: { link: id, kind, expires: instant(expiresAt) } })
  if (mailedTo !== undefined) record(env, call, { event: 'mail.queued', target, details: { kind, link: id } })
  const shown = mailedTo === undefined ? { url: linkUrl(env.issuer, token) } : {}
  return {
    status: 201,
    body: { ...presentLink({ link, username }), ...shown },
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
