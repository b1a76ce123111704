/** Continues an interaction: shows the next page it needs, or completes it. */

import { logFailure } from '../../http/problem.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { isForAgents } from '../apis/targets.ts'
import type { AuthorizationError } from '../authorize/authorization-error.ts'
import { nextStep, type Step } from '../authorize/next-step.ts'
import { reopenPushed, spendPushed } from '../authorize/pushed-request.ts'
import type { AuthorizationRequest, Target } from '../authorize/request.ts'
import { type AuthorizationResponse, deliver, respond } from '../authorize/response.ts'
import { printable } from '../oauth-error.ts'
import { FORM_POST_SCRIPT_SOURCE, formPostPage } from '../pages/form-post.ts'
import { deriveAcr, FEDERATED, MULTI_FACTOR } from '../tokens/claims.ts'
import type { BrowserContext } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import {
  beginFlow,
  expired,
  type Flow,
  noteProgress,
  type OwnNeeds,
  type OwnPage,
  ownPagePath,
  type SignInProgress,
} from './flow.ts'
import { formActionSources, frameFor, sendPage } from './page-reply.ts'
import { findRequestClient } from './request-client.ts'

/** A flow, with its handle once it is stored. */
export interface FlowState<Details extends Flow = Flow> {
  readonly handle: string | undefined
  readonly details: Details
}

export type AuthorizeFlow = Extract<Flow, { kind: 'authorize' }>
export type OwnFlow = Extract<Flow, { kind: 'own' }>

export async function proceed(context: BrowserContext, state: FlowState, env: BrowserEnv): Promise<void> {
  const { details, handle } = state
  switch (details.kind) {
    case 'authorize':
      return proceedToClient(context, { handle, details }, env)
    case 'own': {
      const step = ownStep(context, details, env.clock())
      if (step !== undefined) return show(step, context, state, env)
      if (handle !== undefined && isToBeLinked(context, details.progress, env))
        return askToLink(context, handle, details.progress, env)
      if (handle !== undefined) await env.flows.finish(handle)
      return context.http.redirect(`${env.pages.base}${ownPagePath(details.page)}`)
    }
    case 'sign-out':
      return context.http.redirect(`${env.pages.base}/sign-out?flow=${encodeURIComponent(handle ?? '')}`)
  }
}

async function proceedToClient(
  context: BrowserContext,
  state: FlowState<AuthorizeFlow>,
  env: BrowserEnv,
): Promise<void> {
  const { request } = state.details
  const client = await findRequestClient(request, env)
  if (client === undefined || client.disabled) throw expired()
  try {
    const step = await findStep(context, state.details, client, env)
    const isLast = step.kind === 'respond' || step.kind === 'consent'
    if (isLast && state.handle !== undefined && isToBeLinked(context, state.details.progress, env))
      return askToLink(context, state.handle, state.details.progress, env)
    if (step.kind === 'respond') {
      await close(state, env)
      await spendPushed(request, env)
      const { address, id: requestId } = context.http
      const isStillGranted = async () =>
        (await findStep(await lookAgain(context, env), state.details, client, env)).kind === 'respond'
      const answer = await respond({ ...step, request, client, address, requestId, isStillGranted }, env)
      if (answer !== undefined) return await send(context, client, request.target, answer, request.uiLocales, env)
      await reopenPushed(request, env)
      return await proceedToClient(await lookAgain(context, env), { ...state, handle: undefined }, env)
    }
    if (step.kind === 'refuse') {
      await close(state, env)
      return await refuseToClient(context, client, request, step.error, step.text, env)
    }
    return await show(step, context, state, env)
  } catch (error) {
    return answerFault(error, context, client, request, env)
  }
}

const PENDING_KEEPS_MS = 10 * 60_000

/** The person proved an identity at a provider in this flow, and has signed in here since. */
export function isToBeLinked(
  { session }: BrowserContext,
  { identity, signedIn }: SignInProgress,
  { clock }: Pick<BrowserEnv, 'clock'>,
): boolean {
  if (identity === undefined || session === undefined || clock() - identity.at > PENDING_KEEPS_MS) return false
  return signedIn === session.id || identity.session === session.id
}

function askToLink({ http }: BrowserContext, flow: string, { identity }: SignInProgress, env: BrowserEnv): void {
  const provider = encodeURIComponent(identity?.provider ?? '')
  http.redirect(`${env.pages.base}/external/${provider}/confirm?flow=${encodeURIComponent(flow)}`)
}

/** The same context with the current session and user. */
async function lookAgain(context: BrowserContext, env: BrowserEnv): Promise<BrowserContext> {
  const [session, user] = await Promise.all([
    context.session && env.sessions.findById(context.session.id),
    context.user && env.users.findById(context.user.id),
  ])
  const isOver = session === undefined || user === undefined || user.disabled
  return isOver ? { ...context, session: undefined, user: undefined } : { ...context, session, user }
}

/** B-13: server errors are reported to the client. Refusals, and errors after the reply, are rethrown. */
export async function answerFault(
  error: unknown,
  context: BrowserContext,
  client: Client,
  { target, uiLocales, pushed }: Pick<AuthorizationRequest, 'target' | 'uiLocales' | 'pushed'>,
  env: BrowserEnv,
): Promise<void> {
  if (context.http.isReplied || isRefusal(error)) throw error
  // If the database is not available, the request_uri can be opened again until it expires.
  await spendPushed({ pushed }, env).catch(() => {})
  const outage = logFailure(context.http, error)
  const answer: AuthorizationResponse =
    outage === undefined
      ? { error: 'server_error', error_description: 'The server failed to answer' }
      : { error: 'temporarily_unavailable', error_description: printable(outage.message) }
  return send(context, client, target, answer, uiLocales, env)
}

