/** Setting up an authenticator app, on the account page or during a sign-in that requires one. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { NewFactor } from '../../../store/accounts/factors.ts'
import type { User } from '../../../store/accounts/user.ts'
import { seal, unseal } from '../../../store/keys/opaque.ts'
import { newRecoveryCodes, recoveryDigest } from '../../factors/recovery-codes.ts'
import { base32, matchTotp, newTotpSecret, totpUri } from '../../factors/totp.ts'
import { qrSvg } from '../../pages/qr.ts'
import { authenticatorSetUpPage, recoveryCodesPage } from '../../pages/second-factor.ts'
import { personAsAuthor } from '../account-author.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { claimFlow, expired, type FlowInteraction } from '../flow.ts'
import { type FormErrorIn, frameFor, sendPage } from '../page-reply.ts'
import { proceed } from '../proceed.ts'
import { findRequestClient } from '../request-client.ts'
import { SEALED_TOTP } from './second-factor.ts'

export function factorSetUpRoutes(env: BrowserEnv): readonly Route[] {
  const whenAllowed =
    (act: (context: SignedInBrowser, place: SetUpPlace, parameters: FormParameters) => Promise<void>) =>
    async (context: BrowserContext, parameters: FormParameters) => {
      const flow = await claimFlow(parameters.get('flow'), context, env.flows)
      // A person with a second factor must use it, not set up another.
      if (!isSignedIn(context) || context.user.hasSecondFactor) return proceed(context, flow, env)
      if (!isFresh(context, env)) return signInFirst(context, flow.handle, env)
      return act(context, await setUpPlace(flow, context.user, env), parameters)
    }
  return [
    pageRoute(
      '/set-up-factor',
      whenAllowed((context, place) => showSetUp(context, place, env)),
      env,
    ),
    formRoute(
      '/set-up-factor',
      'session',
      whenAllowed((context, place, form) => takeSetUp(context, form, place, env)),
      env,
    ),
  ]
}

async function setUpPlace({ handle, details }: FlowInteraction, user: User, env: BrowserEnv): Promise<SetUpPlace> {
  const next = `${env.pages.base}/continue?flow=${encodeURIComponent(handle)}`
  const isAskedByClient = !user.requiresSecondFactor && details.kind === 'authorize'
  const client = isAskedByClient ? await findRequestClient(details.request, env) : undefined
  return { path: '/set-up-factor', flow: handle, required: true, askedBy: client?.name, next }
}

const FRESH_MS = 10 * 60_000

/** An unattended browser must not be enough to add a second factor. */
export function isFresh({ session }: Pick<BrowserContext, 'session'>, { clock }: Pick<BrowserEnv, 'clock'>): boolean {
  return session !== undefined && clock() - session.authTime <= FRESH_MS
}

export function signInFirst(context: BrowserContext, flow: string, env: BrowserEnv): void {
  context.http.redirect(`${env.pages.base}/sign-in?flow=${encodeURIComponent(flow)}`)
}

/** Where the set-up happens, and the next page. */
export interface SetUpPlace {
  readonly path: string
  readonly flow: string | undefined
  readonly required: boolean
  /** The application that asks for it, if the organisation does not. */
  readonly askedBy?: string | undefined
  readonly next: string
}

export async function showSetUp(
  context: SignedInBrowser,
  place: SetUpPlace,
  env: BrowserEnv,
  again?: { readonly secret: Buffer; readonly error: FormErrorIn },
): Promise<void> {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const secret = again?.secret ?? newTotpSecret()
  const { brand } = env.pages
  const page = authenticatorSetUpPage(frame, {
    ...place,
    qr: await qrSvg(totpUri(secret, brand.name, context.user.username), frame.language.messages.setUpQr),
    key: base32(secret).replace(/(.{4})(?=.)/g, '$1 '),
    // Nothing is stored until a code proves that the app has the secret; the page carries it sealed.
    sealed: seal(secret, env.sealingKey, sealPurpose(context.user)),
    formError: again?.error(frame.language.messages),
  })
  sendPage(context.http, page, { status: again === undefined ? 200 : 400 })
}

export async function takeSetUp(
  context: SignedInBrowser,
  form: FormParameters,
  place: SetUpPlace,
  env: BrowserEnv,
): Promise<void> {
  const secret = openSealed(form.get('sealed'), context.user, env)
  const step = matchTotp(secret, form.get('code') ?? '', env.clock())
  if (step === undefined) {
    return showSetUp(context, place, env, { secret, error: (text) => ({ text: text.wrongCode, field: 'code' }) })
  }
  const label = form.get('label')?.slice(0, 60) ?? 'Authenticator'
  const sealed = seal(secret, env.sealingKey, SEALED_TOTP)
  await addFactor(context, { kind: 'totp', label, secret: sealed, counter: step }, env)
  return factorAdded(context, ['otp'], place.next, env)
}

/** The person is notified by mail, where it is set up. */
export function addFactor(
  context: SignedInBrowser,
  factor: Omit<NewFactor, 'userId'>,
  env: BrowserEnv,
): Promise<string> {
  const { id: userId } = context.user
  return env.accounts.change(personAsAuthor(context), (accounts) => accounts.addFactor({ ...factor, userId }))
}

/** The session now has two factors: it gets a new cookie, and with the first factor come recovery codes. */
export async function factorAdded(
  context: SignedInBrowser,
  methods: readonly string[],
  next: string,
  env: BrowserEnv,
): Promise<void> {
  const amr = [...new Set([...context.session.amr, ...methods, 'mfa'])]
  const renewed = await env.sessions.renew(context.session, context.proof(amr))
  if (renewed === undefined) throw expired()
  const raised = context.signedIn(renewed, context.user)
  const factors = await env.factors.listOfUser(context.user.id)
  if (factors.some(({ kind }) => kind === 'recovery')) return context.http.redirect(next)
  return showNewRecoveryCodes(raised, next, env)
}

export async function showNewRecoveryCodes(context: SignedInBrowser, next: string, env: BrowserEnv): Promise<void> {
  const codes = newRecoveryCodes()
  const { id: userId } = context.user
  const digests = codes.map((code) => recoveryDigest(code, env.sealingKey))
  await env.accounts.change(personAsAuthor(context), (accounts) => accounts.replaceRecoveryCodes(userId, digests))
  const page = recoveryCodesPage(frameFor(env.pages, context), { codes, next, username: context.user.username })
  return sendPage(context.http, page, { scripts: "'self'" })
}

function openSealed(sealed: string | undefined, user: User, env: BrowserEnv): Buffer {
  try {
    return unseal(sealed ?? '', env.sealingKey, sealPurpose(user))
  } catch {
    throw expired()
  }
}

function sealPurpose({ id }: User): string {
  return `totp set-up of ${id}`
}
