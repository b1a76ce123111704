/** Second factors on the account page; adding or removing one needs a recent sign-in. */
import type { Parameters } from '../../http/form.ts'
import type { Route } from '../../http/route.ts'
import { checkNewPasskey, creationOptions } from '../factors/passkeys.ts'
import { passkeySetUpPage } from '../pages/second-factor.ts'
import { displayNameOf } from '../tokens/claims.ts'
import { type AccountAction, accountFormRoute, done, ownPageRoute, showAccount } from './account.ts'
import type { BrowserContext, SignedInBrowser } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { factorAdded, isFresh, type SetUpPlace, showNewRecoveryCodes, showSetUp, takeSetUp } from './factor-set-up.ts'
import type { OwnNeeds } from './flow.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { redirectedFirst } from './proceed.ts'

export function accountFactorRoutes(env: BrowserEnv): readonly Route[] {
  const place: SetUpPlace = {
    path: '/account/authenticator',
    flow: undefined,
    required: false,
    next: `${env.pages.base}/account`,
  }
  const freshForm = (path: string, action: AccountAction): Route => accountFormRoute(path, whenFresh(action), env)
  return [
    ownPageRoute({ name: 'authenticator' }, async (context) => showSetUp(context, place, env), env, needsOf),
    ownPageRoute({ name: 'passkey' }, (context) => showPasskeySetUp(context, env), env, needsOf),
    freshForm('/account/authenticator', (context, form) => takeSetUp(context, form, place, env)),
    freshForm('/account/passkey', addPasskey),
    freshForm('/account/factors/remove', removeFactor),
    freshForm('/account/recovery-codes', (context) => showNewRecoveryCodes(context, place.next, env)),
  ]
}

function whenFresh(action: AccountAction): AccountAction {
  return async (context, form, env) => {
    if (!(await redirectedFirst(context, { name: 'account' }, needsOf(context, env), env)))
      await action(context, form, env)
  }
}

/** A recent sign-in, with a second factor where the person has one. */
function needsOf(context: BrowserContext, env: BrowserEnv): OwnNeeds {
  return { fresh: !isFresh(context, env), secondFactor: context.user?.hasSecondFactor === true }
}

/** The challenge is kept in an interaction of its own, bound to this browser. */
async function showPasskeySetUp(context: SignedInBrowser, env: BrowserEnv, failed = false): Promise<void> {
  const known = (await env.factors.listOfUser(context.user.id)).filter(({ kind }) => kind === 'passkey')
  const { brand, assets } = env.pages
  const { options, challenge } = creationOptions(
    env.issuer.name,
    brand.name,
    context.user,
    displayNameOf(context.user),
    known,
  )
  const { handle } = await env.flows.begin({
    kind: 'own',
    page: { name: 'passkey' },
    browser: context.browser(),
    progress: { challenge },
  })
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = failed ? { text: frame.language.messages.passkeyFailed } : undefined
  const page = passkeySetUpPage(frame, { flow: handle, options, script: assets.passkeyScript, formError })
  return sendPage(context.http, page, { status: failed ? 400 : 200, scripts: "'self'" })
}

async function addPasskey(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const handle = form.get('flow') ?? ''
  const flow = await env.flows.find(handle)
  const challenge = flow?.details.browser === context.browser() ? flow.details.progress.challenge : undefined
  // A challenge can be used once.
  const finished = await env.flows.finish(handle)
  const passkey = finished
    ? await checkNewPasskey({ credential: form.get('credential'), challenge }, env.issuer.name)
    : undefined
  if (passkey === undefined) return showPasskeySetUp(context, env, true)
  const label = form.get('label')?.slice(0, 60) ?? 'Passkey'
  const id = await env.factors.add({ userId: context.user.id, kind: 'passkey', label, ...passkey })
  return factorAdded(
    context,
    { id, kind: 'passkey', label, methods: ['pop', 'user'] },
    `${env.pages.base}/account`,
    env,
  )
}

/** Where the role of a person requires a second factor, the last one cannot be removed. */
async function removeFactor(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const { user } = context
  const removal = await env.factors.remove(user.id, form.get('factor') ?? '', {
    keepLast: user.roleRequiresSecondFactor,
  })
  switch (removal.outcome) {
    case 'kept':
      return showAccount(context, env, { told: (text) => ({ text: text.factorRequired }) })
    case 'removed': {
      const { kind, id: factor, label } = removal.factor
      env.audit.record({
        event: 'factor.removed',
        actor: user.id,
        address: context.http.address,
        requestId: context.http.id,
        details: { kind, factor, label },
      })
      return done(context, 'saved', env)
    }
    case 'unknown':
      return done(context, 'saved', env)
  }
}
