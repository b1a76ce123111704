/** The sign-in page: a password or a passkey, then the second factor where there is one. */

import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { User } from '../../../store/accounts/user.ts'
import type { Client } from '../../../store/clients/client-metadata.ts'
import type { Provider } from '../../../store/providers/providers.ts'
import type { AuthorizationRequest } from '../../authorize/request.ts'
import { checkPasskey, passkeyChallenge } from '../../factors/passkeys.ts'
import { leavePage, signInPage } from '../../pages/sign-in.ts'
import { FEDERATED } from '../../tokens/claims.ts'
import { type BrowserContext, pageRoute } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import {
  beginFlow,
  claimFlow,
  type ExternalSignIn,
  expired,
  type Flow,
  type FlowInteraction,
  type HalfSignedIn,
  noteProgress,
  spendChallenge,
} from '../flow.ts'
import { type FlowAction, flowForm, flowPage } from '../flow-routes.ts'
import { answerHead, type FormErrorIn, frameOfFlow, replyLater, sendPage } from '../page-reply.ts'
import { proceed, refuseToClient } from '../proceed.ts'
import { findRequestClient } from '../request-client.ts'
import { endSession } from '../sign-out/session-end.ts'
import { meetBrowser, readOrigin } from './known-browser.ts'

export function signInRoutes(env: BrowserEnv): readonly Route[] {
  return [
    pageRoute('/sign-in', openSignIn, env),
    flowForm('/sign-in', 'browser', takeSignIn, env),
    flowForm('/sign-in/passkey', 'browser', signInByPasskey, env),
    { ...flowPage('/continue', (context, flow) => proceed(context, flow, env), env), head: answerHead },
  ]
}

async function openSignIn(context: BrowserContext, query: FormParameters, env: BrowserEnv): Promise<void> {
  const handle = query.get('flow')
  const isLocal = isLocalAsked(query)
  // Opened by hand or from a bookmark: continue to the account page.
  const toAccount: Flow = { kind: 'own', page: { name: 'account' }, progress: {} }
  if (handle === undefined && !isLocal) return proceed(context, { handle, details: toAccount }, env)
  const flow =
    handle === undefined ? await beginFlow(toAccount, context, env.flows) : await claimFlow(handle, context, env.flows)
  if (query.get('other') !== undefined) return showSignIn(context, flow, env, { username: '', isLocal })
  const hint = flow.details.kind === 'authorize' ? flow.details.request.loginHint : undefined
  const provider = isLocal || hint === undefined ? undefined : env.providers.forName(hint)
  if (provider !== undefined) return context.http.redirect(providerStart(provider.id, flow.handle, hint, env))
  return showSignIn(context, flow, env, { isLocal })
}

/** `/sign-in?local`: with a password, whatever the name. */
function isLocalAsked(parameters: FormParameters): boolean {
  return [...parameters.names()].includes('local')
}

/** The address that leads to another provider. */
export function providerStart(provider: string, flow: string, hint: string | undefined, { pages }: BrowserEnv): string {
  const search = new URLSearchParams({ flow, ...(hint !== undefined && { login_hint: hint }) })
  return `${pages.base}/external/${encodeURIComponent(provider)}/start?${search}`
}

/** What the page shows after an error. */
interface Shown {
  readonly status?: number
  /** Empty to sign in as another person. */
  readonly username?: string | undefined
  readonly error?: FormErrorIn
  /** A password is asked for, also where providers are preferred. */
  readonly isLocal?: boolean
}

async function showSignIn(
  context: BrowserContext,
  flow: FlowInteraction,
  env: BrowserEnv,
  shown: Shown = {},
): Promise<void> {
  const { details } = flow
  const { frame, request, client, formAction } = await frameOfFlow(context, flow, 'browser', env)
  const { options, challenge } = await passkeyChallenge(env.issuer.name)
  await noteProgress(flow, { challenge }, env.flows)
  const username = shown.username ?? request?.loginHint ?? context.user?.username ?? ''
  const page = signInPage(frame, {
    flow: flow.handle,
    client: client?.name,
    linking: details.progress.identity && env.providers.findName(details.progress.identity.provider),
    isDevice: details.kind === 'own' && details.page.name === 'device',
    username: username === '' ? undefined : username,
    formError: shown.error?.(frame.language.messages),
    again: context.user !== undefined && shown.username !== '',
    passkeyOptions: options,
    isReplaceable: env.providers.localSignIn === 'all',
    hasMail: env.mail !== undefined,
    isLocal: shown.isLocal === true,
    hasPassword: shown.isLocal === true || env.providers.localSignIn === 'all',
    isPasswordOptional: shown.isLocal !== true && env.providers.hasDomains(),
    // Not the one that was just used: it would lead to the same page again.
    providers: env.providers
      .list()
      .filter(({ id }) => id !== details.progress.identity?.provider)
      .map(({ id, name }) => ({ name, url: providerStart(id, flow.handle, request?.loginHint, env) })),
  })
  return sendPage(context.http, page, {
    status: shown.status ?? 200,
    scripts: "'self'",
    formAction,
  })
}

const takeSignIn: FlowAction = async (context, flow, form, env) =>
  form.get('action') === 'cancel' ? cancel(context, flow, env) : signInByPassword(context, flow, form, env)

