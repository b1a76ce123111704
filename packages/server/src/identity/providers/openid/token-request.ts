/** The requests to a provider's token and userinfo endpoints (OpenID Connect Core §3.1.3, §5.3). */
import { sign } from 'node:crypto'
import { type GuardedReply, guardedRequest } from '../../../http/outgoing/guarded-request.ts'
import { parseJson } from '../../../lib/exact-json.ts'
import { isObject, type Jwk } from '../../../store/keys/foreign-keys.ts'
import { newId } from '../../../store/keys/opaque.ts'
import { openClientSecret, openPrivateKey } from '../../../store/providers/provider-secrets.ts'
import { type ConnectorEnv, externalUrl } from '../connector.ts'
import { badAnswer, providerFault } from '../faults.ts'
import { deriveSecrets } from './authorization-request.ts'
import { fetchOptions, type OpenIdProvider, type ProviderMetadata } from './metadata.ts'

const TIMEOUT_MS = 10_000
const ASSERTION_SECONDS = 60
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface ProviderTokens {
  readonly idToken: string
  readonly accessToken: string | undefined
}

export async function redeemCode(
  code: string,
  state: string,
  provider: OpenIdProvider,
  metadata: ProviderMetadata,
  env: ConnectorEnv,
): Promise<ProviderTokens> {
  const { headers, parameters } = authenticate(provider, metadata, env)
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: externalUrl(provider, 'callback', env),
    code_verifier: deriveSecrets(state, env).verifier,
    ...parameters,
  }).toString()
  const reply = await request(metadata.tokenEndpoint, { method: 'POST', headers, body }, provider, env)
  if (reply.status !== 200) throw badAnswer(`The token endpoint answered ${reply.status}: ${errorExcerpt(reply)}`)
  const { id_token: idToken, access_token: accessToken } = readJsonObject(reply)
  if (typeof idToken !== 'string') throw badAnswer('The token endpoint returned no ID token')
  return { idToken, accessToken: typeof accessToken === 'string' ? accessToken : undefined }
}

/** The claims of userinfo; they must be about the same person (§5.3.2). */
export async function readUserinfo(
  accessToken: string,
  subject: string,
  endpoint: string,
  provider: OpenIdProvider,
  env: ConnectorEnv,
): Promise<Jwk> {
  const headers = { accept: 'application/json', authorization: `Bearer ${accessToken}` }
  const reply = await request(endpoint, { method: 'GET', headers }, provider, env)
  if (reply.status !== 200) throw badAnswer(`Userinfo answered ${reply.status}`)
  const claims = readJsonObject(reply)
  if (claims.sub !== subject) throw badAnswer('Userinfo is about another sub than the ID token')
  return claims
}

interface ClientAuthentication {
  readonly headers: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
}

function authenticate(
  provider: OpenIdProvider,
  { authMethods }: ProviderMetadata,
  env: ConnectorEnv,
): ClientAuthentication {
  const { clientId: client_id } = provider
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
  if (provider.authMethod === 'private_key_jwt') {
    const client_assertion = assertion(provider, env)
    return { headers, parameters: { client_id, client_assertion_type: JWT_BEARER, client_assertion } }
  }
  const client_secret = openClientSecret(provider, env.providerKey)
  if (client_secret === undefined) throw badAnswer('The definition of the provider has no client_secret')
  const isPostOnly = authMethods.includes('client_secret_post') && !authMethods.includes('client_secret_basic')
  if (isPostOnly) return { headers, parameters: { client_id, client_secret } }
  const encoded = [client_id, client_secret].map((text) => encodeURIComponent(text).replaceAll('%20', '+')).join(':')
  return {
    headers: { ...headers, authorization: `Basic ${Buffer.from(encoded).toString('base64')}` },
    parameters: {},
  }
}

/** RFC 7523 §3, with the key pair that this provider alone knows. */
function assertion(provider: OpenIdProvider, env: ConnectorEnv): string {
  const key = openPrivateKey(provider, env.providerKey)
  if (key === undefined) throw badAnswer('The definition of the provider has no key pair')
  const now = Math.floor(env.clock() / 1000)
  const parts = [
    { alg: 'ES256', typ: 'JWT', kid: provider.sealed.publicJwk?.kid },
    {
      iss: provider.clientId,
      sub: provider.clientId,
      aud: provider.assertionAudience ?? provider.issuer,
      jti: newId(),
      iat: now,
      exp: now + ASSERTION_SECONDS,
    },
  ]
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

async function request(
  address: string,
  options: { method: 'GET' | 'POST'; headers: Readonly<Record<string, string>>; body?: string },
  provider: OpenIdProvider,
  { resolve }: ConnectorEnv,
): Promise<GuardedReply> {
  try {
    const reply = await guardedRequest(address, {
      ...options,
      ...fetchOptions(provider),
      timeoutMs: TIMEOUT_MS,
      resolve,
    })
    if (reply.status < 500 && reply.status !== 429) return reply
    throw new Error(`It answered ${reply.status}`)
  } catch (error) {
    throw providerFault('provider.unavailable', `${address}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function readJsonObject({ body }: GuardedReply): Jwk {
  try {
    const value: unknown = parseJson(body.toString())
    if (isObject(value)) return value
  } catch {
    // Answered below.
  }
  throw badAnswer('The answer is not a JSON object')
}

/** For the log only. */
function errorExcerpt(reply: GuardedReply): string {
  return reply.body.toString().slice(0, 300)
}
