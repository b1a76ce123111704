/** `/device`: a person authorizes a device by the code it shows (RFC 8628 §3.3); guesses are throttled. */

import type { Context } from '../../http/context.ts'
import type { FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import { addressNetwork } from '../../lib/network.ts'
import type { ThrottlePolicy } from '../../store/accounts/throttles.ts'
import type { DeviceRequest } from '../../store/authorizations/device-codes.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from '../pages/device.ts'
import type { Messages } from '../pages/messages/en.ts'
import { chooseDisplayName, deriveAcr } from '../tokens/claims.ts'
import { limitToRights } from '../tokens/scope.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from './browser-context.ts'
import { namesAll } from './consent.ts'
import type { BrowserEnv } from './env.ts'
import type { OwnNeeds } from './flow.ts'
import { frameFor, replyLater, sendPage } from './page-reply.ts'
import { redirectedFirst } from './proceed.ts'

/** RFC 8628 §5.1: a few attempts per user and per network, then growing delays. */
const GUESSES: ThrottlePolicy = { free: 5, firstWaitMs: 2000, longestWaitMs: 15 * 60_000, forgetMs: 60 * 60_000 }

export function deviceRoutes(env: BrowserEnv): readonly Route[] {
  const whenSignedIn =
    (
      act: (context: SignedInBrowser, userCode: string | undefined, parameters: FormParameters) => void | Promise<void>,
    ) =>
    async (context: BrowserContext, parameters: FormParameters) => {
      const userCode = parameters.get('user_code')?.slice(0, 40)
      if (await redirectedFirst(context, { name: 'device', userCode }, {}, env)) return
      if (isSignedIn(context)) await act(context, userCode, parameters)
    }
  return [
    pageRoute(
      '/device',
      whenSignedIn((context, userCode) =>
        userCode !== undefined && isOpenedByPerson(context.http)
          ? showRequest(context, userCode, env)
          : askCode(context, { userCode }, env),
      ),
      env,
    ),
    formRoute(
      '/device',
      'session',
      whenSignedIn((context, userCode = '') => showRequest(context, userCode, env)),
      env,
    ),
    formRoute(
      '/device/decision',
      'session',
      whenSignedIn((context, userCode = '', form) => decide(context, userCode, form, env)),
      env,
    ),
  ]
}

/**
 * Whether the address was typed, scanned or opened by a program, or is a redirect of our own. A code in a link of another site is
 * not looked up until the person sends the form. Otherwise other sites could use up the attempts of everyone who visits them.
 */
function isOpenedByPerson({ headers }: Context): boolean {
  const site = headers['sec-fetch-site']
  return site === 'none' || site === 'same-origin'
}

function askCode(
  context: SignedInBrowser,
  {
    status = 200,
    userCode,
    message,
  }: { readonly status?: number; readonly userCode: string | undefined; readonly message?: (text: Messages) => string },
  env: BrowserEnv,
): void {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = message && { text: message(frame.language.messages), field: 'user_code' }
  sendPage(context.http, deviceCodePage(frame, { userCode, formError }), { status })
}

interface Found {
  readonly request: DeviceRequest
  readonly client: Client
  readonly scopes: readonly string[]
}

/** Undefined once an error page has been sent. */
async function find(context: SignedInBrowser, userCode: string, env: BrowserEnv): Promise<Found | undefined> {
  const keys = [`device user ${context.user.id}`, `device address ${addressNetwork(context.http.address)}`]
  const attempted = await env.attempts.make(
    keys.map((key) => ({ key, policy: GUESSES })),
    () => lookUp(context, userCode, env),
    (found) => found === undefined,
  )
  if (attempted.outcome !== 'made') {
    const { status, error } = replyLater(context.http, attempted)
    askCode(context, { status, userCode, message: (text) => error(text).text }, env)
    return undefined
  }
  // Wrong, expired and decided codes get the same reply (C-76).
  if (attempted.result === undefined)
    askCode(context, { status: 400, userCode, message: (text) => text.wrongUserCode }, env)
  return attempted.result
}

async function lookUp({ user }: SignedInBrowser, userCode: string, env: BrowserEnv): Promise<Found | undefined> {
  const request = await env.deviceCodes.findPending(userCode)
  const client = request === undefined ? undefined : await env.clients.find(request.clientId)
  if (request === undefined || client === undefined || client.disabled) return undefined
  return { request, client, scopes: limitToRights(request.scopes, user) }
}

async function showRequest(context: SignedInBrowser, userCode: string, env: BrowserEnv): Promise<void> {
  const found = await find(context, userCode, env)
  if (found === undefined) return
  const needs = clientNeeds(found.client)
  if (await redirectedFirst(context, { name: 'device', userCode }, needs, env)) return
  return askToConfirm(context, userCode, found, env)
}

function clientNeeds({ requireSecondFactor: secondFactor, requireAge: age }: Client): OwnNeeds {
  return { secondFactor, age }
}

function askToConfirm(context: SignedInBrowser, userCode: string, { client, scopes }: Found, env: BrowserEnv): void {
  const page = deviceConfirmPage(frameFor(env.pages, context, { boundTo: 'session' }), {
    userCode: shown(userCode),
    client: client.name,
    username: chooseDisplayName(context.user),
    scopes,
  })
  sendPage(context.http, page)
}

async function decide(
  context: SignedInBrowser,
  userCode: string,
  form: FormParameters,
  env: BrowserEnv,
): Promise<void> {
  const decision = form.get('decision') === 'allow' ? 'allow' : 'deny'
  const found = await find(context, userCode, env)
  if (found === undefined) return
  const needs = decision === 'allow' ? clientNeeds(found.client) : {}
  if (await redirectedFirst(context, { name: 'device', userCode }, needs, env)) return
  if (decision === 'allow' && !namesAll(form, found.scopes)) return askToConfirm(context, userCode, found, env)
  const { user, session, http } = context
  // Signing out in this browser does not sign out the device.
  const approval = {
    userId: user.id,
    sessionId: undefined,
    scopes: found.scopes,
    authTime: session.authTime,
    amr: session.amr,
    acr: deriveAcr(session.amr),
    boundedUntil: session.boundedUntil,
  }
  // Before the approval, which is valid only with it. Like every consent it is listed on the account page.
  if (decision === 'allow') await env.consents.allow(user.id, found.client.id, found.scopes)
  const first = await env.deviceCodes.decide(userCode, decision === 'allow' ? approval : 'denied')
  if (!first) return askCode(context, { status: 400, userCode, message: (text) => text.wrongUserCode }, env)
  env.audit.record({
    event: decision === 'allow' ? 'device.approved' : 'device.refused',
    actor: user.id,
    client: found.client.id,
    address: http.address,
    requestId: http.id,
    details: { scope: found.scopes },
  })
  return sendPage(context.http, deviceDonePage(frameFor(env.pages, context), decision))
}

/** As the device shows it. */
function shown(userCode: string): string {
  const letters = userCode.toUpperCase().replace(/[^A-Z]/g, '')
  return letters.length === 8 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters
}
