/** POST /connect/deviceauthorization (RFC 8628 §3.1): a device without a browser asks for a code to show. */
import type { FastifyInstance } from 'fastify'
import type { DeviceCodes } from '../store/device-codes.ts'
import { authenticateClient, type ClientAuthEnv } from './client-auth.ts'
import { formOf } from './oauth-door.ts'
import { refuse } from './oauth-error.ts'
import { allowedToClient, parseScope, withoutUselessOffline } from './scope.ts'
import { callerOf } from './token.ts'

export interface DeviceAuthorizationEnv extends ClientAuthEnv {
  readonly issuerName: string
  readonly stores: { readonly deviceCodes: Pick<DeviceCodes, 'issue'> }
}

const LIFETIME_SECONDS = 600
const INTERVAL_SECONDS = 5

export function registerDeviceAuthorization(app: FastifyInstance, env: DeviceAuthorizationEnv): void {
  app.post('/connect/deviceauthorization', async (request) => {
    const form = formOf(request)
    const client = await authenticateClient(callerOf(request), form, env)
    if (!client.grantTypes.has('urn:ietf:params:oauth:grant-type:device_code'))
      throw refuse('unauthorized_client', 'The client is not configured for device authorization')
    const scopes = withoutUselessOffline(allowedToClient(parseScope(form.get('scope')), client), client)
    const { deviceCode, userCode } = await env.stores.deviceCodes.issue({
      clientId: client.id,
      scopes,
      lifetimeMs: LIFETIME_SECONDS * 1000,
      intervalSeconds: INTERVAL_SECONDS,
    })
    const page = `${env.issuerName}/device`
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: LIFETIME_SECONDS,
      interval: INTERVAL_SECONDS,
    }
  })
}
