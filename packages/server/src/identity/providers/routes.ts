/** The routes of sign-ins through other providers, loaded by the first request to one of them. */
import type { RouteGroup } from '../../http/route.ts'
import { formRoute, openAnonymousContext, pageRoute } from '../browser/browser-context.ts'
import { browserCookies } from '../browser/cookies.ts'
import { answerHead, BROWSER_HEADERS } from '../browser/page-reply.ts'
import { showError } from '../browser/routes.ts'
import { takeAnswer } from './callback.ts'
import type { Federation } from './connector.ts'
import { CONNECTORS } from './connectors.ts'
import type { ProvidersEnv } from './env.ts'
import { showFault } from './error-page.ts'
import { isProviderFault } from './faults.ts'
import { askToLink, askToUnlink, decideLink, unlink } from './linking.ts'
import { backFromSignOut, endProviderSessions } from './sign-out.ts'
import { startInvitation, startLinking, startSignIn, startTrial } from './start.ts'

export function providerGroups(parts: Omit<ProvidersEnv, 'cookies'>): readonly RouteGroup[] {
  const env: ProvidersEnv = { ...parts, cookies: browserCookies(parts.issuer.name) }
  const federation: Federation = {
    find: env.providers.findAny,
    endSessions: (http, provider, notice) => endProviderSessions(http, provider, notice, env),
  }
  return [
    ...Object.values(CONNECTORS).flatMap(({ routes }) => routes(federation, env)),
    {
      at: ['/external'],
      limit: 'pages',
      headers: BROWSER_HEADERS,
      fail(http, error) {
        if (isProviderFault(error)) showFault(openAnonymousContext(http, env), error, 'sign-in', env)
        else showError(http, error, env.pages)
      },
      routes: [
        { ...pageRoute('/external/:id/start', startSignIn, env), head: answerHead },
        { ...pageRoute('/external/:id/callback', takeAnswer, env), head: answerHead },
        { ...pageRoute('/external/:id/trial', startTrial, env), head: answerHead },
        { ...pageRoute('/external/:id/signed-out', backFromSignOut, env), head: answerHead },
        formRoute('/external/:id/invitation', 'browser', startInvitation, env),
        formRoute('/external/:id/link', 'session', startLinking, env),
        pageRoute('/external/:id/confirm', askToLink, env),
        formRoute('/external/:id/confirm', 'session', decideLink, env),
        pageRoute('/external/:id/unlink', askToUnlink, env),
        formRoute('/external/:id/unlink', 'session', unlink, env),
      ],
    },
  ]
}
