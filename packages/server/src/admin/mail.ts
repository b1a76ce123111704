/** Administration of e-mail: the queue, and a test of the mail server. */
import { Refusal } from 'gatehouse-protocol'
import { ADDRESS_FORM, isMailAddress } from '../lib/mail-address.ts'
import { MAIL_STATES, type QueuedMail } from '../store/mail/mail-queue.ts'
import type { MailAdministration } from './ports.ts'
import { badBody, instant, type JsonObject, readObject, refuseUnknown } from './request/body.ts'
import { change, record } from './request/change.ts'
import { cursorQuery, PAGE_REPLY, pageReply, readPage, readTimeCursor, writeTimeCursor } from './request/page.ts'
import { type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'

export const mailRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/mail',
    scope: 'Identity/Admin',
    summary: 'Lists mails page by page, newest first: those that wait, and those that ended during the last week.',
    query: { state: `Only those in this state: ${MAIL_STATES.join(', ')}.`, ...cursorQuery('Mails') },
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const { state: wanted } = call.query
      const state = MAIL_STATES.find((known) => known === wanted)
      if (wanted !== undefined && state === undefined)
        throw new Refusal('admin.bad_parameter', 400, `state must be one of ${MAIL_STATES.join(', ')}`)
      const found = await stores.mailQueue.page({ state, limit: page.limit, after: readTimeCursor(page.after) })
      return pageReply('/admin/mail', call, page, found, { cursorKey: writeTimeCursor, present: presentMail })
    },
  },
  {
    method: 'GET',
    path: '/admin/mail/{mail}',
    scope: 'Identity/Admin',
    summary: 'Shows a mail, without its text and link.',
    reply: 'The mail.',
    async run(call, env) {
      return { body: presentMail(await findMail(env, part(call, 'mail'))) }
    },
  },
  {
    method: 'POST',
    path: '/admin/mail/{mail}/retry',
    scope: 'Identity/Admin',
    summary: 'Retries a waiting mail at once.',
    async run(call, env) {
      const { id, kind, userId } = await findMail(env, part(call, 'mail'))
      if (!(await change(env, ({ mailQueue }) => mailQueue.hurry(id)))) throw notWaiting(id)
      record(env, call, { event: 'mail.retried', target: userId, details: { mail: id, kind } })
    },
  },
  {
    method: 'DELETE',
    path: '/admin/mail/{mail}',
    scope: 'Identity/Admin',
    summary: 'Removes a waiting mail, so that it is not sent. Its link stays valid.',
    async run(call, env) {
      const { id, kind, userId } = await findMail(env, part(call, 'mail'))
      if (!(await change(env, ({ mailQueue }) => mailQueue.remove(id)))) throw notWaiting(id)
      record(env, call, { event: 'mail.removed', target: userId, details: { mail: id, kind } })
    },
  },
  {
    method: 'POST',
    path: '/admin/mail/test',
    scope: 'Identity/Admin',
    summary: 'Sends a test mail at once, past the queue. 502 with what the mail server said if it does not take it.',
    body: {
      type: 'object',
      properties: { to: { type: 'string', description: 'The address.' } },
      required: ['to'],
      additionalProperties: false,
    },
    async run(call, env) {
      const body = readObject(call.body)
      refuseUnknown(body, ['to'])
      const { to } = body
      if (typeof to !== 'string' || !isMailAddress(to)) throw badBody([{ path: 'to', text: ADDRESS_FORM }])
      const reason = await requireMail(env)
        .test(to)
        .then(() => undefined)
        .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      record(env, call, { event: 'mail.tested', details: { reason } })
      if (reason !== undefined) throw new Refusal('admin.mail_failed', 502, `The mail was not sent: ${reason}`)
    },
  },
]

export function requireMail({ mail }: Pick<AdminEnv, 'mail'>): MailAdministration {
  if (mail === undefined) throw new Refusal('admin.no_mail', 409, 'No mail is set up: set mail_url and mail_from')
  return mail
}

async function findMail({ stores }: Pick<AdminEnv, 'stores'>, id: string): Promise<QueuedMail> {
  const mail = await stores.mailQueue.find(id)
  if (mail === undefined) throw notFound('mail', id)
  return mail
}

function notWaiting(id: string): Refusal {
  return conflict(`The mail ${id} does not wait: it was sent, has ended, or is being sent`)
}

function presentMail(mail: QueuedMail): JsonObject {
  return {
    id: mail.id,
    kind: mail.kind,
    state: mail.state,
    user: mail.userId ?? null,
    to: mail.recipient ?? null,
    attempts: mail.attempts,
    error: mail.lastError ?? null,
    created_at: instant(mail.createdAt),
    tried_at: instant(mail.triedAt),
    next_at: mail.state === 'waiting' ? instant(mail.nextAt) : null,
    expires_at: instant(mail.expiresAt),
    ended_at: instant(mail.endedAt),
  }
}
