/** npm `oidc-provider`, a certified provider: a test that is red here is a wrong test. */
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import OidcProvider from 'oidc-provider'
import type { Certificate } from '../certificate.ts'
import { clientFixtures, type Metadata, PROFILE_CLAIMS, type Provider, person } from './provider.ts'

export interface CertifiedOptions {
  readonly certificate: Certificate
  readonly backchannelUri: string
}

/** Time is this process's own and stands still but for `elapse`. */
export async function startCertified({ certificate, backchannelUri }: CertifiedOptions): Promise<Provider> {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const server = https.createServer(certificate)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `https://localhost:${port}`
  const provider = new OidcProvider(issuer, configuration(backchannelUri))
  server.on('request', provider.callback())
  const discovery = await fetch(`${issuer}/.well-known/openid-configuration`)
  return {
    name: 'oidc-provider',
    issuer,
    metadata: (await discovery.json()) as Metadata,
    now: Date.now,
    elapse: async (milliseconds) => mock.timers.tick(milliseconds),
    lacks: (row) => LACKING[row],
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      mock.timers.reset()
    },
  }
}

const LACKING: Readonly<Record<string, string>> = {
  'oidcc-session-management-discovery-endpoint-verification': 'no session management',
  'oidcc-session-management-rp-initiated-logout': 'no session management',
  'oidcc-frontchannel-logout-discovery-endpoint-verification': 'no front-channel logout',
  'oidcc-frontchannel-rp-initiated-logout': 'no front-channel logout',
}

function configuration(backchannelUri: string): Record<string, unknown> {
  const claims = { ...person.claims, updated_at: Math.floor(Date.now() / 1000) - 1000 }
  return {
    clients: Object.values(clientFixtures(backchannelUri)).map((client) => withoutFrontchannel(client)),
    responseTypes: ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'], profile: [...PROFILE_CLAIMS], email: ['email', 'email_verified'] },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id, ...claims }) }),
    pkce: { required: () => false },
    enableHttpPostMethods: true,
    allowOmittingSingleRegisteredRedirectUri: false,
    cookies: { keys: ['a key that signs cookies'], long: { sameSite: 'none' } },
    acrValues: ['1', '2'],
    features: {
      backchannelLogout: { enabled: true },
      claimsParameter: { enabled: true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      introspection: { enabled: true },
      requestObjects: { enabled: true },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    ttl: { AccessToken: 3600, AuthorizationCode: 60, IdToken: 3600, Session: 86_400, Grant: 86_400, Interaction: 3600 },
    // Its own dispatcher refuses loopback, where the relying party of the tests listens.
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(url, options),
    conformIdTokenClaims: true,
  }
}

function withoutFrontchannel(client: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(client).filter(([name]) => !name.startsWith('frontchannel_')))
}
