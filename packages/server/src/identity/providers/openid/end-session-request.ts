/** The request with which a browser signs out at a provider (OpenID Connect RP-Initiated Logout §2). */
import { addParameters } from '../../authorize/response.ts'
import { type ConnectorEnv, externalUrl } from '../connector.ts'
import type { OpenIdProvider } from './metadata.ts'

/** What is kept with a session. */
export function keepForSignOut(endpoint: string, idToken: string): string {
  return JSON.stringify({ endpoint, idToken })
}

export function signOutUrl(kept: string, state: string, provider: OpenIdProvider, env: ConnectorEnv): string {
  const { endpoint, idToken } = readKept(JSON.parse(kept))
  return addParameters(
    endpoint,
    {
      id_token_hint: idToken,
      client_id: provider.clientId,
      post_logout_redirect_uri: externalUrl(provider, 'signed-out', env),
      state,
    },
    'query',
  )
}

function readKept(value: unknown): { endpoint: string; idToken: string } {
  if (typeof value === 'object' && value !== null && 'endpoint' in value && 'idToken' in value)
    return { endpoint: String(value.endpoint), idToken: String(value.idToken) }
  throw new Error('The origin of a session has been altered')
}
