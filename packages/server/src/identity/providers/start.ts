/** `/external/{id}/start`, and the other ways to a provider: sends the browser there. */
import { Refusal } from 'gatehouse-protocol'
import type { FormParameters } from '../../http/request/body.ts'
import { newSecret } from '../../store/keys/opaque.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import { type BrowserContext, isSignedIn } from '../browser/browser-context.ts'
import { beginFlow, claimFlow, type Flow, type FlowInteraction } from '../browser/flow.ts'
import { frameFor, sendPage } from '../browser/page-reply.ts'
import { redirectedFirst } from '../browser/proceed.ts'
import { isFresh } from '../browser/sign-in/factor-set-up.ts'
import { providerStart } from '../browser/sign-in/sign-in.ts'
import { leavePage } from '../pages/sign-in.ts'
import type { SignInRequest } from './connector.ts'
import { openConnector } from './connectors.ts'
import type { ProvidersEnv } from './env.ts'
import { answeringFaults } from './error-page.ts'
import { keepStarted, type Purpose } from './started-sign-in.ts'

export async function startSignIn(context: BrowserContext, query: FormParameters, env: ProvidersEnv): Promise<void> {
  const provider = findProvider(context, env)
  const flow = await claimFlow(query.get('flow'), context, env.flows)
  return leave(context, provider, flow, readPurpose(flow, context), query.get('login_hint'), env)
}

/** The form on the page of a set-up link: an address that somebody merely follows takes up nothing. */
export async function startInvitation(context: BrowserContext, form: FormParameters, env: ProvidersEnv): Promise<void> {
  const provider = findProvider(context, env)
  const flow = await beginFlow(TO_ACCOUNT, context, env.flows)
  const purpose: Purpose = { kind: 'invitation', token: form.get('token') ?? '' }
  return answeringFaults(context, provider, flow.handle, env, async () => {
    const url = await begin(context, provider, flow, purpose, undefined, env)
    sendPage(context.http, leavePage(frameFor(env.pages, context), { name: provider.name, url }))
  })
}

const TO_ACCOUNT: Flow = { kind: 'own', page: { name: 'account' }, progress: {} }

function readPurpose({ details }: FlowInteraction, { session }: BrowserContext): Purpose {
  const { linking } = details.progress
  if (linking === undefined || session === undefined || linking !== session.id) return { kind: 'sign-in' }
  return { kind: 'link', session: session.id }
}

/** The form on the account page. An unattended browser must not be enough to add a way in. */
export async function startLinking(context: BrowserContext, _form: FormParameters, env: ProvidersEnv): Promise<void> {
  const { id, name } = findProvider(context, env)
  const needs = { fresh: !isFresh(context, env), secondFactor: context.user?.hasSecondFactor === true }
  if (await redirectedFirst(context, { name: 'security' }, needs, env)) return
  if (!isSignedIn(context)) return
  const flow = await beginFlow(
    { kind: 'own', page: { name: 'security' }, progress: { linking: context.session.id } },
    context,
    env.flows,
  )
  // A form must not be answered with a redirect to another origin, which its page does not know.
  sendPage(
    context.http,
    leavePage(frameFor(env.pages, context), { name, url: providerStart(id, flow.handle, undefined, env) }),
  )
}

/** For administrators, also while the provider is disabled for everybody else. */
export async function startTrial(context: BrowserContext, _query: FormParameters, env: ProvidersEnv): Promise<void> {
  const provider = env.providers.findAny(context.http.param('id')) ?? notFound()
  if (await redirectedFirst(context, { name: 'console' }, {}, env)) return
  if (!isSignedIn(context) || !context.user.rights.has('Identity/Admin'))
    throw new Refusal('access.insufficient_scope', 403, 'A trial sign-in needs the right Identity/Admin')
  const flow = await beginFlow({ kind: 'own', page: { name: 'console' }, progress: {} }, context, env.flows)
  return leave(context, provider, flow, { kind: 'trial', session: context.session.id }, undefined, env)
}

function leave(
  context: BrowserContext,
  provider: StoredProvider,
  flow: FlowInteraction,
  purpose: Purpose,
  hint: string | undefined,
  env: ProvidersEnv,
): Promise<void> {
  return answeringFaults(context, provider, flow.handle, env, async () => {
    const url = await begin(context, provider, flow, purpose, hint, env)
    context.http.setHeader('cache-control', 'no-store')
    context.http.redirect(url)
  })
}

/** Returns the address to which the browser goes. */
async function begin(
  context: BrowserContext,
  provider: StoredProvider,
  flow: FlowInteraction,
  purpose: Purpose,
  hint: string | undefined,
  env: ProvidersEnv,
): Promise<string> {
  const request = { state: newSecret(), ...askedBy(flow, purpose, hint) }
  const url = await openConnector(provider, env).signInUrl(request)
  const owner = { provider: provider.id, browser: context.browser() }
  await keepStarted({ flow: flow.handle, purpose, maxAge: request.maxAge }, request.state, owner, env)
  return url
}

/** `prompt=none` never comes here: it is decided without a page. */
function askedBy(
  { details }: FlowInteraction,
  purpose: Purpose,
  hint: string | undefined,
): Omit<SignInRequest, 'state'> {
  if (details.kind === 'authorize') {
    const { prompt, maxAge, loginHint, uiLocales } = details.request
    return { again: prompt.includes('login'), maxAge, loginHint: hint ?? loginHint, uiLocales }
  }
  const isFreshNeeded = details.kind === 'own' && details.needs?.fresh === true
  return {
    again: isFreshNeeded || purpose.kind === 'link',
    maxAge: undefined,
    loginHint: hint,
    uiLocales: undefined,
  }
}

export function findProvider({ http }: BrowserContext, { providers }: ProvidersEnv): StoredProvider {
  return providers.find(http.param('id')) ?? notFound()
}

function notFound(): never {
  throw new Refusal('http.not_found', 404, 'There is no such provider')
}
