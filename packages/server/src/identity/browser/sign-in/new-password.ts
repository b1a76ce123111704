/** Choosing a password without the current one: the checks of a new password, and the page of a forced change. */
import { passwordFault } from '../../../accounts/passwords.ts'
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { SHORTEST_PASSWORD } from '../../../store/accounts/password-hash.ts'
import type { OpenedSession } from '../../../store/authorizations/sessions.ts'
import type { Messages } from '../../pages/messages/en.ts'
import { forcedChangePage } from '../../pages/new-password.ts'
import { personAsAuthor } from '../account-author.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { claimFlow, expired, type FlowInteraction, noteProgress } from '../flow.ts'
import { type FormReply, frameOfFlow, replyLater, sendPage } from '../page-reply.ts'
import { proceed } from '../proceed.ts'
import { isFresh, signInFirst } from './factor-set-up.ts'
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
  const author = personAsAuthor(context, { client: flowClientId(flow) })
  const isReplaced = await env.accounts.change(author, (accounts) =>
    accounts.setPassword(user.id, hashed.hash, { since: user.passwordChangedAt, reason: 'required' }),
  )
  // Hashing takes time: the password was replaced during it, perhaps to lock this browser out.
  if (!isReplaced) throw expired()
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
  const fault = passwordFault(password)
  if (fault === 'too short') return refuseNew((text) => text.passwordTooShort(SHORTEST_PASSWORD))
  return fault === undefined ? undefined : refuseNew((text) => text.passwordTooLong)
}

function refuseNew(message: (text: Messages) => string): FormReply {
  return { status: 400, error: (text) => ({ text: message(text), field: 'new_password' }) }
}
