/** The identity endpoints that programs call; browsers use those of `browser/routes.ts`. */
import type { CorsPolicy } from '../../http/cors.ts'
import type { RouteGroup } from '../../http/route.ts'
import { OAUTH_HEADERS, replyWithOAuthError } from '../oauth-error.ts'
import { type DeviceAuthorizationEnv, deviceAuthorizationRoute } from './device-authorization.ts'
import { type IntrospectionEnv, introspectionRoute } from './introspection.ts'
import { type PushedAuthorizationEnv, pushedAuthorizationRoute, replyWithPushError } from './pushed-authorization.ts'
import { type RevocationEnv, revocationRoute } from './revocation.ts'
import { type TokenEnv, tokenRoute } from './token.ts'
import { replyWithUserinfoError, type UserinfoEnv, userinfoRoutes } from './userinfo.ts'

export type EndpointsEnv = TokenEnv &
  UserinfoEnv &
  RevocationEnv &
  PushedAuthorizationEnv &
  Omit<IntrospectionEnv, 'issuerName'> &
  Omit<DeviceAuthorizationEnv, 'issuerName'>

/** Introspection needs a client's secret, which no page has: it takes no cross-origin requests. */
export function endpointGroups(env: EndpointsEnv, cors: CorsPolicy): readonly RouteGroup[] {
  const issuerName = env.issuer.name
  const oauth = { limit: 'token', headers: OAUTH_HEADERS, fail: replyWithOAuthError } as const
  return [
    { ...oauth, at: ['/connect'], routes: [introspectionRoute({ ...env, issuerName })] },
    {
      ...oauth,
      cors,
      at: ['/connect/token', '/connect/revocation', '/connect/deviceauthorization'],
      routes: [tokenRoute(env), revocationRoute(env), deviceAuthorizationRoute({ ...env, issuerName })],
    },
    { ...oauth, cors, at: ['/connect/par'], fail: replyWithPushError, routes: [pushedAuthorizationRoute(env)] },
    { ...oauth, cors, at: ['/connect/userinfo'], fail: replyWithUserinfoError, routes: userinfoRoutes(env) },
  ]
}
