/** A running server with people and clients in it, for tests of what browsers do. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import { openPlace, type TestPlace } from './engines.ts'
import { EVENT_REFUSED } from './refused-events.ts'
import { createTestClock, startTestServer, type TestServer } from './server.ts'
import { createUserAgent, type Departure, type Page, type UserAgent } from './user-agent.ts'

export const ALICE = { username: 'alice', password: 'a long enough password' } as const
export const BOB = { username: 'bob', password: 'another long password' } as const
export const CALLBACK = 'https://app.example.com/callback'
export const POST_LOGOUT = 'https://app.example.com/bye'

const ALL_TYPES = ['code', 'token', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token']

export const CLIENTS = {
  web: {
    client_id: 'web',
    client_name: 'Web & <b>Co</b>',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [POST_LOGOUT],
    response_types: ALL_TYPES,
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    scope: 'openid profile email offline_access Platform/Market Platform/Admin',
  },
  trusted: {
    client_id: 'trusted',
    client_name: 'Trusted',
    redirect_uris: ['https://trusted.example.com/cb'],
    post_logout_redirect_uris: ['https://trusted.example.com/'],
    response_types: ALL_TYPES,
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    scope: 'openid profile email offline_access Platform/Market',
    skip_consent: true,
  },
  codeOnly: {
    client_id: 'code-only',
    redirect_uris: ['https://code.example.com/cb'],
    scope: 'openid email',
    skip_consent: true,
  },
  spa: {
    client_id: 'spa',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['https://spa.example.com/cb'],
    response_types: ['code', 'code id_token'],
    scope: 'openid',
    skip_consent: true,
  },
  native: {
    client_id: 'native',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]/cb', 'http://localhost/cb', 'com.example.app:/cb'],
    scope: 'openid',
  },
  strict: {
    client_id: 'strict',
    client_name: 'Strict',
    redirect_uris: ['https://strict.example.com/cb'],
    scope: 'openid',
    skip_consent: true,
    require_second_factor: true,
  },
  device: {
    client_id: 'device',
    client_name: 'Trading Terminal',
    token_endpoint_auth_method: 'none',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    scope: 'openid offline_access Platform/Market Platform/Admin',
  },
} as const satisfies Record<string, ClientMetadata>

export interface SignInPlace {
  readonly server: TestServer
  readonly stores: Stores
  readonly database: Database
  readonly clock: Clock & { advance(milliseconds: number): void }
  readonly aliceId: string
  newAgent(headers?: Readonly<Record<string, string>>): UserAgent
  close(): Promise<void>
}

export interface SignInPlaceOptions {
  readonly flags?: Readonly<Record<string, string>>
  readonly clients?: readonly ClientMetadata[]
}

export async function openSignInPlace(place: TestPlace, options: SignInPlaceOptions = {}): Promise<SignInPlace> {
  const clock = createTestClock()
  const server = await startTestServer(place, { clock, ...(options.flags && { flags: options.flags }) })
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  const stores = createStores(database, clock)
  await stores.roles.put({ name: 'reader', scopes: ['Platform/Market'] })
  const profile = {
    name: 'Alice <i>Liddell</i>',
    given_name: 'Alice',
    email: 'alice@example.com',
    email_verified: true,
  }
  const aliceId = await stores.users.create({
    username: ALICE.username,
    passwordHash: await hashPassword(ALICE.password),
    roles: ['reader'],
    profile,
  })
  await stores.users.create({ username: BOB.username, passwordHash: await hashPassword(BOB.password) })
  for (const client of [...Object.values(CLIENTS), ...(options.clients ?? [])]) {
    await stores.clients.put(client)
    if (!('token_endpoint_auth_method' in client) || client.token_endpoint_auth_method !== 'none')
      await stores.clients.addSecret(client.client_id, SECRET)
  }
  return {
    server,
    stores,
    database,
    clock,
    aliceId,
    newAgent: (headers) =>
      createUserAgent({ home: server.issuer, now: clock, ...(headers === undefined ? {} : { headers }) }),
    async close() {
      await server.stop()
      await database.close()
      // A fault behind an answer that looked right is a fault, unless the test made it.
      const faults = server.log.filter(
        (line) => /"level":"(error|fatal)"|already sent/i.test(line) && !line.includes(EVENT_REFUSED),
      )
      assert.deepEqual(faults, [])
    },
  }
}

/** The same on SQLite in a separate folder, for tests that do not depend on the database. */
export async function openSqlitePlace(options: SignInPlaceOptions = {}): Promise<SignInPlace> {
  const { place, leave } = await openPlace('sqlite')
  const opened = await openSignInPlace(place, options)
  return {
    ...opened,
    async close() {
      await opened.close()
      await leave()
    },
  }
}

export const SECRET = 'a client secret that is long enough'

export type Changes = Readonly<Record<string, string | undefined>>

/** The address of an ordinary request with these changes; undefined leaves a parameter out. */
export function authorizeUrl(issuer: string, changes: Changes = {}): URL {
  const url = new URL(`${issuer}/connect/authorize`)
  const parameters: Changes = {
    client_id: 'web',
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    state: 'st',
    nonce: 'no',
    ...changes,
  }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url
}

/** The parameters of an answer, wherever they are. */
export function readAnswer(end: Page | Departure): ReadonlyMap<string, string> {
  if (end.kind === 'page') throw new Error(`A page instead of an answer: ${end.status} ${end.url} ${end.body}`)
  if (end.method === 'POST') return new Map(end.form)
  const text = end.url.hash === '' ? end.url.search : end.url.hash
  return new Map(new URLSearchParams(text.slice(1)))
}

export function newVerifier(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export function decodeClaims(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
}
