/** The sections about access: the sessions of a person, and the applications that may act for them. Each can be ended. */
import { documentHost } from 'gatehouse-protocol'
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { listApplications } from '../../../store/authorizations/applications.ts'
import { applicationsSection, sessionsSection } from '../../pages/account-sections.ts'
import { confirmPage } from '../../pages/confirm.ts'
import { lostScopeList } from '../../pages/form-parts.ts'
import type { SignedInBrowser } from '../browser-context.ts'
import { describeBrowser } from '../browser-name.ts'
import type { BrowserEnv } from '../env.ts'
import { frameFor, sendPage } from '../page-reply.ts'
import { endSession, endUserSessions } from '../sign-out/session-end.ts'
import { accountFormRoute, askRoute, ownPageRoute, redirectDone, sendSection, userZone } from './account.ts'

export function accountAccessRoutes(env: BrowserEnv): readonly Route[] {
  return [
    ownPageRoute({ name: 'sessions' }, showSessions, env),
    askRoute('/account/sessions/end', 'sessions', askToEnd, env),
    accountFormRoute('/account/sessions/end', endSessions, env),
    ownPageRoute({ name: 'applications' }, showApplications, env),
    askRoute('/account/consents/withdraw', 'applications', askToWithdraw, env),
    accountFormRoute('/account/consents/withdraw', withdrawConsent, env),
  ]
}

/** Names all sessions but this one, in place of an id. */
const OTHERS = 'others'

async function showSessions(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const found = await env.sessions.listOfUser(context.user.id)
  const sessions = found
    .map(({ id, userAgent, address, seenAt }) => ({
      id,
      address,
      seenAt,
      browser: describeBrowser(userAgent),
      current: id === context.session.id,
    }))
    // The current session first, then the most recently used.
    .sort((a, b) => Number(b.current) - Number(a.current) || b.seenAt - a.seenAt)
  const timeZone = userZone(context)
  return sendSection(context, 'sessions', (frame) => sessionsSection(frame, { sessions, timeZone }), { query }, env)
}

async function askToEnd(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const which = query.get('session') ?? ''
  const session = which === OTHERS ? undefined : await ownSession(context, which, env)
  if (which !== OTHERS && session === undefined) return context.http.redirect(`${env.pages.base}/account/sessions`)
  const name = describeBrowser(session?.userAgent ?? '') || messages.unknownBrowser
  const page = confirmPage(frame, {
    title: session === undefined ? messages.endOthersAsk : messages.endSessionAsk(name),
    lead: session === undefined ? messages.endOthersLead : messages.endSessionLead,
    path: '/account/sessions/end',
    values: { session: which },
    submit: messages.endSession,
    back: '/account/sessions',
  })
  return sendPage(context.http, page)
}

async function endSessions(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const which = form.get('session') ?? ''
  if (which === OTHERS) {
    await endUserSessions(context.user.id, 'ended by its user', env, ({ id }) => id !== context.session.id)
    return redirectDone(context, 'sessions', 'sessions', env)
  }
  const session = await ownSession(context, which, env)
  if (session !== undefined) await endSession(session.id, 'ended by its user', env, context.user.id)
  return redirectDone(context, 'sessions', 'session', env)
}

async function ownSession({ user }: SignedInBrowser, wanted: string, env: BrowserEnv) {
  return (await env.sessions.listOfUser(user.id)).find(({ id }) => id === wanted)
}

async function showApplications(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const found = await listApplications(env, context.user.id)
  const applications = await Promise.all(
    found.map(async ({ clientId, scopes, createdAt }) => {
      const { name = clientId, agent: isAgent = false, document = false } = (await env.clients.find(clientId)) ?? {}
      const agentHost = document ? documentHost(clientId) : undefined
      return { clientId, scopes, createdAt, client: name, isAgent, agentHost }
    }),
  )
  const timeZone = userZone(context)
  const body = { applications, timeZone }
  return sendSection(context, 'applications', (frame) => applicationsSection(frame, body), { query }, env)
}

async function clientName(clientId: string, env: BrowserEnv): Promise<string> {
  return (await env.clients.find(clientId))?.name ?? clientId
}

async function askToWithdraw(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const application = await ownApplication(context, query.get('client_id'), env)
  if (application === undefined) return context.http.redirect(`${env.pages.base}/account/applications`)
  const { clientId, scopes } = application
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const page = confirmPage(frame, {
    title: messages.withdrawAsk(await clientName(clientId, env)),
    lead: messages.withdrawLead,
    about: lostScopeList(frame, scopes),
    path: '/account/consents/withdraw',
    values: { client_id: clientId },
    submit: messages.withdraw,
    back: '/account/applications',
  })
  return sendPage(context.http, page)
}

async function withdrawConsent(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const { user, http } = context
  const application = await ownApplication(context, form.get('client_id'), env)
  if (application !== undefined) {
    const { clientId, scopes } = application
    await env.revocations.inTransaction(async (revocations, stores) => {
      await stores.consents.withdraw(user.id, clientId)
      await revocations.revokeConsent(user.id, clientId)
    })
    env.audit.record({
      event: 'consent.withdrawn',
      actor: user.id,
      client: clientId,
      address: http.address,
      requestId: http.id,
      details: { scope: scopes },
    })
  }
  return redirectDone(context, 'applications', 'access', env)
}

async function ownApplication({ user }: SignedInBrowser, wanted: string | undefined, env: BrowserEnv) {
  return (await listApplications(env, user.id)).find(({ clientId }) => clientId === wanted)
}
