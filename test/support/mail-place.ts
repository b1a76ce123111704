/** A server with people, and the mail server that it sends through. */
import assert from 'node:assert/strict'
import type { TestPlace } from './engines.ts'
import { openSignInPlace, SECRET, type SignInPlace, type SignInPlaceOptions } from './sign-in-place.ts'
import { linkIn, type ReceivedMail, startSmtpServer, type TestSmtpOptions, type TestSmtpServer } from './smtp-server.ts'
import { until } from './until.ts'
import { type Page, requirePage, type UserAgent } from './user-agent.ts'

export interface MailPlace extends SignInPlace {
  readonly smtp: TestSmtpServer
  /** A request to the administration. */
  admin(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> & { items?: Record<string, unknown>[] } }>
  /** The mail to an address that comes next; those before are forgotten. */
  mailTo(address: string): Promise<ReceivedMail>
  /** Who got what, of the mails that no test has taken. */
  unread(): string[]
  /** Until nothing waits that is due. Ten mails a second leave. */
  settled(usualMs?: number): Promise<void>
  open(agent: UserAgent, path: string | URL): Promise<Page>
  forgot(typed: string, headers?: Readonly<Record<string, string>>): Promise<Page>
  /** Opens the link of a mail and chooses a password. */
  choose(mail: ReceivedMail, password: string, agent?: UserAgent): Promise<Page>
}

/** Access tokens are valid for an hour. */
const TOKEN_MS = 30 * 60_000

export async function openMailPlace(
  at: TestPlace,
  { smtp: smtpOptions, ...options }: SignInPlaceOptions & { readonly smtp?: TestSmtpOptions } = {},
): Promise<MailPlace> {
  const smtp = await startSmtpServer(smtpOptions)
  const ops = {
    client_id: 'ops',
    grant_types: ['client_credentials'],
    response_types: [],
    scope: 'Identity/Admin Platform/Admin',
  }
  const place = await openSignInPlace(at, {
    ...options,
    flags: { '--trusted-proxies': '127.0.0.1', ...smtp.flags, ...options.flags },
    clients: [ops],
  })
  const { issuer } = place.server
  let token = { readAt: Number.NEGATIVE_INFINITY, text: '' }
  const open: MailPlace['open'] = async (agent, path) => requirePage(await agent.get(path))
  return {
    ...place,
    smtp,
    open,
    async admin(method, path, body) {
      if (place.clock() - token.readAt > TOKEN_MS) token = { readAt: place.clock(), text: await readToken(issuer) }
      const response = await fetch(`${issuer}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token.text}`,
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
          'if-match': '*',
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
    },
    async mailTo(address) {
      const found = () => smtp.mails.findIndex(({ to }) => to.includes(address))
      await until(`a mail to ${address} arrives`, 3_000, () => found() >= 0)
      const [mail] = smtp.mails.splice(found(), 1)
      assert.ok(mail !== undefined)
      return mail
    },
    unread: () => smtp.mails.map(({ to, headers }) => `${to}: ${headers.get('subject')}`),
    async settled(usualMs = 5_000) {
      const waiting = () =>
        place.database.db
          .selectFrom('mail_queue')
          .select('id')
          .where('state', '=', 'waiting')
          .where((eb) => eb.or([eb('next_at', '<=', place.clock()), eb('leased_by', 'is not', null)]))
          .execute()
      await until('all mails are dealt with', usualMs, async () => (await waiting()).length === 0)
    },
    async forgot(typed, headers) {
      const agent = place.newAgent(headers)
      const page = await open(agent, '/forgot-password')
      const form = page.forms.find(({ id }) => id === 'forgot-password')
      assert.ok(form !== undefined, page.body)
      return requirePage(await agent.submit(form, { username: typed }))
    },
    async choose(mail, password, agent = place.newAgent()) {
      const page = await open(agent, linkIn(mail))
      const form = page.forms.find(({ id }) => id === 'set-up')
      return form === undefined ? page : requirePage(await agent.submit(form, { new_password: password }))
    },
    async close() {
      await place.close()
      await smtp.close()
    },
  }
}

async function readToken(issuer: string): Promise<string> {
  const response = await fetch(`${issuer}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`ops:${encodeURIComponent(SECRET)}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'Identity/Admin Platform/Admin' }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return token
}
