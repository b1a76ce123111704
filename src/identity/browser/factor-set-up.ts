/** Setting up an authenticator app, on the account page or in the middle of a sign-in that demands it. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import { seal, unseal } from '../../store/opaque.ts'
import type { User } from '../../store/users.ts'
import type { Mistake } from '../pages/form-parts.ts'
import { qrSvg } from '../pages/qr.ts'
import { authenticatorSetUpPage, recoveryCodesPage } from '../pages/second-factor.ts'
import { newRecoveryCodes, recoveryDigest } from '../recovery-codes.ts'
import { base32, matchTotp, newTotpSecret, totpUri } from '../totp.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, expired } from './flow.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { proceed } from './proceed.ts'
import { SEALED_TOTP } from './second-factor.ts'
import { isSignedIn, openVisit, type SignedInVisit, type Visit } from './visit.ts'

export function registerFactorSetUp(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/set-up-factor', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const flow = await claimFlow(queryParameters(request).get('flow'), visit, env.flows)
    if (!isSignedIn(visit) || visit.user.hasSecondFactor) return proceed(visit, flow, env)
    if (!isFresh(visit, env)) return signInFirst(visit, flow.handle, env)
    return showSetUp(visit, place(flow.handle), env)
  })
  app.post('/set-up-factor', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const flow = await claimFlow(form.get('flow'), visit, env.flows)
    // Who has one already must give it, not make another.
    if (!isSignedIn(visit) || visit.user.hasSecondFactor) return proceed(visit, flow, env)
    if (!isFresh(visit, env)) return signInFirst(visit, flow.handle, env)
    return takeSetUp(visit, form, place(flow.handle), env)
  })

  function place(flow: string): SetUpPlace {
    const next = `${env.pages.base}/continue?flow=${encodeURIComponent(flow)}`
    return { path: '/set-up-factor', flow, required: true, next }
  }
}

const FRESH_MS = 10 * 60_000

/** An unattended browser must not be enough to make somebody else's factor one's own. */
export function isFresh({ session }: Pick<Visit, 'session'>, { clock }: Pick<BrowserEnv, 'clock'>): boolean {
  return session !== undefined && clock() - session.authTime <= FRESH_MS
}

function signInFirst(visit: Visit, flow: string, env: BrowserEnv): FastifyReply {
  return visit.reply.redirect(`${env.pages.base}/sign-in?flow=${encodeURIComponent(flow)}`, 303)
}

/** Where the set-up happens and where it leads. */
export interface SetUpPlace {
  readonly path: string
  readonly flow: string | undefined
  readonly required: boolean
  readonly next: string
}

export function showSetUp(
  visit: SignedInVisit,
  place: SetUpPlace,
  env: BrowserEnv,
  again?: {
    readonly secret: Buffer
    readonly told: (text: ReturnType<typeof frameFor>['language']['messages']) => Mistake
  },
): FastifyReply {
  const frame = frameFor(env.pages, visit, { boundTo: 'session' })
  const secret = again?.secret ?? newTotpSecret()
  const { brand } = env.pages
  const page = authenticatorSetUpPage(frame, {
    ...place,
    qr: qrSvg(totpUri(secret, brand.name, visit.user.username), frame.language.messages.setUpQr),
    key: base32(secret).replace(/(.{4})(?=.)/g, '$1 '),
    // Nothing is kept until the code proves that the app has it; sealed, the secret is of no use to anybody else.
    sealed: seal(secret, env.sealingKey, purposeOf(visit.user)),
    mistake: again?.told(frame.language.messages),
  })
  return sendPage(visit.reply, page, { status: again === undefined ? 200 : 400 })
}

export async function takeSetUp(
  visit: SignedInVisit,
  form: Parameters,
  place: SetUpPlace,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const secret = openSealed(form.get('sealed'), visit.user, env)
  const step = matchTotp(secret, form.get('code') ?? '', env.clock())
  if (step === undefined) {
    return showSetUp(visit, place, env, { secret, told: (text) => ({ text: text.wrongCode, field: 'code' }) })
  }
  const label = form.get('label')?.slice(0, 60) ?? 'Authenticator'
  const sealed = seal(secret, env.sealingKey, SEALED_TOTP)
  const id = await env.factors.add({ userId: visit.user.id, kind: 'totp', label, secret: sealed, counter: step })
  return factorAdded(visit, { id, kind: 'totp', label, methods: ['otp'] }, place.next, env)
}

/** The session is worth more now: a new cookie, and recovery codes with the first factor. */
export async function factorAdded(
  visit: SignedInVisit,
  factor: { readonly id: string; readonly kind: string; readonly label: string; readonly methods: readonly string[] },
  next: string,
  env: BrowserEnv,
): Promise<FastifyReply> {
  env.audit.record({
    event: 'factor.added',
    actor: visit.user.id,
    address: visit.request.ip,
    requestId: visit.request.id,
    details: { kind: factor.kind, factor: factor.id, label: factor.label },
  })
  const amr = [...new Set([...visit.session.amr, ...factor.methods, 'mfa'])]
  const renewed = await env.sessions.renew(visit.session, visit.proof(amr))
  if (renewed === undefined) throw expired()
  const raised = visit.signedIn(renewed, visit.user)
  const factors = await env.factors.listOfUser(visit.user.id)
  if (factors.some(({ kind }) => kind === 'recovery')) return visit.reply.redirect(next, 303)
  return showNewRecoveryCodes(raised, next, env)
}

export async function showNewRecoveryCodes(visit: SignedInVisit, next: string, env: BrowserEnv): Promise<FastifyReply> {
  const codes = newRecoveryCodes()
  await env.factors.replaceRecoveryCodes(
    visit.user.id,
    codes.map((code) => recoveryDigest(code, env.sealingKey)),
  )
  return sendPage(visit.reply, recoveryCodesPage(frameFor(env.pages, visit), { codes, next }))
}

function openSealed(sealed: string | undefined, user: User, env: BrowserEnv): Buffer {
  try {
    return unseal(sealed ?? '', env.sealingKey, purposeOf(user))
  } catch {
    throw expired()
  }
}

function purposeOf({ id }: User): string {
  return `totp set-up of ${id}`
}
