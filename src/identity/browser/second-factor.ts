/** The second step of a sign-in: checking a code, a passkey or a recovery code, and setting up an app where one is demanded. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Factor } from '../../store/factors.ts'
import { unseal } from '../../store/opaque.ts'
import type { User } from '../../store/users.ts'
import { displayNameOf } from '../claims.ts'
import { beginGuess } from '../factor-throttle.ts'
import type { Mistake } from '../pages/form-parts.ts'
import { secondFactorPage } from '../pages/second-factor.ts'
import { checkPasskey, passkeyChallenge } from '../passkeys.ts'
import { recoveryDigest } from '../recovery-codes.ts'
import { matchTotp } from '../totp.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired, type FlowInteraction, type HalfSignedIn, noteProgress, spendChallenge } from './flow.ts'
import { addressesOf, frameFor, sendPage } from './page-reply.ts'
import { clientIdOf, completeSignIn } from './sign-in.ts'
import { openVisit, type Visit } from './visit.ts'

/** How an authenticator's secret is sealed at rest. */
export const SEALED_TOTP = 'totp'

/** Long enough to find the phone. */
const HALF_KEEPS_MS = 15 * 60_000

export function registerSecondFactor(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/second-factor', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const query = queryParameters(request)
    const flow = await claimFlow(query.get('flow'), visit, env.flows)
    return showSecondFactor(visit, flow, query.get('way') === 'recovery', env)
  })
  app.post('/second-factor', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'browser')
    return takeCode(visit, await claimFlow(form.get('flow'), visit, env.flows), form, env)
  })
  app.post('/second-factor/passkey', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'browser')
    return takePasskey(visit, await claimFlow(form.get('flow'), visit, env.flows), form, env)
  })
}

interface Halfway {
  readonly half: HalfSignedIn
  readonly user: User
  readonly factors: readonly Factor[]
}

async function halfway({ details }: FlowInteraction, env: BrowserEnv): Promise<Halfway> {
  const { half } = details.progress
  const user = half === undefined ? undefined : await env.users.findById(half.userId)
  if (half === undefined || user === undefined || user.disabled) throw expired()
  // Whoever knew a password that was changed meanwhile has proven nothing.
  if (user.passwordChangedAt > half.at || env.clock() - half.at > HALF_KEEPS_MS) throw expired()
  return { half, user, factors: await env.factors.listOfUser(user.id) }
}

async function showSecondFactor(
  visit: Visit,
  flow: FlowInteraction,
  byRecovery: boolean,
  env: BrowserEnv,
  mistake?: {
    readonly status: number
    readonly told: (text: ReturnType<typeof frameFor>['language']['messages']) => Mistake
  },
): Promise<FastifyReply> {
  const { user, factors } = await halfway(flow, env)
  const request = flow.details.kind === 'authorize' ? flow.details.request : undefined
  const client = request === undefined ? undefined : await env.clients.find(request.clientId)
  const passkeys = factors.filter(({ kind }) => kind === 'passkey')
  const asked = passkeys.length === 0 ? undefined : await passkeyChallenge(env.issuer.name, passkeys)
  if (asked !== undefined) await noteProgress(flow, { challenge: asked.challenge }, env.flows)
  const hasAuthenticator = factors.some(({ kind }) => kind === 'totp')
  const frame = frameFor(env.pages, visit, { uiLocales: request?.uiLocales, boundTo: 'browser' })
  const page = secondFactorPage(frame, {
    flow: flow.handle,
    username: displayNameOf(user),
    way: byRecovery ? 'recovery' : hasAuthenticator ? 'authenticator' : 'passkey',
    hasAuthenticator: hasAuthenticator || passkeys.length > 0,
    hasRecovery: factors.some(({ kind }) => kind === 'recovery'),
    mistake: mistake?.told(frame.language.messages),
    passkey: asked && { options: asked.options, script: env.pages.assets.passkeyScript },
  })
  return sendPage(visit.reply, page, {
    status: mistake?.status ?? 200,
    ...(asked === undefined ? {} : { scripts: "'self'" }),
    formAction: client === undefined ? [] : addressesOf(client, request?.target.redirectUri),
  })
}

async function takeCode(visit: Visit, flow: FlowInteraction, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { half, user, factors } = await halfway(flow, env)
  const byRecovery = form.get('way') === 'recovery'
  const code = form.get('code') ?? ''
  const guess = await beginGuess(user.id, visit.request.ip, env)
  if (guess.waitMs > 0) {
    const seconds = Math.ceil(guess.waitMs / 1000)
    visit.reply.header('retry-after', String(seconds))
    env.audit.record({ event: 'signin.delayed', actor: user.id, address: visit.request.ip, details: { seconds } })
    return showSecondFactor(visit, flow, byRecovery, env, {
      status: 429,
      told: (text) => ({ text: text.tryLater(seconds) }),
    })
  }
  const good = byRecovery
    ? await env.factors.spendRecoveryCode(user.id, recoveryDigest(code, env.sealingKey))
    : await spendTotp(factors, code, env)
  const method = byRecovery ? 'recovery' : 'otp'
  env.metrics.count('gatehouse_signins_total', { method, outcome: good ? 'good' : 'wrong' })
  if (!good) return refuseFactor(visit, flow, user, byRecovery, 'otp', env)
  await guess.succeeded()
  return completeSignIn(visit, flow, user, withFactor(half, 'otp'), env)
}

/** Every app of the person is tried; a step that was used before is as wrong as a wrong code. */
async function spendTotp(
  factors: readonly Factor[],
  code: string,
  env: Pick<BrowserEnv, 'factors' | 'sealingKey' | 'clock'>,
): Promise<boolean> {
  for (const { id, kind, secret } of factors) {
    if (kind !== 'totp') continue
    const step = matchTotp(unseal(secret, env.sealingKey, SEALED_TOTP), code, env.clock())
    if (step !== undefined && (await env.factors.advance(id, step))) return true
  }
  return false
}

async function takePasskey(
  visit: Visit,
  flow: FlowInteraction,
  form: Parameters,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const { half, user } = await halfway(flow, env)
  const { challenge, flow: noted } = await spendChallenge(flow, env.flows)
  const holder = await checkPasskey({ credential: form.get('credential'), challenge, userId: user.id }, env)
  const outcome = holder === undefined ? 'wrong' : 'good'
  env.metrics.count('gatehouse_signins_total', { method: 'passkey', outcome })
  if (holder === undefined) return refuseFactor(visit, noted, user, false, 'pop', env)
  return completeSignIn(visit, noted, user, withFactor(half, 'pop', 'user'), env)
}

function refuseFactor(
  visit: Visit,
  flow: FlowInteraction,
  user: User,
  byRecovery: boolean,
  method: string,
  env: BrowserEnv,
): Promise<FastifyReply> {
  env.audit.record({
    event: 'signin.refused',
    actor: user.id,
    client: clientIdOf(flow),
    address: visit.request.ip,
    requestId: visit.request.id,
    details: { reason: 'second factor', methods: [method] },
  })
  return showSecondFactor(visit, flow, byRecovery, env, {
    status: 401,
    told: (text) => (method === 'pop' ? { text: text.passkeyFailed } : { text: text.wrongCode, field: 'code' }),
  })
}

/** RFC 8176 §2: what was proven before, what was proven now, and that it was more than one. */
function withFactor({ amr }: HalfSignedIn, ...methods: string[]): string[] {
  return [...new Set([...amr, ...methods, 'mfa'])]
}