export async function findStep(
  { session, user }: BrowserContext,
  { request, progress }: AuthorizeFlow,
  client: Client,
  env: BrowserEnv,
): Promise<Step> {
  const consent = user === undefined ? undefined : await env.consents.find(user.id, client.id)
  const isOfAgents = isForAgents(request.audiences, env.apis.known())
  return nextStep({
    request,
    client,
    session,
    user,
    progress,
    consent,
    attributes: env.attributes.claims(),
    isOfAgents,
    now: env.clock(),
  })
}

/** Our own pages need a session, two factors if a role or a client requires them, and no pending password change. */
function ownStep({ user, session }: BrowserContext, { needs, progress }: OwnFlow, now: number): Step | undefined {
  if (user === undefined || session === undefined) return { kind: 'sign-in', again: false }
  if (needs?.fresh === true && progress.signedIn !== session.id) return { kind: 'sign-in', again: true }
  const isOld = needs?.age !== undefined && now - session.authTime > needs.age * 1000
  if (isOld && progress.signedIn !== session.id) return { kind: 'sign-in', again: true }
  const demanded = user.requiresSecondFactor || needs?.secondFactor === true
  if (demanded && deriveAcr(session.amr) !== MULTI_FACTOR)
    return { kind: user.hasSecondFactor ? 'second-factor' : 'set-up-factor' }
  return user.mustChangePassword && !session.amr.includes(FEDERATED) ? { kind: 'change-password' } : undefined
}

/** Redirects to what the page needs first; false when nothing is missing and the page can be shown. */
export async function redirectedFirst(
  context: BrowserContext,
  page: OwnPage,
  needs: OwnNeeds,
  env: BrowserEnv,
): Promise<boolean> {
  const details: OwnFlow = { kind: 'own', page, needs, progress: {} }
  const step = ownStep(context, details, env.clock())
  if (step === undefined) return false
  await show(step, context, { handle: undefined, details }, env)
  return true
}

const PAGES: Readonly<Record<Exclude<Step['kind'], 'respond' | 'refuse'>, string>> = {
  'sign-in': '/sign-in',
  'second-factor': '/second-factor',
  'set-up-factor': '/set-up-factor',
  'change-password': '/change-password',
  'choose-account': '/choose-account',
  consent: '/consent',
}

async function show(step: Step, context: BrowserContext, state: FlowState, env: BrowserEnv): Promise<void> {
  if (step.kind === 'respond' || step.kind === 'refuse') throw new Error(`No page shows the step ${step.kind}`)
  const { user, session } = context
  // A session without the second factor is a sign-in to be completed.
  const half =
    step.kind === 'second-factor' && user !== undefined
      ? { userId: user.id, amr: session?.amr ?? [], at: env.clock(), authTime: session?.authTime }
      : undefined
  const handle = await keep(context, state, half === undefined ? {} : { half }, env)
  return context.http.redirect(`${env.pages.base}${PAGES[step.kind]}?flow=${encodeURIComponent(handle)}`)
}

async function keep(
  context: BrowserContext,
  { handle, details }: FlowState,
  progress: SignInProgress,
  env: BrowserEnv,
): Promise<string> {
  if (handle === undefined) {
    const begun = { ...details, progress: { ...details.progress, ...progress } }
    return (await beginFlow(begun, context, env.flows)).handle
  }
  await noteProgress({ handle, details }, progress, env.flows)
  return handle
}

/** A second request, by the back button or a double click, fails (C-117). */
async function close({ handle }: FlowState, env: BrowserEnv): Promise<void> {
  if (handle !== undefined && !(await env.flows.finish(handle))) throw expired()
}

export async function refuseToClient(
  context: BrowserContext,
  client: Client,
  {
    target,
    responseType,
    uiLocales,
    pushed,
  }: Pick<AuthorizationRequest, 'target' | 'uiLocales' | 'pushed'> & { responseType?: string | undefined },
  error: AuthorizationError,
  text: string,
  env: BrowserEnv,
): Promise<void> {
  await spendPushed({ pushed }, env)
  // prompt=none asks whether somebody is signed in, without showing a page. This is not a refusal.
  if (error !== 'login_required')
    env.audit.record({
      event: 'authorization.refused',
      actor: context.user?.id,
      client: client.id,
      address: context.http.address,
      requestId: context.http.id,
      details: { error, reason: text, response_type: responseType },
    })
  return send(context, client, target, { error, error_description: printable(text) }, uiLocales, env)
}

async function send(
  context: BrowserContext,
  client: Client,
  target: Target,
  answer: AuthorizationResponse,
  uiLocales: string | undefined,
  env: BrowserEnv,
): Promise<void> {
  const delivery = await deliver(target, client, env.issuer, answer)
  context.http.setHeader('cache-control', 'no-store')
  if (delivery.kind === 'redirect') return context.http.redirect(delivery.url)
  const page = formPostPage(frameFor(env.pages, context, { uiLocales }), { ...delivery, client: client.name })
  return sendPage(context.http, page, {
    scripts: FORM_POST_SCRIPT_SOURCE,
    formAction: formActionSources(client, target.redirectUri),
  })
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'Refusal'
}
