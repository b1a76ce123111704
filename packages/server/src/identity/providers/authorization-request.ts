/** The authorization request to a provider: code flow with PKCE, nonce and state (OpenID Connect Core §3.1.2.1, RFC 7636). */
import { createHmac, hash } from 'node:crypto'
import type { StoredProvider } from '../../store/providers/providers.ts'
import type { ProvidersEnv } from './env.ts'
import { isTemplate, type ProviderMetadata } from './metadata.ts'

/** What is passed on of the request that asks for a sign-in. */
export interface Asked {
  /** The person must authenticate again. */
  readonly again: boolean
  /** Seconds. */
  readonly maxAge: number | undefined
  readonly loginHint: string | undefined
  readonly uiLocales: string | undefined
}

/** Derived from the state with the server's key: nothing of it is stored, and it cannot be computed from the state alone. */
export function deriveSecrets(state: string, { providerKey }: Pick<ProvidersEnv, 'providerKey'>) {
  const derive = (purpose: string) =>
    createHmac('sha256', providerKey).update(`${purpose} ${state}`).digest('base64url')
  return { verifier: derive('code verifier'), nonce: derive('nonce') }
}

export function callbackUrl(id: string, issuer: string): string {
  return `${issuer}/external/${encodeURIComponent(id)}/callback`
}

export function authorizationUrl(
  provider: StoredProvider,
  { authorizationEndpoint }: ProviderMetadata,
  state: string,
  asked: Asked,
  env: ProvidersEnv,
): string {
  const { verifier, nonce } = deriveSecrets(state, env)
  const url = new URL(authorizationEndpoint)
  const parameters = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: callbackUrl(provider.id, env.issuer.name),
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
function googleDomain(provider: StoredProvider): { hd?: string } {
  const [domain, ...others] = provider.require.hd ?? []
  return domain === undefined || others.length > 0 || isTemplate(provider) ? {} : { hd: domain }
}
