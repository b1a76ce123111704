/** The authorization request to a provider: code flow with PKCE, nonce and state (OpenID Connect Core §3.1.2.1, RFC 7636). */
import { createHmac, hash } from 'node:crypto'
import { type ConnectorEnv, externalUrl, type SignInRequest } from '../connector.ts'
import { isTemplate, type OpenIdProvider, type ProviderMetadata } from './metadata.ts'

/** Derived from the state with the server's key: nothing of it is stored, and it cannot be computed from the state alone. */
export function deriveSecrets(state: string, { providerKey }: Pick<ConnectorEnv, 'providerKey'>) {
  const derive = (purpose: string) =>
    createHmac('sha256', providerKey).update(`${purpose} ${state}`).digest('base64url')
  return { verifier: derive('code verifier'), nonce: derive('nonce') }
}

export function authorizationUrl(
  provider: OpenIdProvider,
  { authorizationEndpoint }: ProviderMetadata,
  { state, ...asked }: SignInRequest,
  env: ConnectorEnv,
): string {
  const { verifier, nonce } = deriveSecrets(state, env)
  const url = new URL(authorizationEndpoint)
  const parameters = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: externalUrl(provider, 'callback', env),
    scope: provider.scopes.join(' '),
    state,
    nonce,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
    ...(asked.again && { prompt: 'login' }),
    ...(asked.maxAge !== undefined && { max_age: String(asked.maxAge) }),
    ...(asked.loginHint !== undefined && { login_hint: asked.loginHint }),
    ...(asked.uiLocales !== undefined && { ui_locales: asked.uiLocales }),
    ...googleDomain(provider),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** Google shows accounts of this domain only; what counts is the claim, which `require` checks. */
function googleDomain(provider: OpenIdProvider): { hd?: string } {
  const [domain, ...others] = provider.require.hd ?? []
  return domain === undefined || others.length > 0 || isTemplate(provider) ? {} : { hd: domain }
}
