/** The sign-in page: a password or a passkey in, a session out; whoever has a second factor is asked for it next. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Client } from '../../store/client-metadata.ts'
import type { User } from '../../store/users.ts'
import type { Mistake } from '../pages/form-parts.ts'
import { signInPage } from '../pages/sign-in.ts'
import { checkPasskey, passkeyChallenge } from '../passkeys.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired, type FlowInteraction, noteProgress, spendChallenge } from './flow.ts'
import { addressesOf, frameFor, sendPage } from './page-reply.ts'
import { proceed, refuseToClient } from './proceed.ts'
import { endSession } from './session-end.ts'
import { openVisit, type Visit } from './visit.ts'

export function registerSignIn(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/sign-in', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const query = queryParameters(request)
    const handle = query.get('flow')
    // Somebody came by hand or by a bookmark: they want to be signed in, and their account is where that shows.
    if (handle === undefined)
      return proceed(visit, { handle, details: { kind: 'own', page: { name: 'account' }, progress: {} } }, env)
    const flow = await claimFlow(handle, visit, env.flows)
    return showSignIn(visit, flow, env, query.get('other') === undefined ? {} : { username: '' })
  })
  app.post('/sign-in', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'browser')
    const flow = await claimFlow(form.get('flow'), visit, env.flows)
    return form.get('action') === 'cancel' ? cancel(visit, flow, env) : signInByPassword(visit, flow, form, env)
  })
  app.post('/sign-in/passkey', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'browser')
    return signInByPasskey(visit, await claimFlow(form.get('flow'), visit, env.flows), form, env)
  })
  app.get('/continue', { exposeHeadRoute: false }, async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    return proceed(visit, await claimFlow(queryParameters(request).get('flow'), visit, env.flows), env)
  })
}

/** What a further showing of the page says. */
interface Shown {
  readonly status?: number
  /** Empty for somebody else than the person whose session this is. */
  readonly username?: string | undefined
  readonly told?: (text: Texts) => Mistake
}

async function showSignIn(
  visit: Visit,
  flow: FlowInteraction,
  env: BrowserEnv,
  shown: Shown = {},
): Promise<FastifyReply> {
  const { details } = flow
  const request = details.kind === 'authorize' ? details.request : undefined
  const client = request === undefined ? undefined : await env.clients.find(request.clientId)
  const frame = frameFor(env.pages, visit, { uiLocales: request?.uiLocales, boundTo: 'browser' })
  const { options, challenge } = await passkeyChallenge(env.issuer.name)
  await noteProgress(flow, { challenge }, env.flows)
  const username = shown.username ?? request?.loginHint ?? visit.user?.username ?? ''
  const page = signInPage(frame, {
    flow: flow.handle,
    client: client?.name,
    username: username === '' ? undefined : username,
    mistake: shown.told?.(frame.language.messages),
    again: visit.user !== undefined && shown.username !== '',
    passkey: { options, script: env.pages.assets.passkeyScript },
  })
  return sendPage(visit.reply, page, {
    status: shown.status ?? 200,
    scripts: "'self'",
    formAction: client === undefined ? [] : addressesOf(client, request?.target.redirectUri),
  })
}

type Texts = ReturnType<typeof frameFor>['language']['messages']

async function signInByPassword(
  visit: Visit,
  flow: FlowInteraction,
  form: Parameters,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const username = form.get('username')
  const password = form.get('password')
  if (username === undefined || password === undefined) {
    const field = username === undefined ? 'username' : 'password'
    return showSignIn(visit, flow, env, { status: 400, username, told: (text) => ({ text: text.required, field }) })
  }
  const verdict = await env.checkPassword({
    username,
    password,
    address: visit.request.ip,
    clientId: clientIdOf(flow),
    requestId: visit.request.id,
  })
  switch (verdict.outcome) {
    case 'good':
      return passFirstFactor(visit, flow, verdict.user, ['pwd'], env)
    case 'wrong':
      return showSignIn(visit, flow, env, {
        status: 401,
        username,
        told: (text) => ({ text: text.wrongCredentials, field: 'password' }),
      })
    case 'delayed':
      visit.reply.header('retry-after', String(verdict.seconds))
      return showSignIn(visit, flow, env, {
        status: 429,
        username,
        told: (text) => ({ text: text.tryLater(verdict.seconds) }),
      })
    case 'busy':
      visit.reply.header('retry-after', '5')
      return showSignIn(visit, flow, env, { status: 503, username, told: (text) => ({ text: text.tryLater(5) }) })
  }
}