const signInByPassword: FlowAction = async (context, flow, form, env) => {
  const username = form.get('username')
  const password = form.get('password')
  const isLocal = isLocalAsked(form)
  const provider = isLocal || username === undefined ? undefined : env.providers.forName(username)
  if (provider !== undefined) return leaveFor(context, flow, provider, username, env)
  if (username === undefined || password === undefined) {
    const field = username === undefined ? 'username' : 'password'
    return showSignIn(context, flow, env, {
      ...{ status: 400, username, isLocal },
      error: (text) => ({ text: text.required, field }),
    })
  }
  const verdict = await env.checkPassword({
    username,
    password,
    address: context.http.address,
    clientId: flowClientId(flow),
    requestId: context.http.id,
  })
  switch (verdict.outcome) {
    case 'good':
      return passFirstFactor(context, flow, verdict.user, ['pwd'], env)
    case 'wrong':
      return showSignIn(context, flow, env, {
        ...{ status: 401, username, isLocal },
        error: (text) => ({ text: text.wrongCredentials, field: 'password' }),
      })
    case 'delayed':
    case 'busy':
      return showSignIn(context, flow, env, { username, isLocal, ...replyLater(context.http, verdict) })
  }
}

/** A form must not be answered with a redirect to another origin, which its page does not know. */
async function leaveFor(
  context: BrowserContext,
  flow: FlowInteraction,
  { id, name }: Pick<Provider, 'id' | 'name'>,
  hint: string | undefined,
  env: BrowserEnv,
): Promise<void> {
  const { frame } = await frameOfFlow(context, flow, 'browser', env)
  sendPage(context.http, leavePage(frame, { name, url: providerStart(id, flow.handle, hint, env) }))
}

/** A passkey with user verification counts as two factors. */
const signInByPasskey: FlowAction = async (context, flow, form, env) => {
  const { challenge, flow: noted } = await spendChallenge(flow, env.flows)
  const found = await checkPasskey({ credential: form.get('credential'), challenge, userId: undefined }, env)
  const user = found !== undefined && env.providers.maySignInLocally(found) ? found : undefined
  env.metrics.count('gatehouse_signins_total', { method: 'passkey', outcome: user === undefined ? 'wrong' : 'good' })
  if (user === undefined) {
    env.audit.record({
      event: 'signin.refused',
      client: flowClientId(flow),
      address: context.http.address,
      requestId: context.http.id,
      details: { reason: 'passkey', methods: ['pop'] },
    })
    return showSignIn(context, noted, env, { status: 401, error: (text) => ({ text: text.passkeyFailed }) })
  }
  return passFirstFactor(context, noted, user, ['pop', 'user', 'mfa'], env)
}

/** Continues with the second factor if the user has one; otherwise completes the sign-in. */
export async function passFirstFactor(
  context: BrowserContext,
  flow: FlowInteraction,
  user: User,
  amr: readonly string[],
  env: BrowserEnv,
  external?: ExternalSignIn,
): Promise<void> {
  if (!user.hasSecondFactor || amr.includes('mfa')) return completeSignIn(context, flow, user, amr, env, external)
  await noteProgress(flow, { half: { userId: user.id, amr, at: env.clock(), external } }, env.flows)
  return context.http.redirect(`${env.pages.base}/second-factor?flow=${encodeURIComponent(flow.handle)}`)
}

/** Every sign-in sets a new session cookie (C-04); another person's session in this browser ends. */
export async function completeSignIn(
  context: BrowserContext,
  flow: FlowInteraction,
  user: User,
  amr: readonly string[],
  env: BrowserEnv,
  first: ExternalSignIn | Pick<HalfSignedIn, 'authTime'> = {},
): Promise<void> {
  const { session } = context
  const external = 'provider' in first ? first : undefined
  await meetBrowser(context, user, env)
  if (session !== undefined && session.userId !== user.id)
    await endSession(session.id, 'another user signed in', env, user.id)
  const proof = { ...context.proof(amr), authTime: first.authTime, boundedUntil: external?.boundedUntil }
  const renewed = session?.userId === user.id ? await env.sessions.renew(session, proof) : undefined
  const opened = renewed ?? (await env.sessions.open(user.id, proof))
  if (external !== undefined) await env.providerSignIns.setOrigin(opened.session.id, external)
  env.audit.record({
    event: 'signin.succeeded',
    actor: user.id,
    client: flowClientId(flow),
    address: context.http.address,
    requestId: context.http.id,
    details: { methods: amr, session: opened.session.id, provider: external?.provider },
  })
  // A second factor that is added to the session of a provider breaks no glass.
  if (!amr.includes(FEDERATED) && env.providers.localSignIn === 'break_glass')
    await recordBreakGlass(context, user, opened.session.id, env)
  const noted = await noteProgress(flow, { signedIn: opened.session.id, half: undefined }, env.flows)
  return proceed(context.signedIn(opened, user), noted, env)
}

/** Every use is recorded, and mailed to administrators. */
async function recordBreakGlass(context: BrowserContext, user: User, session: string, env: BrowserEnv): Promise<void> {
  const { address, id: requestId } = context.http
  env.audit.record({ event: 'identity.break_glass', actor: user.id, address, requestId, details: { session } })
  await env.revocations.inTransaction(async (_, stores) =>
    env.mail?.notify(stores, { kind: 'break-glass', userId: user.id, ...readOrigin(context) }),
  )
}

async function cancel(context: BrowserContext, flow: FlowInteraction, env: BrowserEnv): Promise<void> {
  const { details } = flow
  await env.flows.finish(flow.handle)
  const client = details.kind === 'authorize' ? await requireClient(details.request, env) : undefined
  if (details.kind !== 'authorize' || client === undefined) return context.http.redirect(`${env.pages.base}/sign-in`)
  return refuseToClient(context, client, details.request, 'access_denied', 'The sign-in was cancelled', env)
}

async function requireClient(request: AuthorizationRequest, env: BrowserEnv): Promise<Client> {
  const client = await findRequestClient(request, env)
  if (client === undefined || client.disabled) throw expired()
  return client
}

export function flowClientId({ details }: FlowInteraction): string | undefined {
  return details.kind === 'authorize' ? details.request.clientId : undefined
}
