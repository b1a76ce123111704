/** The pages on which a person chooses an account and decides what an application may have. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Client } from '../../store/client-metadata.ts'
import type { Step } from '../authorize/next-step.ts'
import { displayNameOf } from '../claims.ts'
import { chooseAccountPage, consentPage } from '../pages/consent.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired, type FlowInteraction, noteProgress } from './flow.ts'
import { addressesOf, frameFor, sendPage } from './page-reply.ts'
import { type AuthorizeFlow, proceed, refuseToClient, stepOf } from './proceed.ts'
import { openVisit, type Visit } from './visit.ts'

export function registerConsent(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/consent', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const flow = await claimFlow(queryParameters(request).get('flow'), visit, env.flows)
    const asked = await standing(visit, flow, env)
    if (asked.step.kind !== 'consent') return proceed(visit, flow, env)
    await noteProgress(flow, { asked: asked.userId }, env.flows)
    return showConsent(visit, flow.handle, asked, asked.step.scopes, env)
  })
  app.post('/consent', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const flow = await claimFlow(form.get('flow'), visit, env.flows)
    return decide(visit, flow, form, env)
  })
  app.get('/choose-account', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const flow = await claimFlow(queryParameters(request).get('flow'), visit, env.flows)
    const { step, client, details } = await standing(visit, flow, env)
    if (step.kind !== 'choose-account' || visit.user === undefined) return proceed(visit, flow, env)
    const frame = frameFor(env.pages, visit, { uiLocales: details.request.uiLocales, boundTo: 'session' })
    const page = chooseAccountPage(frame, {
      flow: flow.handle,
      client: client.name,
      username: displayNameOf(visit.user),
    })
    return sendPage(reply, page, { formAction: addressesOf(client, details.request.target.redirectUri) })
  })
  app.post('/choose-account', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const flow = await claimFlow(form.get('flow'), visit, env.flows)
    if (form.get('decision') !== 'continue')
      return reply.redirect(`${env.pages.base}/sign-in?other=1&flow=${encodeURIComponent(flow.handle)}`, 303)
    return proceed(visit, await noteProgress(flow, { chosen: visit.session?.id ?? '' }, env.flows), env)
  })
}

interface Standing {
  readonly step: Step
  readonly client: Client
  readonly details: AuthorizeFlow
  readonly userId: string
}

/** Where the request stands now, whatever it was when the page was made. */
async function standing(visit: Visit, { details }: FlowInteraction, env: BrowserEnv): Promise<Standing> {
  if (details.kind !== 'authorize') throw expired()
  const client = await env.clients.find(details.request.clientId)
  if (client === undefined || client.disabled) throw expired()
  return { step: await stepOf(visit, details, client, env), client, details, userId: visit.user?.id ?? '' }
}

function showConsent(
  visit: Visit,
  flow: string,
  { client, details }: Standing,
  scopes: readonly string[],
  env: BrowserEnv,
): FastifyReply {
  const { uiLocales, target } = details.request
  const page = consentPage(frameFor(env.pages, visit, { uiLocales, boundTo: 'session' }), {
    flow,
    client: client.name,
    username: visit.user === undefined ? '' : displayNameOf(visit.user),
    scopes,
    returnsTo: hostOf(target.redirectUri),
  })
  return sendPage(visit.reply, page, { formAction: addressesOf(client, target.redirectUri) })
}

async function decide(visit: Visit, flow: FlowInteraction, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { step, client, details, userId } = await standing(visit, flow, env)
  // Somebody else has signed in since, or nothing is left to decide: the request goes on from where it stands.
  if (step.kind !== 'consent' || details.progress.asked !== userId) return proceed(visit, flow, env)
  const allowed = form.get('decision') === 'allow'
  if (allowed && !namesAll(form, step.scopes)) return proceed(visit, flow, env)
  const facts = {
    actor: userId,
    client: client.id,
    address: visit.request.ip,
    requestId: visit.request.id,
    details: { scope: step.scopes },
  }
  if (allowed) {
    await env.consents.allow(userId, client.id, step.scopes)
    env.audit.record({ event: 'consent.granted', ...facts })
    return proceed(visit, await noteProgress(flow, { consented: userId }, env.flows), env)
  }
  if (!(await env.flows.finish(flow.handle))) throw expired()
  env.audit.record({ event: 'consent.refused', ...facts })
  return refuseToClient(visit, client, details.request, 'access_denied', 'The person declined', env)
}

/** Whether the page that the form comes from named all of them: a person may have been given more rights since it was made. */
export function namesAll(form: Parameters, scopes: readonly string[]): boolean {
  const named = (form.get('scope') ?? '').split(' ')
  return scopes.every((scope) => named.includes(scope))
}

/** What a person can recognise: the host, or the scheme of an application on their device. */
function hostOf(uri: string): string {
  const url = URL.parse(uri)
  return url === null || url.host === '' ? (uri.split(':', 1)[0] ?? uri) : url.host
}
