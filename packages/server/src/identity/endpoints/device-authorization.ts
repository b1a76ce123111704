/** POST /connect/deviceauthorization (RFC 8628 §3.1): a device without a browser gets a code to show. */
import type { Context } from '../../http/context.ts'
import { FORM } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { DeviceCodes } from '../../store/authorizations/device-codes.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { isForAgents, MOST_RESOURCES, readResources, scopesOfTarget } from '../apis/targets.ts'
import { authenticateClient, type ClientAuthEnv, readForm } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { dropUnusableOfflineAccess, readAllowedScopes } from '../tokens/scope.ts'

export interface DeviceAuthorizationEnv extends ClientAuthEnv {
  readonly issuerName: string
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly stores: { readonly deviceCodes: Pick<DeviceCodes, 'issue'> }
}

const LIFETIME_SECONDS = 600
const INTERVAL_SECONDS = 5

export function deviceAuthorizationRoute(env: DeviceAuthorizationEnv): Route {
  return {
    method: 'POST',
    path: '/connect/deviceauthorization',
    body: FORM,
    handle: async (context) => context.json(await authorizeDevice(context, env)),
  }
}

async function authorizeDevice(context: Context, env: DeviceAuthorizationEnv): Promise<object> {
  const form = readForm(context, 'resource')
  const client = await authenticateClient(context, form, env)
  if (!client.grantTypes.has('urn:ietf:params:oauth:grant-type:device_code'))
    throw refuse(
      'unauthorized_client',
      'The client is not registered for the grant_type urn:ietf:params:oauth:grant-type:device_code',
    )
  const known = env.apis.known()
  const rules = {
    issuer: env.issuerName,
    registered: client.scopes,
    isAgent: client.agent,
    known,
    most: MOST_RESOURCES,
  }
  const audiences = readResources(form.all('resource'), rules)
  const allowed = readAllowedScopes(form.get('scope'), client, audiences, known)
  const isWhole = audiences === undefined || isForAgents(audiences, known)
  const named = isWhole ? allowed : scopesOfTarget(allowed, { resource: undefined, audiences }, known)
  const scopes = dropUnusableOfflineAccess(named, client)
  const { deviceCode, userCode } = await env.stores.deviceCodes.issue({
    clientId: client.id,
    scopes,
    audiences,
    lifetimeMs: LIFETIME_SECONDS * 1000,
    intervalSeconds: INTERVAL_SECONDS,
    address: context.address,
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
}
