/** The section about signing in: second factors and recovery codes. Changing them needs a recent sign-in. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { Factor } from '../../../store/accounts/factors.ts'
import { checkNewPasskey, creationOptions } from '../../factors/passkeys.ts'
import { securitySection } from '../../pages/account-sections.ts'
import { confirmPage } from '../../pages/confirm.ts'
import { html } from '../../pages/html.ts'
import { type IdentitiesData, identitiesCard } from '../../pages/identities.ts'
import type { PageFrame } from '../../pages/layout.ts'
import { passkeySetUpPage } from '../../pages/second-factor.ts'
import { chooseDisplayName } from '../../tokens/claims.ts'
import { personAsAuthor } from '../account-author.ts'
import type { BrowserContext, SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { beginFlow, type OwnNeeds } from '../flow.ts'
import { frameFor, sendPage } from '../page-reply.ts'
import { redirectedFirst } from '../proceed.ts'
import {
  addFactor,
  factorAdded,
  isFresh,
  type SetUpPlace,
  showNewRecoveryCodes,
  showSetUp,
  takeSetUp,
} from '../sign-in/factor-set-up.ts'
import {
  type AccountAction,
  accountFormRoute,
  askRoute,
  ownPageRoute,
  redirectDone,
  type SectionReply,
  sectionAddress,
  sendSection,
  userZone,
} from './account.ts'

export function accountFactorRoutes(env: BrowserEnv): readonly Route[] {
  const place: SetUpPlace = {
    path: '/account/authenticator',
    flow: undefined,
    required: false,
    next: sectionAddress('security', 'factor-added', env),
  }
  const freshForm = (path: string, action: AccountAction): Route => accountFormRoute(path, whenFresh(action), env)
  return [
    ownPageRoute({ name: 'security' }, (context, query) => showSecurity(context, { query }, env), env),
    ownPageRoute({ name: 'authenticator' }, async (context) => showSetUp(context, place, env), env, factorNeeds),
    ownPageRoute({ name: 'passkey' }, (context) => showPasskeySetUp(context, env), env, factorNeeds),
    freshForm('/account/authenticator', (context, form) => takeSetUp(context, form, place, env)),
    freshForm('/account/passkey', addPasskey),
    askRoute('/account/factors/remove', 'security', whenFresh(askToRemove), env),
    freshForm('/account/factors/remove', removeFactor),
    askRoute('/account/recovery-codes', 'security', whenFresh(askForNewCodes), env),
    freshForm('/account/recovery-codes', (context) =>
      showNewRecoveryCodes(context, `${env.pages.base}/account/security`, env),
    ),
  ]
}

async function showSecurity(context: SignedInBrowser, reply: SectionReply, env: BrowserEnv): Promise<void> {
  const { user } = context
  const all = await env.factors.listOfUser(user.id)
  const data = {
    passwordChangedAt: user.passwordChangedAt,
    factors: withoutRecovery(all).map(({ id, label, createdAt, kind }) => ({
      id,
      label,
      addedAt: createdAt,
      kind: kind === 'passkey' ? ('passkey' as const) : ('authenticator' as const),
    })),
    recoveryCodesLeft: all.length - withoutRecovery(all).length,
    timeZone: userZone(context),
  }
  const identities = await loadIdentities(context, env)
  const body = (frame: PageFrame) => html`${securitySection(frame, data)}${identitiesCard(frame, identities)}`
  return sendSection(context, 'security', body, reply, env)
}

/** The accounts at other providers, and where one more can be linked. */
async function loadIdentities(context: SignedInBrowser, env: BrowserEnv): Promise<IdentitiesData> {
  const found = await env.identities.listOfUser(context.user.id)
  return {
    identities: found.map(({ id, provider, label, createdAt }) => ({
      ...{ id, label, addedAt: createdAt },
      provider: { id: provider, name: env.providers.findName(provider) },
    })),
    providers: env.providers.list().filter(({ id }) => !found.some(({ provider }) => provider === id)),
    timeZone: userZone(context),
  }
}