/** A passkey that checks its holder is two factors in one: something they have, and a finger, a face or a PIN. */
async function signInByPasskey(
  visit: Visit,
  flow: FlowInteraction,
  form: Parameters,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const { challenge, flow: noted } = await spendChallenge(flow, env.flows)
  const user = await checkPasskey({ credential: form.get('credential'), challenge, userId: undefined }, env)
  env.metrics.count('gatehouse_signins_total', { method: 'passkey', outcome: user === undefined ? 'wrong' : 'good' })
  if (user === undefined) {
    env.audit.record({
      event: 'signin.refused',
      client: clientIdOf(flow),
      address: visit.request.ip,
      requestId: visit.request.id,
      details: { reason: 'passkey', methods: ['pop'] },
    })
    return showSignIn(visit, noted, env, { status: 401, told: (text) => ({ text: text.passkeyFailed }) })
  }
  return passFirstFactor(visit, noted, user, ['pop', 'user', 'mfa'], env)
}

async function passFirstFactor(
  visit: Visit,
  flow: FlowInteraction,
  user: User,
  amr: readonly string[],
  env: BrowserEnv,
): Promise<FastifyReply> {
  if (!user.hasSecondFactor || amr.includes('mfa')) return completeSignIn(visit, flow, user, amr, env)
  await noteProgress(flow, { half: { userId: user.id, amr, at: env.clock() } }, env.flows)
  return visit.reply.redirect(`${env.pages.base}/second-factor?flow=${encodeURIComponent(flow.handle)}`, 303)
}

/** The session cookie is new after every proof (C-04); another person's session in this browser ends. */
export async function completeSignIn(
  visit: Visit,
  flow: FlowInteraction,
  user: User,
  amr: readonly string[],
  env: BrowserEnv,
): Promise<FastifyReply> {
  const { session } = visit
  if (session !== undefined && session.userId !== user.id) await endSession(session.id, 'another user signed in', env)
  const renewed = session?.userId === user.id ? await env.sessions.renew(session, visit.proof(amr)) : undefined
  const opened = renewed ?? (await env.sessions.open(user.id, visit.proof(amr)))
  env.audit.record({
    event: 'signin.succeeded',
    actor: user.id,
    client: clientIdOf(flow),
    address: visit.request.ip,
    requestId: visit.request.id,
    details: { methods: amr, session: opened.session.id },
  })
  const noted = await noteProgress(flow, { signedIn: opened.session.id, half: undefined }, env.flows)
  return proceed(visit.signedIn(opened, user), noted, env)
}

async function cancel(visit: Visit, flow: FlowInteraction, env: BrowserEnv): Promise<FastifyReply> {
  const { details } = flow
  await env.flows.finish(flow.handle)
  const client = details.kind === 'authorize' ? await clientOf(details.request.clientId, env) : undefined
  if (details.kind !== 'authorize' || client === undefined)
    return visit.reply.redirect(`${env.pages.base}/sign-in`, 303)
  return refuseToClient(visit, client, details.request, 'access_denied', 'The person cancelled the sign-in', env)
}

async function clientOf(clientId: string, env: BrowserEnv): Promise<Client> {
  const client = await env.clients.find(clientId)
  if (client === undefined || client.disabled) throw expired()
  return client
}

export function clientIdOf({ details }: FlowInteraction): string | undefined {
  return details.kind === 'authorize' ? details.request.clientId : undefined
}
