/** The second step of a sign-in: a code, a passkey or a recovery code. */

import type { Route } from '../../../http/route.ts'
import type { Factor } from '../../../store/accounts/factors.ts'
import type { User } from '../../../store/accounts/user.ts'
import { unseal } from '../../../store/keys/opaque.ts'
import { makeGuess } from '../../factors/factor-throttle.ts'
import { checkPasskey, passkeyChallenge } from '../../factors/passkeys.ts'
import { recoveryDigest } from '../../factors/recovery-codes.ts'
import { matchTotp } from '../../factors/totp.ts'
import { secondFactorPage } from '../../pages/second-factor.ts'
import { chooseDisplayName } from '../../tokens/claims.ts'
import type { BrowserContext } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { expired, type FlowInteraction, type HalfSignedIn, noteProgress, spendChallenge } from '../flow.ts'
import { type FlowAction, flowForm, flowPage } from '../flow-routes.ts'
import { type FormReply, frameOfFlow, replyLater, sendPage } from '../page-reply.ts'
import { completeSignIn, flowClientId } from './sign-in.ts'

/** The purpose under which authenticator secrets are sealed at rest. */
export const SEALED_TOTP = 'totp'

/** How long the first factor stays valid. */
const HALF_KEEPS_MS = 15 * 60_000

export function secondFactorRoutes(env: BrowserEnv): readonly Route[] {
  return [
    flowPage(
      '/second-factor',
      (context, flow, query) => showSecondFactor(context, flow, query.get('way') === 'recovery', env),
      env,
    ),
    flowForm('/second-factor', 'browser', takeCode, env),
    flowForm('/second-factor/passkey', 'browser', takePasskey, env),
  ]
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
  // A first factor with a password that has been changed since is void.
  if (user.passwordChangedAt > half.at || env.clock() - half.at > HALF_KEEPS_MS) throw expired()
  return { half, user, factors: await env.factors.listOfUser(user.id) }
}

async function showSecondFactor(
  context: BrowserContext,
  flow: FlowInteraction,
  byRecovery: boolean,
  env: BrowserEnv,
  again?: FormReply,
): Promise<void> {
  const { user, factors } = await halfway(flow, env)
  const passkeys = factors.filter(({ kind }) => kind === 'passkey')
  const asked = passkeys.length === 0 ? undefined : await passkeyChallenge(env.issuer.name, passkeys)
  if (asked !== undefined) await noteProgress(flow, { challenge: asked.challenge }, env.flows)
  const hasAuthenticator = factors.some(({ kind }) => kind === 'totp')
  const { frame, formAction } = await frameOfFlow(context, flow, 'browser', env)
  const page = secondFactorPage(frame, {
    flow: flow.handle,
    username: chooseDisplayName(user),
    way: byRecovery ? 'recovery' : hasAuthenticator ? 'authenticator' : 'passkey',
    hasAuthenticator: hasAuthenticator || passkeys.length > 0,
    hasRecovery: factors.some(({ kind }) => kind === 'recovery'),
    formError: again?.error(frame.language.messages),
    passkeyOptions: asked?.options,
  })
  return sendPage(context.http, page, {
    status: again?.status ?? 200,
    ...(asked === undefined ? {} : { scripts: "'self'" }),
    formAction,
  })
}

const takeCode: FlowAction = async (context, flow, form, env) => {
  const { half, user, factors } = await halfway(flow, env)
  const byRecovery = form.get('way') === 'recovery'
  const code = form.get('code') ?? ''
  const attempted = await makeGuess(user.id, context.http.address, env, () =>
    byRecovery
      ? env.factors.spendRecoveryCode(user.id, recoveryDigest(code, env.sealingKey))
      : spendTotp(factors, code, env),
  )
  if (attempted.outcome !== 'made') {
    if (attempted.outcome === 'delayed')
      env.audit.record({
        event: 'signin.delayed',
        actor: user.id,
        client: flowClientId(flow),
        address: context.http.address,
        requestId: context.http.id,
        details: { scope: ['second factor'], seconds: attempted.seconds, username: user.username },
      })
    return showSecondFactor(context, flow, byRecovery, env, replyLater(context.http, attempted))
  }
  const { result: good } = attempted
  const method = byRecovery ? 'recovery' : 'otp'
  env.metrics.count('gatehouse_signins_total', { method, outcome: good ? 'good' : 'wrong' })
  if (!good) return refuseFactor(context, flow, user, byRecovery, 'otp', env)
  return completeSignIn(context, flow, user, withFactor(half, 'otp'), env, half.external ?? half)
}

/** Tries all authenticator apps of the person; a time step can be used once. */
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

const takePasskey: FlowAction = async (context, flow, form, env) => {
  const { half, user } = await halfway(flow, env)
  const { challenge, flow: noted } = await spendChallenge(flow, env.flows)
  const holder = await checkPasskey({ credential: form.get('credential'), challenge, userId: user.id }, env)
  const outcome = holder === undefined ? 'wrong' : 'good'
  env.metrics.count('gatehouse_signins_total', { method: 'passkey', outcome })
  if (holder === undefined) return refuseFactor(context, noted, user, false, 'pop', env)
  return completeSignIn(context, noted, user, withFactor(half, 'pop', 'user'), env, half.external ?? half)
}

function refuseFactor(
  context: BrowserContext,
  flow: FlowInteraction,
  user: User,
  byRecovery: boolean,
  method: string,
  env: BrowserEnv,
): Promise<void> {
  env.audit.record({
    event: 'signin.refused',
    actor: user.id,
    client: flowClientId(flow),
    address: context.http.address,
    requestId: context.http.id,
    details: { reason: 'second factor', methods: [method] },
  })
  return showSecondFactor(context, flow, byRecovery, env, {
    status: 401,
    error: (text) => (method === 'pop' ? { text: text.passkeyFailed } : { text: text.wrongCode, field: 'code' }),
  })
}

/** RFC 8176 §2: the earlier methods, the new ones, and mfa. */
function withFactor({ amr }: HalfSignedIn, ...methods: string[]): string[] {
  return [...new Set([...amr, ...methods, 'mfa'])]
}