/** Excludes recovery codes, which only replace a lost factor. */
function withoutRecovery(factors: readonly Factor[]): Factor[] {
  return factors.filter(({ kind }) => kind !== 'recovery')
}

function whenFresh(action: AccountAction): AccountAction {
  return async (context, form, env) => {
    if (!(await redirectedFirst(context, { name: 'security' }, factorNeeds(context, env), env)))
      await action(context, form, env)
  }
}

/** A recent sign-in, with a second factor where the person has one. */
function factorNeeds(context: BrowserContext, env: BrowserEnv): OwnNeeds {
  return { fresh: !isFresh(context, env), secondFactor: context.user?.hasSecondFactor === true }
}

/** The challenge is kept in a separate interaction, bound to this browser. */
async function showPasskeySetUp(context: SignedInBrowser, env: BrowserEnv, failed = false): Promise<void> {
  const known = (await env.factors.listOfUser(context.user.id)).filter(({ kind }) => kind === 'passkey')
  const { brand } = env.pages
  const { options, challenge } = creationOptions(
    env.issuer.name,
    brand.name,
    context.user,
    chooseDisplayName(context.user),
    known,
  )
  const { handle } = await beginFlow(
    { kind: 'own', page: { name: 'passkey' }, progress: { challenge } },
    context,
    env.flows,
  )
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = failed ? { text: frame.language.messages.passkeyFailed } : undefined
  const page = passkeySetUpPage(frame, { flow: handle, options, formError })
  return sendPage(context.http, page, { status: failed ? 400 : 200, scripts: "'self'" })
}

async function addPasskey(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const handle = form.get('flow') ?? ''
  const flow = await env.flows.find(handle)
  const challenge = flow?.browser === context.browser() ? flow.details.progress.challenge : undefined
  // A challenge can be used once.
  const finished = await env.flows.finish(handle)
  const passkey = finished
    ? await checkNewPasskey({ credential: form.get('credential'), challenge }, env.issuer.name)
    : undefined
  if (passkey === undefined) return showPasskeySetUp(context, env, true)
  const label = form.get('label')?.slice(0, 60) ?? 'Passkey'
  await addFactor(context, { kind: 'passkey', label, ...passkey }, env)
  return factorAdded(context, ['pop', 'user'], sectionAddress('security', 'factor-added', env), env)
}

async function askToRemove(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const steps = withoutRecovery(await env.factors.listOfUser(context.user.id))
  const factor = steps.find(({ id }) => id === query.get('factor'))
  if (factor === undefined) return context.http.redirect(`${env.pages.base}/account/security`)
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const page = confirmPage(frame, {
    title: messages.removeAsk(factor.label),
    lead: steps.length > 1 ? messages.removeLead : messages.removeLastLead,
    path: '/account/factors/remove',
    values: { factor: factor.id },
    submit: messages.remove,
    back: '/account/security',
  })
  return sendPage(context.http, page)
}

async function askForNewCodes(context: SignedInBrowser, _query: FormParameters, env: BrowserEnv): Promise<void> {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const page = confirmPage(frame, {
    title: messages.newRecoveryCodesAsk,
    lead: messages.newRecoveryCodesLead,
    path: '/account/recovery-codes',
    values: {},
    submit: messages.newRecoveryCodes,
    back: '/account/security',
  })
  return sendPage(context.http, page)
}

/** Where a second factor is required of a person, the last one cannot be removed. */
async function removeFactor(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const { user } = context
  const outcome = await env.accounts.change(personAsAuthor(context), (accounts) =>
    accounts.removeFactor(user.id, form.get('factor') ?? ''),
  )
  switch (outcome) {
    case 'kept':
      return showSecurity(context, { error: (text) => ({ text: text.factorRequired }) }, env)
    case 'removed':
      return redirectDone(context, 'security', 'factor', env)
    case 'unknown':
      return context.http.redirect(`${env.pages.base}/account/security`)
  }
}
