/** Linking an identity to the user who is signed in, once they confirm it; and unlinking one. */
import { AccountFault } from '../../accounts/account-fault.ts'
import type { FormParameters } from '../../http/request/body.ts'
import type { Identity } from '../../store/providers/identities.ts'
import { sectionAddress } from '../browser/account/account.ts'
import { personAsAuthor } from '../browser/account-author.ts'
import { type BrowserContext, isSignedIn, type SignedInBrowser } from '../browser/browser-context.ts'
import { claimFlow, expired, type FlowInteraction, noteProgress, type PendingIdentity } from '../browser/flow.ts'
import { frameFor, frameOfFlow, sendPage } from '../browser/page-reply.ts'
import { isToBeLinked, proceed, redirectedFirst } from '../browser/proceed.ts'
import { isFresh } from '../browser/sign-in/factor-set-up.ts'
import { confirmPage } from '../pages/confirm.ts'
import { linkPage } from '../pages/identities.ts'
import type { ProvidersEnv } from './env.ts'
import { showFault } from './error-page.ts'
import { providerFault } from './faults.ts'

interface Linkable {
  readonly context: SignedInBrowser
  readonly flow: FlowInteraction
  readonly identity: PendingIdentity
}

export async function askToLink(context: BrowserContext, query: FormParameters, env: ProvidersEnv): Promise<void> {
  const found = await findLinkable(context, query, env)
  if (found === undefined) return
  const { frame, formAction } = await frameOfFlow(context, found.flow, 'session', env)
  const page = linkPage(frame, {
    flow: found.flow.handle,
    provider: { id: found.identity.provider, name: env.providers.findName(found.identity.provider) },
    label: found.identity.label,
    username: found.context.user.username,
  })
  sendPage(context.http, page, { formAction })
}

export async function decideLink(context: BrowserContext, form: FormParameters, env: ProvidersEnv): Promise<void> {
  const found = await findLinkable(context, form, env)
  if (found === undefined) return
  const { flow, identity } = found
  const { user, http } = found.context
  const cleared = await noteProgress(flow, { identity: undefined, linking: undefined }, env.flows)
  if (form.get('decision') !== 'link') return proceed(context, cleared, env)
  const { provider, issuer, subject, label } = identity
  const reason = identity.session === undefined ? 'sign-in' : 'account'
  const added = await env.accounts.change(personAsAuthor(context), (accounts) =>
    accounts.linkIdentity({ provider, issuer, subject, label, userId: user.id }, reason),
  )
  const holder = added ?? (await env.identities.find(issuer, subject))
  if (holder?.userId !== user.id) {
    const way = {
      path: `/continue?flow=${encodeURIComponent(flow.handle)}`,
      text: frameFor(env.pages, context).language.messages.continue,
    }
    return showFault(context, providerFault('identity.linked_elsewhere', 'Linked meanwhile'), way, env)
  }
  if (cleared.details.kind === 'own' && cleared.details.page.name === 'security') {
    await env.flows.finish(flow.handle)
    return http.redirect(sectionAddress('security', 'linked', env))
  }
  return proceed(context, cleared, env)
}

/** Undefined if the browser was sent elsewhere: the identity expired, or the sign-in here is too old or lacks its second factor. */
async function findLinkable(
  context: BrowserContext,
  parameters: FormParameters,
  env: ProvidersEnv,
): Promise<Linkable | undefined> {
  const flow = await claimFlow(parameters.get('flow'), context, env.flows)
  const { identity } = flow.details.progress
  if (identity === undefined || identity.provider !== context.http.param('id')) throw expired()
  const isWhole = !context.user?.hasSecondFactor || context.session?.amr.includes('mfa') === true
  if (isSignedIn(context) && isFresh(context, env) && isWhole && isToBeLinked(context, flow.details.progress, env))
    return { context, flow, identity }
  await noteProgress(flow, { identity: undefined, linking: undefined }, env.flows)
  throw providerFault('provider.state', 'The sign-in here is too old to link an identity')
}

export async function askToUnlink(context: BrowserContext, query: FormParameters, env: ProvidersEnv): Promise<void> {
  const identity = await ownIdentity(context, query.get('identity'), env)
  if (identity === undefined) return
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const page = confirmPage(frame, {
    title: messages.unlinkAsk(identity.label),
    lead: messages.unlinkLead,
    path: `/external/${encodeURIComponent(context.http.param('id'))}/unlink`,
    values: { identity: identity.id },
    submit: messages.unlink,
    back: '/account/security',
  })
  sendPage(context.http, page)
}

export async function unlink(context: BrowserContext, form: FormParameters, env: ProvidersEnv): Promise<void> {
  const identity = await ownIdentity(context, form.get('identity'), env)
  if (identity === undefined || !isSignedIn(context)) return
  const { user, session, http } = context
  try {
    await env.accounts.change(personAsAuthor(context), (accounts) =>
      accounts.unlinkIdentity(user.id, identity.id, { exceptSession: session.id }),
    )
  } catch (error) {
    if (!(error instanceof AccountFault)) throw error
    const back = { path: '/account/security', text: frameFor(env.pages, context).language.messages.section.security }
    return showFault(context, providerFault('identity.last_way', error.message), back, env)
  }
  return http.redirect(sectionAddress('security', 'unlinked', env))
}

/** Undefined if the browser was sent elsewhere. */
async function ownIdentity(
  context: BrowserContext,
  wanted: string | undefined,
  env: ProvidersEnv,
): Promise<Identity | undefined> {
  const needs = { fresh: !isFresh(context, env), secondFactor: context.user?.hasSecondFactor === true }
  if (await redirectedFirst(context, { name: 'security' }, needs, env)) return undefined
  const identities = context.user === undefined ? [] : await env.identities.listOfUser(context.user.id)
  const found = identities.find(({ id }) => id === wanted)
  if (found === undefined) context.http.redirect(`${env.pages.base}/account/security`)
  return found
}
