/** `/connect/endsession` (OpenID Connect RP-Initiated Logout): leaving, asked for by an application or by the person. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Client } from '../../store/client-metadata.ts'
import { hintReader } from '../authorize/authorize.ts'
import { addParameters } from '../authorize/deliver.ts'
import { refuse } from '../authorize/refuse.ts'
import { displayNameOf } from '../claims.ts'
import { signedOutPage, signOutPage, stillSignedInPage } from '../pages/sign-out.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired, type LogoutRequest } from './flow.ts'
import { addressesOf, frameFor, sendPage, sourceOf } from './page-reply.ts'
import { endSession } from './session-end.ts'
import { openVisit, type Visit } from './visit.ts'

export function registerEndSession(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/connect/endsession', { exposeHeadRoute: false }, async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const logout = await readLogout(queryParameters(request), env)
    return isToBeAsked(visit, logout) ? toQuestion(reply, logout, env) : signOut(visit, unasked(logout), env)
  })
  // A form posted from another site brings no Lax cookie; the redirect that follows does, and only then is it decided.
  app.post('/connect/endsession', async (request, reply) =>
    toQuestion(reply, await readLogout(formParameters(request), env), env),
  )
  app.get('/sign-out', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const handle = queryParameters(request).get('flow')
    if (handle === undefined) return reply.redirect(`${env.pages.base}/connect/endsession`, 303)
    const { details } = await claimFlow(handle, visit, env.flows)
    if (details.kind !== 'sign-out') throw expired()
    if (isToBeAsked(visit, details.request)) return askToLeave(visit, handle, details.request, env)
    return signOut(visit, unasked(details.request), env)
  })
  app.post('/sign-out', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const { details, handle } = await claimFlow(form.get('flow'), visit, env.flows)
    if (details.kind !== 'sign-out' || !(await env.flows.finish(handle))) throw expired()
    if (form.get('decision') === 'leave') return signOut(visit, details.request, env)
    const frame = frameFor(env.pages, visit, { uiLocales: details.request.uiLocales })
    return sendPage(reply, stillSignedInPage(frame, visit.user === undefined ? '' : displayNameOf(visit.user)))
  })
}

async function readLogout(parameters: Parameters, env: BrowserEnv): Promise<LogoutRequest> {
  if (parameters.repeated.size > 0) throw refuse('invalid_request', 'A parameter came more than once')
  const idToken = parameters.get('id_token_hint')
  const hinted = idToken === undefined ? undefined : await hintReader(env)(idToken)
  if (idToken !== undefined && hinted?.clientId === undefined)
    throw refuse('invalid_request', 'id_token_hint is not an ID token of this server')
  const named = parameters.get('client_id')
  if (named !== undefined && hinted !== undefined && named !== hinted.clientId)
    throw refuse('invalid_request', 'client_id is not the client that id_token_hint was issued to')
  const clientId = hinted?.clientId ?? named
  const client = clientId === undefined ? undefined : await env.clients.find(clientId)
  if (clientId !== undefined && client === undefined) throw refuse('invalid_request', 'The client is not known here')
  return {
    clientId: client?.id,
    next: readNext(parameters, client),
    uiLocales: parameters.get('ui_locales'),
    ...(hinted === undefined ? {} : { hinted: { subject: hinted.subject, sessionId: hinted.sessionId } }),
  }
}

/** Exactly one of the registered addresses; without a client there is nobody to go back to. */
function readNext(parameters: Parameters, client: Client | undefined): string | undefined {
  const uri = parameters.get('post_logout_redirect_uri')
  if (uri === undefined || client === undefined) return undefined
  if (!client.postLogoutRedirectUris.includes(uri))
    throw refuse('invalid_request', 'post_logout_redirect_uri is not registered for this client')
  const state = parameters.get('state')
  return addParameters(uri, state === undefined ? {} : { state }, 'query')
}

/** Nobody is asked who is signed in no more, or whose very session the application proves to mean (§2, §6). */
function isToBeAsked({ session }: Visit, { hinted }: LogoutRequest): boolean {
  if (session === undefined) return false
  return hinted?.sessionId === undefined ? hinted?.subject !== session.userId : hinted.sessionId !== session.id
}

/** Without a question only a hint says where to go: nobody has confirmed anything else. */
function unasked(logout: LogoutRequest): LogoutRequest {
  return logout.hinted === undefined ? { ...logout, next: undefined } : logout
}

async function toQuestion(reply: FastifyReply, request: LogoutRequest, env: BrowserEnv): Promise<FastifyReply> {
  const { handle } = await env.flows.begin({ kind: 'sign-out', request, progress: {} })
  return reply.redirect(`${env.pages.base}/sign-out?flow=${encodeURIComponent(handle)}`, 303)
}

async function askToLeave(
  visit: Visit,
  flow: string,
  { clientId, uiLocales, next }: LogoutRequest,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const client = clientId === undefined ? undefined : await env.clients.find(clientId)
  const frame = frameFor(env.pages, visit, { uiLocales, boundTo: 'session' })
  const username = visit.user === undefined ? '' : displayNameOf(visit.user)
  return sendPage(visit.reply, signOutPage(frame, { flow, username, client: client?.name }), {
    formAction: client === undefined ? [] : addressesOf(client, next),
  })
}

/** How long the frames of the applications get when nothing tells that they have loaded. */
const FRAMES_SECONDS = 3

export async function signOut(
  visit: Visit,
  { clientId, next: wanted, uiLocales }: LogoutRequest,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const ended = visit.session === undefined ? undefined : await endSession(visit.session.id, 'signed out', env)
  visit.signedOut()
  const clients = await Promise.all((ended?.clientIds ?? []).map((id) => env.clients.find(id)))
  const frames = clients.flatMap((client) =>
    client?.frontchannelLogout === undefined || client.disabled || ended === undefined
      ? []
      : [addParameters(client.frontchannelLogout.uri, { iss: env.issuer.name, sid: ended.session.id }, 'query')],
  )
  const asking = clientId === undefined ? undefined : await env.clients.find(clientId)
  // Nobody is sent to an application that was disabled, before this request or while the person was asked.
  const next = asking === undefined || asking.disabled ? undefined : wanted
  if (next !== undefined && frames.length === 0) {
    visit.reply.header('cache-control', 'no-store')
    return visit.reply.redirect(next, 303)
  }
  const page = signedOutPage(frameFor(env.pages, visit, { uiLocales }), {
    frames,
    next: next === undefined ? undefined : { url: next, client: asking?.name ?? '' },
    waitSeconds: FRAMES_SECONDS,
    script: env.pages.assets.signedOutScript,
  })
  return sendPage(visit.reply, page, {
    frames: frames.flatMap((uri) => sourceOf(uri) ?? []),
    ...(next === undefined ? {} : { scripts: "'self'" }),
  })
}
