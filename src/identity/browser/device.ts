/** `/device`: a person lets a device in by the code that it shows (RFC 8628 §3.3), slowly enough that codes cannot be guessed. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { networkOf } from '../../http/doors.ts'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import type { Client } from '../../store/client-metadata.ts'
import type { DeviceRequest } from '../../store/device-codes.ts'
import type { ThrottlePolicy } from '../../store/throttles.ts'
import { acrOf } from '../acr.ts'
import { displayNameOf } from '../claims.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from '../pages/device.ts'
import type { Messages } from '../pages/messages/en.ts'
import { heldByUser } from '../scope.ts'
import { namesAll } from './consent.ts'
import type { BrowserEnv } from './env.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { isLedAway } from './proceed.ts'
import { isSignedIn, openVisit, type SignedInVisit } from './visit.ts'

/** RFC 8628 §5.1: a handful of tries by one person or from one place, then waits that grow. */
const GUESSES: ThrottlePolicy = { free: 5, firstWaitMs: 2000, longestWaitMs: 15 * 60_000, forgetMs: 60 * 60_000 }

export function registerDevice(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/device', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const userCode = queryParameters(request).get('user_code')?.slice(0, 40)
    if ((await isLedAway(visit, { name: 'device', userCode }, {}, env)) || !isSignedIn(visit)) return reply
    return userCode === undefined ? askCode(visit, undefined, env) : showRequest(visit, userCode, env)
  })
  app.post('/device', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const userCode = form.get('user_code')?.slice(0, 40)
    if ((await isLedAway(visit, { name: 'device', userCode }, {}, env)) || !isSignedIn(visit)) return reply
    return showRequest(visit, userCode ?? '', env)
  })
  app.post('/device/decision', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    const form = formParameters(request)
    visit.checkForm(form, 'session')
    const userCode = form.get('user_code')?.slice(0, 40) ?? ''
    if ((await isLedAway(visit, { name: 'device', userCode }, {}, env)) || !isSignedIn(visit)) return reply
    return decide(visit, userCode, form, env)
  })
}

function askCode(
  visit: SignedInVisit,
  mistake:
    | { readonly status: number; readonly userCode: string; readonly told: (text: Messages) => string }
    | undefined,
  env: BrowserEnv,
): FastifyReply {
  const frame = frameFor(env.pages, visit, { boundTo: 'session' })
  const told = mistake && { text: mistake.told(frame.language.messages), field: 'user_code' }
  const page = deviceCodePage(frame, { userCode: mistake?.userCode, mistake: told })
  return sendPage(visit.reply, page, { status: mistake?.status ?? 200 })
}

interface Found {
  readonly request: DeviceRequest
  readonly client: Client
  readonly scopes: readonly string[]
}

/** Undefined once the page has told what is wrong. Every look is counted, so that looking at many codes is as slow as trying them. */
async function find(visit: SignedInVisit, userCode: string, env: BrowserEnv): Promise<Found | undefined> {
  const keys = [`device user ${visit.user.id}`, `device address ${networkOf(visit.request.ip)}`]
  const wait = await env.throttles.takeAll(keys.map((key) => ({ key, policy: GUESSES })))
  if (wait > 0) {
    const seconds = Math.ceil(wait / 1000)
    visit.reply.header('retry-after', String(seconds))
    askCode(visit, { status: 429, userCode, told: (text) => text.tryLater(seconds) }, env)
    return undefined
  }
  const request = await env.deviceCodes.findPending(userCode)
  const client = request === undefined ? undefined : await env.clients.find(request.clientId)
  // Wrong, expired and decided look the same (C-76).
  if (request === undefined || client === undefined || client.disabled) {
    askCode(visit, { status: 400, userCode, told: (text) => text.wrongUserCode }, env)
    return undefined
  }
  await env.throttles.giveBack(keys)
  return { request, client, scopes: heldByUser(request.scopes, visit.user) }
}

async function showRequest(visit: SignedInVisit, userCode: string, env: BrowserEnv): Promise<FastifyReply> {
  const found = await find(visit, userCode, env)
  if (found === undefined) return visit.reply
  const needs = { secondFactor: found.client.requireSecondFactor }
  if (await isLedAway(visit, { name: 'device', userCode }, needs, env)) return visit.reply
  return askToConfirm(visit, userCode, found, env)
}

function askToConfirm(
  visit: SignedInVisit,
  userCode: string,
  { client, scopes }: Found,
  env: BrowserEnv,
): FastifyReply {
  const page = deviceConfirmPage(frameFor(env.pages, visit, { boundTo: 'session' }), {
    userCode: shown(userCode),
    client: client.name,
    username: displayNameOf(visit.user),
    scopes,
  })
  return sendPage(visit.reply, page)
}

async function decide(
  visit: SignedInVisit,
  userCode: string,
  form: Parameters,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const decision = form.get('decision') === 'allow' ? 'allow' : 'deny'
  const found = await find(visit, userCode, env)
  if (found === undefined) return visit.reply
  const needs = { secondFactor: found.client.requireSecondFactor && decision === 'allow' }
  if (await isLedAway(visit, { name: 'device', userCode }, needs, env)) return visit.reply
  if (decision === 'allow' && !namesAll(form, found.scopes)) return askToConfirm(visit, userCode, found, env)
  const { user, session, request } = visit
  // The device lives its own life: signing out in this browser does not sign it out.
  const approval = {
    userId: user.id,
    sessionId: undefined,
    scopes: found.scopes,
    authTime: session.authTime,
    amr: session.amr,
    acr: acrOf(session.amr),
  }
  // Before the approval, which counts only with it; on the account page, as every consent, so that it can be taken back.
  if (decision === 'allow') await env.consents.allow(user.id, found.client.id, found.scopes)
  const first = await env.deviceCodes.decide(userCode, decision === 'allow' ? approval : 'denied')
  if (!first) return askCode(visit, { status: 400, userCode, told: (text) => text.wrongUserCode }, env)
  env.audit.record({
    event: decision === 'allow' ? 'device.approved' : 'device.refused',
    actor: user.id,
    client: found.client.id,
    address: request.ip,
    requestId: request.id,
    details: { scope: found.scopes },
  })
  return sendPage(visit.reply, deviceDonePage(frameFor(env.pages, visit), decision))
}

/** As the device shows it. */
function shown(userCode: string): string {
  const letters = userCode.toUpperCase().replace(/[^A-Z]/g, '')
  return letters.length === 8 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters
}
