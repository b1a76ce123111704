/** Second factors on the account page; adding or taking one away wants a proof given just now. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Parameters } from '../../http/form.ts'
import { displayNameOf } from '../claims.ts'
import { passkeySetUpPage } from '../pages/second-factor.ts'
import { checkNewPasskey, creationOptions } from '../passkeys.ts'
import { type Action, act, done, showAccount } from './account.ts'
import type { BrowserEnv } from './env.ts'
import { factorAdded, isFresh, type SetUpPlace, showNewRecoveryCodes, showSetUp, takeSetUp } from './factor-set-up.ts'
import type { OwnNeeds } from './flow.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { isLedAway } from './proceed.ts'
import { isSignedIn, openVisit, type SignedInVisit, type Visit } from './visit.ts'

export function registerAccountFactors(app: FastifyInstance, env: BrowserEnv): void {
  const place: SetUpPlace = {
    path: '/account/authenticator',
    flow: undefined,
    required: false,
    next: `${env.pages.base}/account`,
  }
  app.get('/account/authenticator', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    if ((await isLedAway(visit, { name: 'authenticator' }, needsOf(visit, env), env)) || !isSignedIn(visit))
      return reply
    return showSetUp(visit, place, env)
  })
  app.get('/account/passkey', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    if ((await isLedAway(visit, { name: 'passkey' }, needsOf(visit, env), env)) || !isSignedIn(visit)) return reply
    return showPasskeySetUp(visit, env)
  })
  const actions: Readonly<Record<string, Action>> = {
    '/account/authenticator': (visit, form) => takeSetUp(visit, form, place, env),
    '/account/passkey': addPasskey,
    '/account/factors/remove': removeFactor,
    '/account/recovery-codes': (visit) => showNewRecoveryCodes(visit, place.next, env),
  }
  for (const [path, action] of Object.entries(actions)) {
    app.post(path, (request, reply) => act(request, reply, env, whenFresh(action)))
  }
}

function whenFresh(action: Action): Action {
  return async (visit, form, env) => {
    if (await isLedAway(visit, { name: 'account' }, needsOf(visit, env), env)) return visit.reply
    return action(visit, form, env)
  }
}

/** A proof given just now, and with the factors that there are: an old session without them changes none. */
function needsOf(visit: Visit, env: BrowserEnv): OwnNeeds {
  return { fresh: !isFresh(visit, env), secondFactor: visit.user?.hasSecondFactor === true }
}

/** The challenge waits in an interaction of its own, named by the cookie-bound flow of this browser. */
async function showPasskeySetUp(visit: SignedInVisit, env: BrowserEnv, failed = false): Promise<FastifyReply> {
  const known = (await env.factors.listOfUser(visit.user.id)).filter(({ kind }) => kind === 'passkey')
  const { brand, assets } = env.pages
  const { options, challenge } = creationOptions(
    env.issuer.name,
    brand.name,
    visit.user,
    displayNameOf(visit.user),
    known,
  )
  const { handle } = await env.flows.begin({
    kind: 'own',
    page: { name: 'passkey' },
    browser: visit.browser(),
    progress: { challenge },
  })
  const frame = frameFor(env.pages, visit, { boundTo: 'session' })
  const mistake = failed ? { text: frame.language.messages.passkeyFailed } : undefined
  const page = passkeySetUpPage(frame, { flow: handle, options, script: assets.passkeyScript, mistake })
  return sendPage(visit.reply, page, { status: failed ? 400 : 200, scripts: "'self'" })
}

async function addPasskey(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const handle = form.get('flow') ?? ''
  const flow = await env.flows.find(handle)
  const challenge = flow?.details.browser === visit.browser() ? flow.details.progress.challenge : undefined
  // A challenge is good for one answer.
  const finished = await env.flows.finish(handle)
  const passkey = finished
    ? await checkNewPasskey({ credential: form.get('credential'), challenge }, env.issuer.name)
    : undefined
  if (passkey === undefined) return showPasskeySetUp(visit, env, true)
  const label = form.get('label')?.slice(0, 60) ?? 'Passkey'
  const id = await env.factors.add({ userId: visit.user.id, kind: 'passkey', label, ...passkey })
  return factorAdded(visit, { id, kind: 'passkey', label, methods: ['pop', 'user'] }, `${env.pages.base}/account`, env)
}

/** The last one of a person whose role demands one stays. */
async function removeFactor(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { user } = visit
  const removal = await env.factors.remove(user.id, form.get('factor') ?? '', {
    keepLast: user.roleRequiresSecondFactor,
  })
  switch (removal.outcome) {
    case 'kept':
      return showAccount(visit, env, { told: (text) => ({ text: text.factorRequired }) })
    case 'removed': {
      const { kind, id: factor, label } = removal.factor
      env.audit.record({
        event: 'factor.removed',
        actor: user.id,
        address: visit.request.ip,
        requestId: visit.request.id,
        details: { kind, factor, label },
      })
      return done(visit, 'saved', env)
    }
    case 'unknown':
      return done(visit, 'saved', env)
  }
}
