/** Our own provider for conformance, browser and client tests: a whole server with a separate declarative file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Declaration } from '../../../packages/server/src/declarative/shape.ts'
import { type Certificate, writeCertificate } from '../certificate.ts'
import type { TestPlace } from '../engines.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { CALLBACK, type ClientFixture, clientFixtures, type Metadata, type Provider, person } from './provider.ts'

export interface Gatehouse extends Provider {
  readonly server: TestServer
}

export interface GatehouseOptions {
  readonly declaration: Declaration
  /** With one the server speaks https. */
  readonly certificate?: Certificate
  readonly flags?: Readonly<Record<string, string>>
  /** Milliseconds by which the server's clock is ahead from the start. */
  readonly ahead?: number
  /** The server's clock moves by `elapse` alone. */
  readonly still?: boolean
}

/** Its clock runs with ours unless it stands still, ahead by what `elapse` has let pass. */
export async function startGatehouse(
  place: TestPlace,
  { declaration, certificate, flags = {}, ahead: aheadAtStart = 0, still = false }: GatehouseOptions,
): Promise<Gatehouse> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-declared-'))
  const file = join(folder, 'declared.json')
  await writeFile(file, JSON.stringify(declaration))
  const tls = certificate === undefined ? {} : await tlsFlags(certificate, folder)
  let ahead = aheadAtStart
  const startedAt = Date.now()
  const clock = () => (still ? startedAt : Date.now()) + ahead
  const all = { '--config': file, ...tls, ...TEST_FLAGS, ...flags }
  // Everything is read at the start.
  const server = await startTestServer(place, { clock, flags: all }).finally(() => rm(folder, { recursive: true }))
  const metadata = await readDiscovery(server).catch(async (error) => {
    await server.stop()
    throw error
  })
  return {
    name: 'gatehouse',
    issuer: server.issuer,
    metadata,
    server,
    now: clock,
    elapse: async (milliseconds) => {
      ahead += milliseconds
    },
    lacks: () => undefined,
    async stop() {
      await server.stop()
      // A fault may hide behind an answer that was sent already.
      const faults = server.log.filter((line) => /"level":"(error|fatal)"|already sent/i.test(line))
      if (faults.length > 0) throw new Error(`The server logged faults: ${faults.join('')}`)
    },
  }
}

/** The clients and the person that the certification plans ask for. */
export function planDeclaration(backchannelUri: string): Declaration {
  const clients = [...Object.values(clientFixtures(backchannelUri)), ...Object.values(ownClients)].map((client) => ({
    client_name: `Client ${client.client_id}`,
    scope: 'openid profile email offline_access',
    ...client,
  }))
  // Through JSON: the fixtures are constants, the declaration is a file.
  return JSON.parse(
    JSON.stringify({
      roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
      users: [
        { username: person.username, password: person.password, ...person.claims, roles: ['trader'] },
        otherPerson,
        { ...otherPerson, username: 'disabled', disabled: true },
      ],
      clients,
    }),
  )
}

/** Clients for what a certified provider of today no longer does. */
export const ownClients = {
  token: {
    client_id: 'client-token',
    client_secret: 'client-secret-that-nobody-guesses-0020',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [],
    response_types: ['token', 'id_token token', 'code token'],
    grant_types: ['implicit', 'authorization_code'],
    scope: 'openid profile Platform/Market',
  },
  service: {
    client_id: 'client-service',
    client_secret: 'client-secret-that-nobody-guesses-0021',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [],
    post_logout_redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials', 'password', 'refresh_token'],
    scope: 'openid profile email offline_access Platform/Market',
  },
  disabled: {
    client_id: 'client-disabled',
    client_secret: 'client-secret-that-nobody-guesses-0022',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    disabled: true,
  },
} as const satisfies Record<string, ClientFixture>

export const otherPerson = { username: 'willow', password: 'red hair and long spells', name: 'Willow' } as const

/** By the name under which this process reaches the server, whatever name its issuer has. */
async function readDiscovery({ issuer, port }: TestServer): Promise<Metadata> {
  const { protocol, pathname } = new URL(issuer)
  const base = pathname.replace(/\/$/, '')
  const response = await fetch(`${protocol}//localhost:${port}${base}/.well-known/openid-configuration`)
  if (response.status !== 200) throw new Error(`Discovery answered ${response.status}`)
  return (await response.json()) as Metadata
}

/** The relying parties of the tests listen on loopback. */
const TEST_FLAGS: Readonly<Record<string, string>> = { '--logout-private': 'true' }

async function tlsFlags(certificate: Certificate, folder: string): Promise<Record<string, string>> {
  const { certFile, keyFile } = await writeCertificate(certificate, folder)
  return { '--tls-certificate': certFile, '--tls-key': keyFile }
}
