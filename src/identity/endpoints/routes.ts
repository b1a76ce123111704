/** The identity endpoints that programs call; browsers use those of `browser/routes.ts`. */
import type { CorsPolicy } from '../../http/cors.ts'
import type { RouteGroup } from '../../http/route.ts'
import type { ClientDirectory } from '../clients/client-directory.ts'
import { OAUTH_HEADERS, replyWithOAuthError } from '../oauth-request.ts'
import { type DeviceAuthorizationEnv, deviceAuthorizationRoute } from './device-authorization.ts'
import { type IntrospectionEnv, introspectionRoute } from './introspection.ts'
import { type RevocationEnv, revocationRoute } from './revocation.ts'
import { type TokenEnv, tokenRoute } from './token.ts'
import { replyWithUserinfoError, type UserinfoEnv, userinfoRoutes } from './userinfo.ts'

export type EndpointsEnv = TokenEnv &
  UserinfoEnv &
  RevocationEnv &
  Omit<IntrospectionEnv, 'issuerName'> &
  Omit<DeviceAuthorizationEnv, 'issuerName'> & { readonly clients: ClientDirectory }

export function endpointGroups(env: EndpointsEnv): readonly RouteGroup[] {
  const issuerName = env.issuer.name
  const oauth = { limit: 'token', headers: OAUTH_HEADERS, fail: replyWithOAuthError } as const
  // Single-page applications call these from the origins that they are registered at.
  const cors: CorsPolicy = {
    isAllowed: (origin) => env.clients.isClientOrigin(origin),
    requestHeaders: ['Authorization', 'Content-Type', 'Request-Id'],
    exposedHeaders: ['WWW-Authenticate'],
  }
  return [
    {
      ...oauth,
      at: ['/connect'],
      routes: [introspectionRoute({ ...env, issuerName }), deviceAuthorizationRoute({ ...env, issuerName })],
    },
    { ...oauth, cors, at: ['/connect/token', '/connect/revocation'], routes: [tokenRoute(env), revocationRoute(env)] },
    { ...oauth, cors, at: ['/connect/userinfo'], fail: replyWithUserinfoError, routes: userinfoRoutes(env) },
  ]
}
