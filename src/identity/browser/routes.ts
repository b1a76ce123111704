/** The endpoints and pages that people's browsers use. */
import type { Context } from '../../http/context.ts'
import { logFailure } from '../../http/problem.ts'
import type { RouteGroup } from '../../http/route.ts'
import type { Refusal } from '../../protocol/refusal.ts'
import { type ErrorData, errorPage } from '../pages/error.ts'
import type { Messages } from '../pages/messages/en.ts'
import { chooseLanguage } from '../pages/messages/language.ts'
import { accountRoutes } from './account.ts'
import { accountFactorRoutes } from './account-factors.ts'
import { createAssets, type Logo } from './assets.ts'
import { authorizeRoutes } from './authorize.ts'
import { checkSessionRoute } from './check-session.ts'
import { consentRoutes } from './consent.ts'
import { browserCookies } from './cookies.ts'
import { deviceRoutes } from './device.ts'
import { endSessionRoutes } from './end-session.ts'
import type { BrowserEnv } from './env.ts'
import { factorSetUpRoutes } from './factor-set-up.ts'
import { forcedChangeRoutes } from './new-password.ts'
import { BROWSER_HEADERS, type PageSettings, sendPage } from './page-reply.ts'
import { secondFactorRoutes } from './second-factor.ts'
import { setUpRoutes } from './set-up.ts'
import { signInRoutes } from './sign-in.ts'

export interface BrandSettings {
  readonly name: string
  readonly colour: string
  /** Undefined for our own mark. */
  readonly logo: Logo | undefined
}

/** Loaded on first use; server/routes.ts declares their paths. */
export function browserGroups(
  parts: Omit<BrowserEnv, 'pages' | 'cookies'>,
  brand: BrandSettings,
): readonly RouteGroup[] {
  const base = new URL(parts.issuer.name).pathname.replace(/\/$/, '')
  const { assets, routes } = createAssets({ base, colour: brand.colour, logo: brand.logo })
  const pages: PageSettings = { base, assets, brand: { name: brand.name, colour: brand.colour, logo: assets.logo } }
  const env: BrowserEnv = { ...parts, pages, cookies: browserCookies(parts.issuer.name) }
  return [
    { at: [], limit: 'pages', routes: [checkSessionRoute(env.cookies)] },
    { at: [], limit: 'pages', headers: BROWSER_HEADERS, routes },
    {
      at: [],
      limit: 'pages',
      headers: BROWSER_HEADERS,
      fail: (context, error) => showError(context, error, pages),
      routes: [
        ...authorizeRoutes(env),
        ...endSessionRoutes(env),
        ...signInRoutes(env),
        ...secondFactorRoutes(env),
        ...factorSetUpRoutes(env),
        ...forcedChangeRoutes(env),
        ...setUpRoutes(env),
        ...consentRoutes(env),
        ...deviceRoutes(env),
        ...accountRoutes(env),
        ...accountFactorRoutes(env),
      ],
    },
  ]
}

/** Errors that must not be sent to a client are shown to the person, with details for the client's developers. */
function showError(context: Context, error: unknown, { brand, assets, base }: PageSettings): void {
  const refusal = logFailure(context, error)
  context.setHeaders(refusal?.details.headers ?? {})
  const language = chooseLanguage(undefined, context.headers['accept-language'])
  const frame = { brand, language, base, stylesheet: assets.stylesheet, formToken: '' }
  const page = errorPage(frame, { ...explain(refusal, language.messages), requestId: context.id })
  sendPage(context, page, { status: refusal?.status ?? 500 })
}

function explain(refusal: Refusal | undefined, text: Messages): Omit<ErrorData, 'requestId'> {
  if (refusal === undefined) return { title: text.error, lead: text.serverFault, code: undefined, detail: undefined }
  const { code, message: detail } = refusal
  if (code === 'server.unavailable') return { title: text.error, lead: text.unavailable, code: undefined, detail }
  if (code === 'page.expired')
    return { title: text.pageExpired, lead: text.pageExpiredLead, code: undefined, detail: undefined }
  if (code === 'page.forged') return { title: text.error, lead: text.forgery, code: undefined, detail: undefined }
  return { title: text.error, lead: text.badRequest, code, detail }
}
