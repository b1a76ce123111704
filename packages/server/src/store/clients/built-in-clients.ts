/** The clients that every server has without registration. They are not stored, so they cannot be changed or deleted. */
import { isPlatformScope, SCOPES } from 'gatehouse-protocol'
import type { ClientMetadata } from './client-metadata.ts'

export type BuiltInClients = ReadonlyMap<string, ClientMetadata>

/** No other client may register under these, whether or not they are enabled here. */
export const BUILT_IN_CLIENT_IDS: ReadonlySet<string> = new Set(['gatehouse-console', 'gatehouse-tools'])

interface Enabled {
  readonly issuer: string
  readonly console: boolean
  readonly cliClient: boolean
  /** Whether tools connect by PostgreSQL's protocol. */
  readonly wire: boolean
}

/** Through which tools that speak PostgreSQL's protocol sign in. */
export const TOOLS_CLIENT = 'gatehouse-tools'

/** A registered client replaces a built-in one, except those in `BUILT_IN_CLIENT_IDS`. */
export function builtInClients({ issuer, console, cliClient, wire }: Enabled): BuiltInClients {
  const clients = [
    ...(console ? [consoleClient(issuer)] : []),
    ...(cliClient ? [commandLineClient()] : []),
    ...(wire ? [toolsClient()] : []),
  ]
  return new Map(clients.map((client) => [client.client_id, client]))
}

/** The command line. People confirm each login on a page, and it gets no more rights than they have. */
function commandLineClient(): ClientMetadata {
  return {
    client_id: 'gatehouse-cli',
    client_name: 'Gatehouse command line',
    token_endpoint_auth_method: 'none',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    response_types: [],
    scope: SCOPES.join(' '),
  }
}

/** First party: a user who signs in to the console has signed in to the server itself, so there is nothing to consent to. */
function consoleClient(issuer: string): ClientMetadata {
  return {
    client_id: 'gatehouse-console',
    client_name: 'Gatehouse console',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [`${issuer}/console`],
    post_logout_redirect_uris: [`${issuer}/console/signed-out`],
    require_pkce: true,
    skip_consent: true,
    // Without offline_access: its tokens end with the session of the browser.
    scope: SCOPES.filter((scope) => scope !== 'offline_access').join(' '),
  }
}

/** psql and other tools. People confirm each sign-in on a page; the tokens cannot be refreshed. */
function toolsClient(): ClientMetadata {
  return {
    client_id: TOOLS_CLIENT,
    client_name: 'Database tools',
    token_endpoint_auth_method: 'none',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
    response_types: [],
    scope: SCOPES.filter((scope) => scope === 'openid' || isPlatformScope(scope)).join(' '),
  }
}
