/** The endpoints and pages that people's browsers use. */

import type { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { logFailure } from '../../http/problem.ts'
import type { RouteGroup } from '../../http/route.ts'
import { type ErrorData, errorPage } from '../pages/error.ts'
import type { Messages } from '../pages/messages/en.ts'
import { accountAccessRoutes } from './account/access.ts'
import { accountRoutes } from './account/account.ts'
import { accountDataRoutes } from './account/data.ts'
import { accountFactorRoutes } from './account/factors.ts'
import { accountProfileRoutes } from './account/profile.ts'
import { verifyAddressRoutes } from './account/verify-address.ts'
import { agentRefusedRoutes } from './agent-refused.ts'
import { authorizeRoutes } from './authorize.ts'
import { consentRoutes } from './consent.ts'
import { browserCookies } from './cookies.ts'
import { deviceRoutes } from './device.ts'
import type { BrowserEnv } from './env.ts'
import { anonymousFrame, BROWSER_HEADERS, type PageSettings, sendPage } from './page-reply.ts'
import { factorSetUpRoutes } from './sign-in/factor-set-up.ts'
import { forgotPasswordRoutes } from './sign-in/forgot-password.ts'
import { forcedChangeRoutes } from './sign-in/new-password.ts'
import { secondFactorRoutes } from './sign-in/second-factor.ts'
import { setUpRoutes } from './sign-in/set-up.ts'
import { signInRoutes } from './sign-in/sign-in.ts'
import { checkSessionRoute } from './sign-out/check-session.ts'
import { endSessionRoutes } from './sign-out/end-session.ts'

/** Loaded on first use; server/routes.ts declares their paths. */
export function browserGroups(parts: Omit<BrowserEnv, 'cookies'>): readonly RouteGroup[] {
  const env: BrowserEnv = { ...parts, cookies: browserCookies(parts.issuer.name) }
  return [
    { at: [], limit: 'pages', routes: [checkSessionRoute(env.cookies)] },
    {
      at: [],
      limit: 'pages',
      headers: BROWSER_HEADERS,
      fail: (context, error) => showError(context, error, env.pages),
      routes: [
        ...authorizeRoutes(env),
        ...endSessionRoutes(env),
        ...signInRoutes(env),
        ...secondFactorRoutes(env),
        ...factorSetUpRoutes(env),
        ...forcedChangeRoutes(env),
        ...setUpRoutes(env),
        ...(env.mail === undefined
          ? []
          : [...forgotPasswordRoutes(env, env.mail), ...verifyAddressRoutes(env, env.mail)]),
        ...consentRoutes(env),
        ...(env.agents === undefined ? [] : agentRefusedRoutes(env, env.agents)),
        ...deviceRoutes(env),
        ...accountProfileRoutes(env),
        ...accountRoutes(env),
        ...accountAccessRoutes(env),
        ...accountDataRoutes(env),
        ...accountFactorRoutes(env),
      ],
    },
  ]
}

/** Errors that must not be sent to a client are shown to the person, with details for the client's developers. */
export function showError(context: Context, error: unknown, pages: PageSettings): void {
  const refusal = logFailure(context, error)
  context.setHeaders(refusal?.details.headers ?? {})
  const frame = anonymousFrame(pages, context)
  const page = errorPage(frame, { ...explain(refusal, frame.language.messages), requestId: context.id })
  sendPage(context, page, { status: refusal?.status ?? 500 })
}

function explain(refusal: Refusal | undefined, text: Messages): Omit<ErrorData, 'requestId'> {
  if (refusal === undefined) return { title: text.error, lead: text.serverFault }
  const { code, message: detail } = refusal
  if (code === 'server.unavailable') return { title: text.error, lead: text.unavailable, detail }
  if (code === 'page.expired') return { title: text.pageExpired, lead: text.pageExpiredLead, way: 'sign-in' }
  if (code === 'page.forged') return { title: text.error, lead: text.forgery, way: 'sign-in' }
  return { title: text.error, lead: text.badRequest, code, detail }
}
