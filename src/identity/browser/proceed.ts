/** Takes a browser on: to the next page that must be shown, or back to where it wanted to go. */
import type { FastifyReply } from 'fastify'
import type { Client } from '../../store/client-metadata.ts'
import { isUnavailable } from '../../store/unavailable.ts'
import { acrOf, MULTI_FACTOR } from '../acr.ts'
import { type Answer, deliver } from '../authorize/deliver.ts'
import { nextStep, type Step } from '../authorize/next-step.ts'
import type { AuthorizationError } from '../authorize/refuse.ts'
import type { AuthorizationRequest, Target } from '../authorize/request.ts'
import { respond } from '../authorize/respond.ts'
import { printable } from '../oauth-error.ts'
import { FORM_POST_SCRIPT_SOURCE, formPostPage } from '../pages/form-post.ts'
import type { BrowserEnv } from './env.ts'
import { expired, type Flow, noteProgress, type OwnNeeds, type OwnPage, pathOf, type SignInProgress } from './flow.ts'
import { addressesOf, frameFor, sendPage } from './page-reply.ts'
import type { Visit } from './visit.ts'

/** A flow, and its handle once a page needed one. */
export interface Course<Details extends Flow = Flow> {
  readonly handle: string | undefined
  readonly details: Details
}

export type AuthorizeFlow = Extract<Flow, { kind: 'authorize' }>
export type OwnFlow = Extract<Flow, { kind: 'own' }>

export async function proceed(visit: Visit, course: Course, env: BrowserEnv): Promise<FastifyReply> {
  const { details, handle } = course
  switch (details.kind) {
    case 'authorize':
      return proceedToClient(visit, { handle, details }, env)
    case 'own': {
      const step = ownStep(visit, details)
      if (step !== undefined) return show(step, visit, course, env)
      if (handle !== undefined) await env.flows.finish(handle)
      return visit.reply.redirect(`${env.pages.base}${pathOf(details.page)}`, 303)
    }
    case 'sign-out':
      return visit.reply.redirect(`${env.pages.base}/sign-out?flow=${encodeURIComponent(handle ?? '')}`, 303)
  }
}

async function proceedToClient(visit: Visit, course: Course<AuthorizeFlow>, env: BrowserEnv): Promise<FastifyReply> {
  const { request } = course.details
  const client = await env.clients.find(request.clientId)
  if (client === undefined || client.disabled) throw expired()
  try {
    const step = await stepOf(visit, course.details, client, env)
    if (step.kind === 'respond') {
      await close(course, env)
      const { ip: address, id: requestId } = visit.request
      const stillStands = async () =>
        (await stepOf(await lookAgain(visit, env), course.details, client, env)).kind === 'respond'
      const answer = await respond({ ...step, request, client, address, requestId, stillStands }, env)
      if (answer !== undefined) return await send(visit, client, request.target, answer, request.uiLocales, env)
      return await proceedToClient(await lookAgain(visit, env), { ...course, handle: undefined }, env)
    }
    if (step.kind === 'refuse') {
      await close(course, env)
      return await refuseToClient(visit, client, request, step.error, step.text, env)
    }
    return await show(step, visit, course, env)
  } catch (error) {
    return answerFault(error, visit, client, request, env)
  }
}

/** The same visit, with its session and user as they are by now. */
async function lookAgain(visit: Visit, env: BrowserEnv): Promise<Visit> {
  const [session, user] = await Promise.all([
    visit.session && env.sessions.findById(visit.session.id),
    visit.user && env.users.findById(visit.user.id),
  ])
  const isOver = session === undefined || user === undefined || user.disabled
  return isOver ? { ...visit, session: undefined, user: undefined } : { ...visit, session, user }
}

/** B-13: the client is waiting and can be told. What is a refusal, or comes after the answer, is not ours to tell. */
export function answerFault(
  error: unknown,
  visit: Visit,
  client: Client,
  { target, uiLocales }: Pick<AuthorizationRequest, 'target' | 'uiLocales'>,
  env: BrowserEnv,
): Promise<FastifyReply> {
  if (visit.reply.sent || isRefusal(error)) throw error
  visit.request.log.error({ err: error }, 'failed')
  const answer: Answer = isUnavailable(error)
    ? { error: 'temporarily_unavailable', error_description: 'The server is too busy to answer, try again soon' }
    : { error: 'server_error', error_description: 'The server failed to answer' }
  return send(visit, client, target, answer, uiLocales, env)
}

