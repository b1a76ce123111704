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
  /** The scopes of agents; undefined where none are served. */
  readonly agentScopes?: readonly string[] | undefined
}

/** Through which tools that speak PostgreSQL's protocol sign in. */
export const TOOLS_CLIENT = 'gatehouse-tools'

/** A registered client replaces a built-in one, except those in `BUILT_IN_CLIENT_IDS`. */
export function builtInClients({ issuer, console, cliClient, wire, agentScopes }: Enabled): BuiltInClients {
  const clients = [
    ...(console ? [consoleClient(issuer)] : []),
    ...(cliClient ? [commandLineClient()] : []),
    ...(wire ? [toolsClient()] : []),
    ...(agentScopes === undefined ? [] : [agentClient(agentScopes)]),
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

/** Where programs on a device wait for the answer, on any port (RFC 8252 §7.3). */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]', 'localhost']
const LOOPBACK_PATHS = ['', '/', '/callback', '/oauth/callback']

/** Assistants on a person's device that have no registration. People consent to each, and choose what it may read. */
function agentClient(scopes: readonly string[]): ClientMetadata {
  return {
    client_id: 'gatehouse-agent',
    client_name: 'Gatehouse agent',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: LOOPBACK_HOSTS.flatMap((host) => LOOPBACK_PATHS.map((path) => `http://${host}${path}`)),
    scope: [...scopes, 'offline_access'].join(' '),
    agent: true,
  }
}
