/** Everything that people's browsers come to: the authorization endpoint, the pages, the ways out. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asRefusal } from '../../http/app.ts'
import { acceptForms } from '../../http/form.ts'
import type { Refusal } from '../../protocol/refusal.ts'
import { isUnavailable } from '../../store/unavailable.ts'
import { registerAuthorize } from '../authorize/authorize.ts'
import { type ErrorData, errorPage } from '../pages/error.ts'
import { chooseLanguage } from '../pages/messages/choose.ts'
import type { Messages } from '../pages/messages/en.ts'
import { registerAccount } from './account.ts'
import { registerAccountFactors } from './account-factors.ts'
import { type Logo, registerAssets } from './assets.ts'
import { registerCheckSession } from './check-session.ts'
import { registerConsent } from './consent.ts'
import { browserCookies } from './cookies.ts'
import { registerDevice } from './device.ts'
import { registerEndSession } from './end-session.ts'
import type { BrowserEnv } from './env.ts'
import { registerFactorSetUp } from './factor-set-up.ts'
import { BROWSER_HEADERS, type PageSettings, sendPage } from './page-reply.ts'
import { registerSecondFactor } from './second-factor.ts'
import { registerSignIn } from './sign-in.ts'

export interface BrandSettings {
  readonly name: string
  readonly colour: string
  /** Undefined for our own mark. */
  readonly logo: Logo | undefined
}

export function registerBrowserDoors(
  server: FastifyInstance,
  parts: Omit<BrowserEnv, 'pages' | 'cookies'>,
  brand: BrandSettings,
): void {
  server.register(async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(BROWSER_HEADERS)
      done()
    })
    registerEveryDoor(app, parts, brand)
  })
}

function registerEveryDoor(
  app: FastifyInstance,
  parts: Omit<BrowserEnv, 'pages' | 'cookies'>,
  brand: BrandSettings,
): void {
  const base = new URL(parts.issuer.name).pathname.replace(/\/$/, '')
  const assets = registerAssets(app, { base, colour: brand.colour, logo: brand.logo })
  const pages: PageSettings = { base, assets, brand: { name: brand.name, colour: brand.colour, logo: assets.logo } }
  const env: BrowserEnv = { ...parts, pages, cookies: browserCookies(parts.issuer.name) }
  registerCheckSession(app, env.cookies)
  app.register(async (door) => {
    acceptForms(door)
    door.setErrorHandler((error: FastifyError | Refusal | Error, request, reply) =>
      showError(error, request, reply, pages),
    )
    registerAuthorize(door, env)
    registerEndSession(door, env)
    registerSignIn(door, env)
    registerSecondFactor(door, env)
    registerFactorSetUp(door, env)
    registerConsent(door, env)
    registerDevice(door, env)
    registerAccount(door, env)
    registerAccountFactors(door, env)
  })
}

/** What cannot or must not be told to an application is told to the person, with what its developers need to know. */
function showError(
  error: FastifyError | Refusal | Error,
  request: FastifyRequest,
  reply: FastifyReply,
  { brand, assets, base }: PageSettings,
): FastifyReply {
  const refusal = asRefusal(error)
  if (refusal === undefined) request.log.error({ err: error }, 'failed')
  else if (refusal.cause !== undefined) request.log.info({ err: refusal.cause, code: refusal.code }, 'refused')
  reply.headers(refusal?.details.headers ?? {})
  const language = chooseLanguage(undefined, request.headers['accept-language'])
  const frame = { brand, language, base, stylesheet: assets.stylesheet, formToken: '' }
  const page = errorPage(frame, { ...explain(refusal, language.messages), requestId: request.id })
  return sendPage(reply, page, { status: refusal?.status ?? (isUnavailable(error) ? 503 : 500) })
}

function explain(refusal: Refusal | undefined, text: Messages): Omit<ErrorData, 'requestId'> {
  if (refusal === undefined) return { title: text.error, lead: text.serverFault, code: undefined, detail: undefined }
  const { code, message: detail } = refusal
  if (code === 'page.expired')
    return { title: text.pageExpired, lead: text.pageExpiredLead, code: undefined, detail: undefined }
  if (code === 'page.forged') return { title: text.error, lead: text.forgery, code: undefined, detail: undefined }
  return { title: text.error, lead: text.badRequest, code, detail }
}