export async function stepOf(
  { session, user }: Visit,
  { request, progress }: AuthorizeFlow,
  client: Client,
  env: BrowserEnv,
): Promise<Step> {
  const consent = user === undefined ? undefined : await env.consents.find(user.id, client.id)
  return nextStep({ request, client, session, user, progress, consent, now: env.clock() })
}

/** Our own pages want a session, and two factors of those whose role or device demands it. */
function ownStep({ user, session }: Visit, { needs, progress }: OwnFlow): Step | undefined {
  if (user === undefined || session === undefined) return { kind: 'sign-in', again: false }
  if (needs?.fresh === true && progress.signedIn !== session.id) return { kind: 'sign-in', again: true }
  const demanded = user.roleRequiresSecondFactor || needs?.secondFactor === true
  if (!demanded || acrOf(session.amr) === MULTI_FACTOR) return undefined
  return { kind: user.hasSecondFactor ? 'second-factor' : 'set-up-factor' }
}

/**
 * Takes the person to what the page needs first; false when nothing is missing and the page may be shown.
 * (A reply is a promise of its own to JavaScript, so it must not be what an awaited question answers.)
 */
export async function isLedAway(visit: Visit, page: OwnPage, needs: OwnNeeds, env: BrowserEnv): Promise<boolean> {
  const details: OwnFlow = { kind: 'own', page, needs, progress: {} }
  const step = ownStep(visit, details)
  if (step === undefined) return false
  await show(step, visit, { handle: undefined, details }, env)
  return true
}

const PAGES: Readonly<Record<Exclude<Step['kind'], 'respond' | 'refuse'>, string>> = {
  'sign-in': '/sign-in',
  'second-factor': '/second-factor',
  'set-up-factor': '/set-up-factor',
  'choose-account': '/choose-account',
  consent: '/consent',
}

async function show(step: Step, visit: Visit, course: Course, env: BrowserEnv): Promise<FastifyReply> {
  if (step.kind === 'respond' || step.kind === 'refuse') throw new Error(`No page shows the step ${step.kind}`)
  const { user, session } = visit
  // A session that lacks the second factor is half a sign-in, to be completed.
  const half =
    step.kind === 'second-factor' && user !== undefined
      ? { userId: user.id, amr: session?.amr ?? [], at: env.clock() }
      : undefined
  const handle = await keep(visit, course, half === undefined ? {} : { half }, env)
  return visit.reply.redirect(`${env.pages.base}${PAGES[step.kind]}?flow=${encodeURIComponent(handle)}`, 303)
}

async function keep(
  visit: Visit,
  { handle, details }: Course,
  progress: SignInProgress,
  env: BrowserEnv,
): Promise<string> {
  if (handle === undefined) {
    const begun = { ...details, progress: { ...details.progress, ...progress }, browser: visit.browser() }
    return (await env.flows.begin(begun)).handle
  }
  await noteProgress({ handle, details }, progress, env.flows)
  return handle
}

/** Whoever comes second, by the back button or a doubled click, finds it over (C-117). */
async function close({ handle }: Course, env: BrowserEnv): Promise<void> {
  if (handle !== undefined && !(await env.flows.finish(handle))) throw expired()
}

export function refuseToClient(
  visit: Visit,
  client: Client,
  {
    target,
    responseType,
    uiLocales,
  }: Pick<AuthorizationRequest, 'target' | 'uiLocales'> & { responseType?: string | undefined },
  error: AuthorizationError,
  text: string,
  env: BrowserEnv,
): Promise<FastifyReply> {
  env.audit.record({
    event: 'authorization.refused',
    actor: visit.user?.id,
    client: client.id,
    address: visit.request.ip,
    requestId: visit.request.id,
    details: { error, reason: text, response_type: responseType },
  })
  return send(visit, client, target, { error, error_description: printable(text) }, uiLocales, env)
}

async function send(
  visit: Visit,
  client: Client,
  target: Target,
  answer: Answer,
  uiLocales: string | undefined,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const delivery = deliver(target, env.issuer.name, answer)
  visit.reply.header('cache-control', 'no-store')
  if (delivery.kind === 'redirect') return visit.reply.redirect(delivery.url, 303)
  const page = formPostPage(frameFor(env.pages, visit, { uiLocales }), { ...delivery, client: client.name })
  return sendPage(visit.reply, page, {
    scripts: FORM_POST_SCRIPT_SOURCE,
    formAction: addressesOf(client, target.redirectUri),
  })
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'Refusal'
}
