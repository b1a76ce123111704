/** npm `oidc-provider` set up for the FAPI 2.0 plans: a module that is red here is a wrong test. */
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import OidcProvider from 'oidc-provider'
import { getValidateAccessToken } from 'oidc-provider/lib/shared/access_token.js'
import { createSigningKey } from '../../conformance/fapi2/jws.ts'
import { CALLBACKS, type Plan, type PlanClient, type Target } from '../../conformance/fapi2/plan.ts'
import type { Certificate } from '../certificate.ts'
import { PROFILE_CLAIMS, person } from './provider.ts'

const TLS = {
  minVersion: 'TLSv1.2',
  ciphers: [
    ...['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ].join(':'),
} as const

/** Time is this process's own and stands still but for `elapse`. One plan alone: what is required is so for the whole provider. */
export async function startCertifiedFapi(plan: Plan, certificate: Certificate): Promise<Target> {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const server = https.createServer({ ...certificate, ...TLS })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `https://localhost:${port}`
  const scope = plan.openid ? 'openid offline_access' : plan.credentials ? 'api' : 'api offline_access'
  const clients = (['PS256', 'ES256'] as const).map((alg, index): PlanClient => {
    return { id: `fapi-${index}`, key: createSigningKey(alg), redirectUri: CALLBACKS[index] ?? '', scope }
  })
  const provider = new OidcProvider(issuer, configuration(plan, clients))
  if (!plan.openid) serveResource(provider)
  server.on('request', provider.callback())
  const [first, second] = clients
  if (first === undefined || second === undefined) throw new Error('There are two clients')
  return {
    name: 'oidc-provider',
    issuer,
    clients: () => [first, second],
    resource: () => `${issuer}/me`,
    now: Date.now,
    elapse: async (milliseconds) => mock.timers.tick(milliseconds),
    lacks: (id) => LACKING[id],
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      mock.timers.reset()
    },
  }
}

/** Its userinfo endpoint is for openid alone; here the same address accepts every access token, by its own checks. */
function serveResource(provider: OidcProvider): void {
  const { AccessToken, ClientCredentials } = provider
  const find = AccessToken.find.bind(AccessToken)
  AccessToken.find = async (value) => (await find(value)) ?? ClientCredentials.find(value)
  const validate = getValidateAccessToken()
  provider.use(async (context, next) => {
    if (context.path !== '/me') return next()
    context.oidc = new provider.OIDCContext(context)
    context.oidc.route = 'userinfo'
    try {
      await validate(context, async () => {
        context.body = {}
      })
    } catch (error) {
      context.status = 401
      context.body = { error: error instanceof Error ? error.message : 'unknown' }
    }
  })
}

const LACKING: Readonly<Record<string, string>> = {}

function configuration(plan: Plan, clients: readonly PlanClient[]): Record<string, unknown> {
  const claims = { ...person.claims, updated_at: Math.floor(Date.now() / 1000) - 1000 }
  const { privateKey, kid } = createSigningKey('PS256')
  return {
    clients: clients.map((client) => buildRegistration(plan, client)),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'PS256' }] },
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access', 'api'],
    claims: { openid: ['sub'], profile: [...PROFILE_CLAIMS], email: ['email', 'email_verified'] },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id, ...claims }) }),
    cookies: { keys: ['a key that signs cookies'] },
    clientAuthMethods: ['private_key_jwt'],
    enabledJWA: {
      clientAuthSigningAlgValues: ['PS256', 'ES256'],
      requestObjectSigningAlgValues: ['PS256', 'ES256'],
      authorizationSigningAlgValues: ['PS256'],
      idTokenSigningAlgValues: ['PS256'],
      dPoPSigningAlgValues: ['PS256', 'ES256'],
    },
    features: {
      claimsParameter: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      fapi: { enabled: true, profile: '2.0' },
      jwtResponseModes: { enabled: plan.jarm },
      pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
      requestObjects: { enabled: plan.signed, requireSignedRequestObject: plan.signed },
    },
    rotateRefreshToken: false,
    ttl: { AccessToken: 3600, AuthorizationCode: 60, Session: 86_400, Grant: 86_400, Interaction: 3600 },
  }
}

function buildRegistration(plan: Plan, { id, key, redirectUri }: PlanClient): Record<string, unknown> {
  return {
    client_id: id,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: key.alg,
    jwks: { keys: [key.publicJwk] },
    redirect_uris: plan.credentials ? [] : [redirectUri],
    response_types: plan.credentials ? [] : ['code'],
    grant_types: plan.credentials ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
    dpop_bound_access_tokens: true,
    id_token_signed_response_alg: 'PS256',
    ...(plan.signed ? { request_object_signing_alg: key.alg } : {}),
    ...(plan.jarm ? { authorization_signed_response_alg: 'PS256' } : {}),
  }
}
