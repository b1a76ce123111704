/** A running Gatehouse with a few users and clients, and short ways to call its identity endpoints. */
import assert from 'node:assert/strict'
import type { Clock } from 'gatehouse-protocol'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import type { TestPlace } from './engines.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './server.ts'

export const PASSWORD = 'wonderland-1'
export const SECRET = 'a-secret-that-is-long-enough'
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export interface TestGate {
  readonly server: TestServer
  readonly stores: Stores
  readonly database: Database
  readonly aliceId: string
  post(path: string, form: Form, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** The token response of alice's password at the public client. */
  signIn(form?: Record<string, string>): Promise<TokenAnswer>
  userinfo(accessToken: string): Promise<Answer>
  stop(): Promise<void>
}

export type Form = Record<string, string> | string | URLSearchParams

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; an empty object when it is none. */
  readonly body: Record<string, unknown>
}

export interface TokenAnswer {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token?: string
  readonly expires_in: number
  readonly scope: string
}

let hashed: Promise<string> | undefined

export async function startGate(
  place: TestPlace,
  options: TestServerOptions & { clock?: Clock } = {},
): Promise<TestGate> {
  const server = await startTestServer(place, options)
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  const stores = createStores(database, options.clock ?? Date.now)
  hashed ??= hashPassword(PASSWORD)
  const aliceId = await seed(stores, await hashed)

  const call = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(server.issuer + path, { redirect: 'manual', ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parseObject(text) }
  }
  const gate: TestGate = {
    server,
    stores,
    database,
    aliceId,
    get: (path, headers = {}) => call(path, { headers }),
    post: (path, form, headers = {}) =>
      call(path, {
        method: 'POST',
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      }),
    async signIn(form = {}) {
      const answer = await gate.post('/connect/token', {
        grant_type: 'password',
        username: 'alice',
        password: PASSWORD,
        client_id: 'cli',
        ...form,
      })
      assert.equal(answer.status, 200, answer.text)
      return answer.body as unknown as TokenAnswer
    },
    userinfo: (accessToken) => gate.get('/connect/userinfo', { authorization: `Bearer ${accessToken}` }),
    async stop() {
      await server.stop()
      await database.close()
    },
  }
  return gate
}

/** Olivia, who may administer, with alice's password, and the client `console` that she signs in with. */
export async function addOperator({ stores, aliceId }: TestGate): Promise<void> {
  await stores.roles.put({ name: 'operator', scopes: ['Identity/Admin'] })
  const passwordHash = (await stores.users.findById(aliceId))?.passwordHash
  await stores.users.create({ username: 'olivia', passwordHash, roles: ['operator'] })
  await stores.clients.put({
    client_id: 'console',
    token_endpoint_auth_method: 'none',
    grant_types: ['password'],
    scope: 'Identity/Admin',
  })
}

export function basic(clientId: string, secret: string): string {
  const encode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret)}`).toString('base64')}`
}

export function decodeClaims(token: string): Record<string, unknown> {
  return parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

export function decodeHeader(token: string): Record<string, unknown> {
  return parseObject(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
}

/** Undone by the folder and database of the place going away. */
async function seed(stores: Stores, passwordHash: string): Promise<string> {
  const known = await stores.users.findByUsername('alice')
  if (known !== undefined) return known.id
  await stores.roles.put({ name: 'trader', scopes: ['Platform/Market', 'Platform/News', 'Platform/Trading'] })
  await stores.roles.put({
    name: 'chief',
    scopes: ['Platform/Admin', 'Platform/OrderPad', 'Platform/News', 'Platform/Trading'],
  })
  const profile = { name: 'Alice Liddell', given_name: 'Alice', email: 'alice@example.com', email_verified: true }
  const id = await stores.users.create({ username: 'alice', passwordHash, profile, roles: ['trader'] })
  await stores.users.create({ username: 'boss', passwordHash, profile: { name: 'Boss' }, roles: ['chief'] })
  const platform = 'Platform/Market Platform/News Platform/Trading Platform/OrderPad Platform/Admin'
  const everything = `openid profile email roles offline_access ${platform}`
  await stores.clients.put({
    client_id: 'cli',
    token_endpoint_auth_method: 'none',
    grant_types: ['password', 'refresh_token'],
    scope: everything,
  })
  await stores.clients.put({
    client_id: 'contract',
    token_endpoint_auth_method: 'none',
    grant_types: ['password', 'refresh_token'],
    scope: `offline_access ${platform}`,
  })
  await stores.clients.put({
    client_id: 'service',
    grant_types: ['client_credentials', 'password', 'refresh_token'],
    scope: everything,
  })
  await stores.clients.put({
    client_id: 'web',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    response_types: ['code', 'code id_token'],
    redirect_uris: ['https://app.example/callback'],
    allowed_origins: ['https://spa.example'],
    scope: everything,
  })
  await stores.clients.put({
    client_id: 'post-only',
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['client_credentials'],
    scope: 'Platform/News',
  })
  await stores.clients.put({
    client_id: 'tv',
    token_endpoint_auth_method: 'none',
    grant_types: [DEVICE_GRANT, 'refresh_token'],
    scope: everything,
  })
  await stores.clients.put({ client_id: 'gone', grant_types: ['client_credentials'], disabled: true })
  for (const clientId of ['service', 'web', 'post-only', 'gone']) await stores.clients.addSecret(clientId, SECRET)
  return id
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
