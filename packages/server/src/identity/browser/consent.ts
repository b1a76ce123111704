/** The pages on which a person chooses an account and decides what an application may have. */
import { isRight } from 'gatehouse-protocol'
import type { FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { isForAgents } from '../apis/targets.ts'
import type { Step } from '../authorize/next-step.ts'
import { hostOrScheme } from '../authorize/target.ts'
import { chooseAccountPage, consentPage } from '../pages/consent.ts'
import { chooseDisplayName } from '../tokens/claims.ts'
import type { BrowserContext } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { expired, type FlowInteraction, noteProgress } from './flow.ts'
import { type FlowAction, flowForm, flowPage } from './flow-routes.ts'
import { formActionSources, frameFor, sendPage } from './page-reply.ts'
import { type AuthorizeFlow, findStep, proceed, refuseToClient } from './proceed.ts'
import { findRequestClient } from './request-client.ts'

export function consentRoutes(env: BrowserEnv): readonly Route[] {
  return [
    flowPage('/consent', openConsent, env),
    flowForm('/consent', 'session', decide, env),
    flowPage('/choose-account', openChoice, env),
    flowForm('/choose-account', 'session', choose, env),
  ]
}

const openConsent: FlowAction = async (context, flow, _query, env) => {
  const pending = await pendingRequest(context, flow, env)
  if (pending.step.kind !== 'consent') return proceed(context, flow, env)
  await noteProgress(flow, { asked: pending.userId }, env.flows)
  return showConsent(context, flow.handle, pending, pending.step.scopes, env)
}

const openChoice: FlowAction = async (context, flow, _query, env) => {
  const { step, client, details } = await pendingRequest(context, flow, env)
  if (step.kind !== 'choose-account' || context.user === undefined) return proceed(context, flow, env)
  const frame = frameFor(env.pages, context, { uiLocales: details.request.uiLocales, boundTo: 'session' })
  const username = chooseDisplayName(context.user)
  const page = chooseAccountPage(frame, { flow: flow.handle, client: client.name, username })
  return sendPage(context.http, page, { formAction: formActionSources(client, details.request.target.redirectUri) })
}

const choose: FlowAction = async (context, flow, form, env) => {
  if (form.get('decision') !== 'continue')
    return context.http.redirect(`${env.pages.base}/sign-in?other=1&flow=${encodeURIComponent(flow.handle)}`)
  return proceed(context, await noteProgress(flow, { chosen: context.session?.id ?? '' }, env.flows), env)
}

interface PendingRequest {
  readonly step: Step
  readonly client: Client
  readonly details: AuthorizeFlow
  readonly userId: string
}

/** The request as it is now, which may differ from when the page was shown. */
async function pendingRequest(
  context: BrowserContext,
  { details }: FlowInteraction,
  env: BrowserEnv,
): Promise<PendingRequest> {
  if (details.kind !== 'authorize') throw expired()
  const client = await findRequestClient(details.request, env)
  if (client === undefined || client.disabled) throw expired()
  return { step: await findStep(context, details, client, env), client, details, userId: context.user?.id ?? '' }
}

async function showConsent(
  context: BrowserContext,
  flow: string,
  { client, details }: PendingRequest,
  scopes: readonly string[],
  env: BrowserEnv,
): Promise<void> {
  const { uiLocales, target } = details.request
  if (isOfAgents(details, env)) {
    const { showAgentConsent } = await import('./agent-consent.ts')
    return showAgentConsent(context, { flow, client, request: details.request, scopes }, env)
  }
  const page = consentPage(frameFor(env.pages, context, { uiLocales, boundTo: 'session' }), {
    flow,
    client: client.name,
    username: context.user === undefined ? '' : chooseDisplayName(context.user),
    scopes,
    returnsTo: hostOrScheme(target.redirectUri),
  })
  sendPage(context.http, page, { formAction: formActionSources(client, target.redirectUri) })
}

const decide: FlowAction = async (context, flow, form, env) => {
  const { step, client, details, userId } = await pendingRequest(context, flow, env)
  // Another person has signed in since, or nothing is left to decide: continue with the current state.
  if (step.kind !== 'consent' || details.progress.asked !== userId) return proceed(context, flow, env)
  const allowed = form.get('decision') === 'allow'
  if (allowed && !namesAll(form, step.scopes)) return proceed(context, flow, env)
  const chosen = isOfAgents(details, env) ? chosenScopes(form, step.scopes) : undefined
  if (allowed && chosen?.length === 0) {
    const { showAgentConsent } = await import('./agent-consent.ts')
    const asked = { flow: flow.handle, client, request: details.request, scopes: step.scopes, isNothingChosen: true }
    return showAgentConsent(context, asked, env)
  }
  const scopes = step.scopes.filter((scope) => !isRight(scope) || chosen?.includes(scope) !== false)
  const facts = {
    actor: userId,
    client: client.id,
    address: context.http.address,
    requestId: context.http.id,
    details: { scope: allowed ? scopes : step.scopes },
  }
  if (allowed) {
    const { document } = details.request
    if (document !== undefined) await env.agents?.keep(document)
    if (chosen === undefined || client.agent) await env.consents.allow(userId, client.id, scopes)
    env.audit.record({ event: 'consent.granted', ...facts })
    const progress = { consented: userId, ...(chosen && { allowed: chosen }) }
    return proceed(context, await noteProgress(flow, progress, env.flows), env)
  }
  if (!(await env.flows.finish(flow.handle))) throw expired()
  env.audit.record({ event: 'consent.refused', ...facts })
  return refuseToClient(context, client, details.request, 'access_denied', 'The request was denied', env)
}

/** Whether the page showed all of these scopes: the person may have been given more since. */
export function namesAll(form: FormParameters, scopes: readonly string[]): boolean {
  const named = (form.get('scope') ?? '').split(' ')
  return scopes.every((scope) => named.includes(scope))
}

function isOfAgents({ request }: AuthorizeFlow, { apis }: Pick<BrowserEnv, 'apis'>): boolean {
  return isForAgents(request.audiences, apis.known())
}

/** The rights that the person left ticked. */
function chosenScopes(form: FormParameters, shown: readonly string[]): readonly string[] {
  const ticked = form.all('allow')
  return shown.filter((scope) => isRight(scope) && ticked.includes(scope))
}
