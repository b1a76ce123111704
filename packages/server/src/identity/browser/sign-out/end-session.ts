/** `/connect/endsession` (OpenID Connect RP-Initiated Logout): sign-out by an application or by the person. */
import type { Context } from '../../../http/context.ts'
import { FORM, type FormParameters, formParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { Client } from '../../../store/clients/client-metadata.ts'
import { refuse } from '../../authorize/authorization-error.ts'
import { hintReader } from '../../authorize/id-token-hint.ts'
import { addParameters } from '../../authorize/response.ts'
import { readHint, refuseTooLong } from '../../authorize/stored-parameters.ts'
import { repeatedText } from '../../oauth-error.ts'
import { signedOutPage, signOutPage, stillSignedInPage } from '../../pages/sign-out.ts'
import { chooseDisplayName, FEDERATED } from '../../tokens/claims.ts'
import { type BrowserContext, formRoute, pageRoute } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { claimFlow, expired, type LogoutRequest } from '../flow.ts'
import { answerHead, cspSource, formActionSources, frameFor, sendPage } from '../page-reply.ts'
import { endSession } from './session-end.ts'

export function endSessionRoutes(env: BrowserEnv): readonly Route[] {
  return [
    { ...pageRoute('/connect/endsession', openEndSession, env), head: answerHead },
    {
      method: 'POST',
      path: '/connect/endsession',
      body: FORM,
      // A form posted from another site brings no Lax cookie; the redirect does, and the decision is made there.
      handle: async (http) => toQuestion(http, await readLogout(formParameters(http), env), env),
    },
    { ...pageRoute('/sign-out', openSignOut, env), head: answerHead },
    formRoute('/sign-out', 'session', decideSignOut, env),
  ]
}

async function openEndSession(context: BrowserContext, query: FormParameters, env: BrowserEnv): Promise<void> {
  const logout = await readLogout(query, env)
  return isToBeAsked(context, logout) ? toQuestion(context.http, logout, env) : signOut(context, unasked(logout), env)
}

async function openSignOut(context: BrowserContext, query: FormParameters, env: BrowserEnv): Promise<void> {
  const handle = query.get('flow')
  if (handle === undefined) return context.http.redirect(`${env.pages.base}/connect/endsession`)
  const { details } = await claimFlow(handle, context, env.flows)
  if (details.kind !== 'sign-out') throw expired()
  if (isToBeAsked(context, details.request)) return askToLeave(context, handle, details.request, env)
  return signOut(context, unasked(details.request), env)
}

async function decideSignOut(context: BrowserContext, form: FormParameters, env: BrowserEnv): Promise<void> {
  const { details, handle } = await claimFlow(form.get('flow'), context, env.flows)
  if (details.kind !== 'sign-out' || !(await env.flows.finish(handle))) throw expired()
  if (form.get('decision') === 'leave') return signOut(context, details.request, env)
  const frame = frameFor(env.pages, context, { uiLocales: details.request.uiLocales })
  const username = context.user === undefined ? '' : chooseDisplayName(context.user)
  return sendPage(context.http, stillSignedInPage(frame, username))
}

async function readLogout(parameters: FormParameters, env: BrowserEnv): Promise<LogoutRequest> {
  if (parameters.repeated.size > 0) throw refuse('invalid_request', repeatedText(parameters.repeated))
  refuseTooLong(parameters)
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
    uiLocales: readHint('ui_locales', parameters),
    ...(hinted === undefined ? {} : { hinted: { subject: hinted.subject, sessionId: hinted.sessionId } }),
  }
}

/** Must equal a registered URI; without a client there is none. */
function readNext(parameters: FormParameters, client: Client | undefined): string | undefined {
  const uri = parameters.get('post_logout_redirect_uri')
  if (uri === undefined || client === undefined) return undefined
  if (!client.postLogoutRedirectUris.includes(uri))
    throw refuse('invalid_request', 'post_logout_redirect_uri is not registered for this client')
  const state = parameters.get('state')
  return addParameters(uri, state === undefined ? {} : { state }, 'query')
}

/** No confirmation is needed without a session, or when the ID token hint names this very session (§2, §6). */
function isToBeAsked({ session }: BrowserContext, { hinted }: LogoutRequest): boolean {
  if (session === undefined) return false
  return hinted?.sessionId === undefined ? hinted?.subject !== session.userId : hinted.sessionId !== session.id
}

/** Without a confirmation, only an ID token hint may name the redirect target. */
function unasked(logout: LogoutRequest): LogoutRequest {
  return logout.hinted === undefined ? { ...logout, next: undefined } : logout
}

async function toQuestion(http: Context, request: LogoutRequest, env: BrowserEnv): Promise<void> {
  const { handle } = await env.flows.begin({ kind: 'sign-out', request, progress: {} }, http)
  return http.redirect(`${env.pages.base}/sign-out?flow=${encodeURIComponent(handle)}`)
}

async function askToLeave(
  context: BrowserContext,
  flow: string,
  { clientId, uiLocales, next }: LogoutRequest,
  env: BrowserEnv,
): Promise<void> {
  const client = clientId === undefined ? undefined : await env.clients.find(clientId)
  const frame = frameFor(env.pages, context, { uiLocales, boundTo: 'session' })
  const username = context.user === undefined ? '' : chooseDisplayName(context.user)
  return sendPage(context.http, signOutPage(frame, { flow, username, client: client?.name }), {
    formAction: client === undefined ? [] : formActionSources(client, next),
  })
}

/** Time for the front-channel frames to load where scripts are off. */
const FRAMES_SECONDS = 3

export async function signOut(context: BrowserContext, request: LogoutRequest, env: BrowserEnv): Promise<void> {
  const { clientId, next: wanted, uiLocales } = request
  const ended = context.session === undefined ? undefined : await endSession(context.session.id, 'signed out', env)
  const isExternal = ended?.session.amr.includes(FEDERATED) === true
  const there = isExternal ? await env.signOutThere(context, ended.session, request) : undefined
  context.signedOut()
  const clients = await Promise.all((ended?.clientIds ?? []).map((id) => env.clients.find(id)))
  const frames = clients.flatMap((client) =>
    client?.frontchannelLogoutUri === undefined || client.disabled || ended === undefined
      ? []
      : [addParameters(client.frontchannelLogoutUri, { iss: env.issuer.name, sid: ended.session.id }, 'query')],
  )
  const asking = clientId === undefined ? undefined : await env.clients.find(clientId)
  // No redirect to a client that was disabled after the request.
  const next = asking === undefined || asking.disabled ? undefined : wanted
  if (next !== undefined && frames.length === 0 && there === undefined) {
    context.http.setHeader('cache-control', 'no-store')
    return context.http.redirect(next)
  }
  const page = signedOutPage(frameFor(env.pages, context, { uiLocales }), {
    frames,
    next: there === undefined ? onward(next, asking) : { url: there.url, client: there.name },
    isOnward: there !== undefined,
    waitSeconds: FRAMES_SECONDS,
  })
  return sendPage(context.http, page, {
    frames: frames.flatMap((uri) => cspSource(uri) ?? []),
    ...(next === undefined && there === undefined ? {} : { scripts: "'self'" }),
  })
}

function onward(url: string | undefined, client: Client | undefined) {
  return url === undefined ? undefined : { url, client: client?.name ?? '' }
}
