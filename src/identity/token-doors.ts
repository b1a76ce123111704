/** The identity endpoints that programs call; the pages that people see are registered beside them. */
import type { FastifyInstance } from 'fastify'
import { allowClientOrigins } from './cors.ts'
import { type DeviceAuthorizationEnv, registerDeviceAuthorization } from './device-authorization.ts'
import { type IntrospectEnv, registerIntrospect } from './introspect.ts'
import { openOAuthDoor } from './oauth-door.ts'
import { type RevocationEnv, registerRevocation } from './revocation.ts'
import { registerToken, type TokenEnv } from './token.ts'
import { registerUserinfo, type UserinfoEnv } from './userinfo.ts'

export type TokenDoorsEnv = TokenEnv &
  UserinfoEnv &
  RevocationEnv &
  Omit<IntrospectEnv, 'issuerName'> &
  Omit<DeviceAuthorizationEnv, 'issuerName'>

export function registerTokenDoors(app: FastifyInstance, env: TokenDoorsEnv): void {
  const issuerName = env.issuer.name
  app.register(async (door) => {
    openOAuthDoor(door)
    registerIntrospect(door, { ...env, issuerName })
    registerDeviceAuthorization(door, { ...env, issuerName })
  })
  // Single-page applications call these from the origins that they are registered at.
  app.register(async (door) => {
    openOAuthDoor(door)
    allowClientOrigins(door, env.clients, ['/connect/token', '/connect/revocation', '/connect/userinfo'])
    registerToken(door, env)
    registerRevocation(door, env)
    registerUserinfo(door, env)
  })
}
