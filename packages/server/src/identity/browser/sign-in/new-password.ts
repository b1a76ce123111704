/** Choosing a password without the current one: the checks of a new password, its consequences, and the page of a forced change. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../../../store/accounts/password-hash.ts'
import type { RevocationsInside } from '../../../store/authorizations/revocations.ts'
import type { OpenedSession, Session } from '../../../store/authorizations/sessions.ts'
import type { MailStores } from '../../../store/mail/notify.ts'
import type { Stores } from '../../../store/stores.ts'
import type { Messages } from '../../pages/messages/en.ts'
import { forcedChangePage } from '../../pages/new-password.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { claimFlow, expired, type FlowInteraction, noteProgress } from '../flow.ts'
import { type FormReply, frameOfFlow, replyLater, sendPage } from '../page-reply.ts'
import { proceed } from '../proceed.ts'
import { isFresh, signInFirst } from './factor-set-up.ts'
import { readOrigin } from './known-browser.ts'
import { flowClientId } from './sign-in.ts'

export function forcedChangeRoutes(env: BrowserEnv): readonly Route[] {
  const whenDemanded =
    (act: (context: SignedInBrowser, flow: FlowInteraction, parameters: FormParameters) => Promise<void>) =>
    async (context: BrowserContext, parameters: FormParameters) => {
      const flow = await claimFlow(parameters.get('flow'), context, env.flows)
      if (!isSignedIn(context) || !context.user.mustChangePassword) return proceed(context, flow, env)
      // An unattended browser must not be enough to replace a password.
      if (!isFresh(context, env)) return signInFirst(context, flow.handle, env)
      return act(context, flow, parameters)
    }
  return [
    pageRoute(
      '/change-password',
      whenDemanded((context, flow) => showForcedChange(context, flow, env)),
      env,
    ),
    formRoute(
      '/change-password',
      'session',
      whenDemanded((context, flow, form) => takeForcedChange(context, flow, form, env)),
      env,
    ),
  ]
}

async function showForcedChange(
  context: SignedInBrowser,
  flow: FlowInteraction,
  env: BrowserEnv,
  again?: FormReply,
): Promise<void> {
  const { frame, formAction } = await frameOfFlow(context, flow, 'session', env)
  const page = forcedChangePage(frame, {
    flow: flow.handle,
    username: context.user.username,
    leastPassword: SHORTEST_PASSWORD,
    formError: again?.error(frame.language.messages),
  })
  return sendPage(context.http, page, {
    status: again?.status ?? 200,
    scripts: "'self'",
    formAction,
  })
}

async function takeForcedChange(
  context: SignedInBrowser,
  flow: FlowInteraction,
  form: FormParameters,
  env: BrowserEnv,
): Promise<void> {
  const { user } = context
  const hashed = await hashNew(context, form.get('new_password'), user.passwordHash, env)
  if ('error' in hashed) return showForcedChange(context, flow, env, hashed)
  const ended = await env.revocations.inTransaction(async (revocations, stores) => {
    const replaced = await replacePassword(user.id, hashed.hash, revocations, stores, user.passwordChangedAt)
    if (replaced !== undefined) await noticePassword(context, user.id, stores, env)
    return replaced
  })
  // Hashing takes time: the password was replaced during it, perhaps to lock this browser out.
  if (ended === undefined) throw expired()
  recordReplaced(context, user.id, ended, { client: flowClientId(flow), reason: 'required' }, env)
  const current = await env.users.findById(user.id)
  if (current === undefined || current.disabled) throw expired()
  const opened = await openInstead(context, env)
  return proceed(
    context.signedIn(opened, current),
    await noteProgress(flow, { signedIn: opened.session.id }, env.flows),
    env,
  )
}

/** The session of somebody whose sessions have just ended with the password. What bounds and ends the former one does so with it. */
export async function openInstead({ session, proof }: SignedInBrowser, env: BrowserEnv): Promise<OpenedSession> {
  const { userId, amr, boundedUntil } = session
  const opened = await env.sessions.open(userId, { ...proof(amr), boundedUntil })
  const origin = await env.providerSignIns.findOrigin(session.id)
  if (origin !== undefined) await env.providerSignIns.setOrigin(opened.session.id, origin)
  return opened
}

/** The hash of an acceptable password, or the message for the person. */
export async function hashNew(
  { http }: BrowserContext,
  password = '',
  currentHash: string | undefined,
  { hashing }: Pick<BrowserEnv, 'hashing'>,
): Promise<{ readonly hash: string } | FormReply> {
  const fault = lengthFault(password)
  if (fault !== undefined) return fault
  const isSame = currentHash === undefined ? false : await hashing.verify(currentHash, password)
  if (isSame === true) return refuseNew((text) => text.samePassword)
  const hash = isSame === undefined ? undefined : await hashing.hash(password)
  return hash === undefined ? replyLater(http, { outcome: 'busy' }) : { hash }
}

export function lengthFault(password: string): FormReply | undefined {
  if (password.length < SHORTEST_PASSWORD) return refuseNew((text) => text.passwordTooShort(SHORTEST_PASSWORD))
  return password.length > LONGEST_PASSWORD ? refuseNew((text) => text.passwordTooLong) : undefined
}

function refuseNew(message: (text: Messages) => string): FormReply {
  return { status: 400, error: (text) => ({ text: message(text), field: 'new_password' }) }
}

/** C-67: a new password ends all sessions and tokens of the user at once. Returns the sessions, to be recorded; undefined if the password has changed since `since`. */
export async function replacePassword(
  userId: string,
  passwordHash: string,
  revocations: RevocationsInside,
  { users, sessions }: Pick<Stores, 'users' | 'sessions'>,
  since?: number,
): Promise<readonly Session[] | undefined> {
  if (!(await users.setPassword(userId, passwordHash, { since }))) return undefined
  const ended = await sessions.endAllForUser(userId)
  for (const { id } of ended) await revocations.revokeSession(id)
  await revocations.revokeUser(userId)
  return ended
}

/** In the transaction: the person is notified by mail, where it is set up. */
export async function noticePassword(
  context: BrowserContext,
  userId: string,
  stores: MailStores,
  { mail }: Pick<BrowserEnv, 'mail'>,
): Promise<void> {
  await mail?.notify(stores, { kind: 'password-changed', userId, ...readOrigin(context) })
}

/** After the transaction. */
export function recordReplaced(
  { http }: BrowserContext,
  userId: string,
  ended: readonly Session[],
  { client, reason }: { readonly client?: string | undefined; readonly reason?: string },
  { audit }: Pick<BrowserEnv, 'audit'>,
): void {
  for (const { id } of ended)
    audit.record({ event: 'session.ended', actor: userId, details: { session: id, reason: 'password changed' } })
  const facts = { actor: userId, client, address: http.address, requestId: http.id }
  audit.record({ event: 'password.changed', ...facts, ...(reason === undefined ? {} : { details: { reason } }) })
}
