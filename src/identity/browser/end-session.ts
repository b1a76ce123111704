/** `/connect/endsession` (OpenID Connect RP-Initiated Logout): leaving, asked for by an application or by the person. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, isParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Client } from '../../store/client-metadata.ts'
import { hintReader } from '../authorize/authorize.ts'
import { addParameters } from '../authorize/deliver.ts'
import { refuse } from '../authorize/refuse.ts'
import { displayNameOf } from '../claims.ts'
import { signedOutPage, signOutPage, stillSignedInPage } from '../pages/sign-out.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired, type LogoutRequest } from './flow.ts'
import { addressesOf, frameFor, sendPage, sourceOf } from './page-reply.ts'
import { proceed } from './proceed.ts'
import { endSession } from './session-end.ts'
import { isSignedIn, openVisit, type Visit } from './visit.ts'

export function registerEndSession(app: FastifyInstance, env: BrowserEnv): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/connect/endsession',
    exposeHeadRoute: false,
    async handler(request, reply) {
      const visit = await openVisit(request, reply, env)
      const parameters = isParameters(request.body) ? request.body : queryParameters(request)
      return leave(visit, await readLogout(parameters, env), env)
    },
  })
  app.get('/sign-out', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const handle = queryParameters(request).get('flow')
    if (handle === undefined) return reply.redirect(`${env.pages.base}/connect/endsession`, 303)
    const { details } = await claimFlow(handle, visit, env.flows)
    if (details.kind !== 'sign-out') throw expired()
    if (isSignedIn(visit)) return askToLeave(visit, handle, details.request, env)
    // The session ended meanwhile, and nobody confirmed where to go.
    return signOut(visit, { ...details.request, next: undefined }, env)
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

interface CheckedLogout extends LogoutRequest {
  /** Whom the hint names; undefined without one. */
  readonly hinted: { readonly subject: string; readonly sessionId: string | undefined } | undefined
}

async function readLogout(parameters: Parameters, env: BrowserEnv): Promise<CheckedLogout> {
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
    hinted: hinted && { subject: hinted.subject, sessionId: hinted.sessionId },
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

/** Without a question only when the application proves that it means this very session (§2, §6). */
async function leave(visit: Visit, { hinted, ...request }: CheckedLogout, env: BrowserEnv): Promise<FastifyReply> {
  const { session } = visit
  if (session === undefined)
    return signOut(visit, hinted === undefined ? { ...request, next: undefined } : request, env)
  const means = hinted?.sessionId === undefined ? hinted?.subject === session.userId : hinted.sessionId === session.id
  if (means) return signOut(visit, request, env)
  const flow = await env.flows.begin({ kind: 'sign-out', request, browser: visit.browser(), progress: {} })
  return proceed(visit, flow, env)
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
