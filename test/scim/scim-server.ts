/** A server with SCIM, its clients and what they send, for tests over real sockets. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changeDatabase } from '../support/change-database.ts'
import type { TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

const SECRET = 'the secret of a program in tests'
export const DECLARED = `
attributes:
  - { name: desk, type: Text, many: true, scim: "${ENTERPRISE}:department" }
  - { name: level, type: Integer, scim: "urn:example:scim:1.0:User:level" }
  - { name: boss, type: Text, scim: "${ENTERPRISE}:manager.value" }
roles:
  - { name: desk-fx, scopes: [Platform/Trading], provisioned: true }
users:
  - { username: rescue, roles: [admin] }
clients:
  - { client_id: hr-sync, client_secret: "${SECRET}", grant_types: [client_credentials], scope: Identity/Provisioning }
  - { client_id: other-sync, client_secret: "${SECRET}", grant_types: [client_credentials], scope: Identity/Provisioning }
  - { client_id: plain, client_secret: "${SECRET}", grant_types: [client_credentials], scope: Platform/Market }
`

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: assertions read any member of a reply
  readonly body: any
}

export interface Options {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ScimServer extends TestServer {
  readonly url: string
  /** The access token of hr-sync. */
  readonly token: string
  /** A request below /scim/v2 with the token of hr-sync; a text as the body is sent as it is. */
  scim(method: string, path: string, body?: unknown, options?: Options): Promise<Reply>
  requestToken(clientId: string): Promise<string>
  /** Creates a user, and returns its id. */
  user(userName: string, others?: object): Promise<string>
  group(displayName: string, members?: readonly string[]): Promise<string>
  patch(path: string, ...operations: readonly object[]): Promise<Reply>
}

export async function startScimServer(place: TestPlace, declared = DECLARED): Promise<ScimServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-scim-'))
  const file = join(folder, 'scim.yaml')
  await writeFile(file, declared)
  const server = await startTestServer(place, {
    flags: { '--demo': 'true', '--scim': 'true', '--config': file },
  })
  await changeDatabase(place, `update users set break_glass = 1 where username_key = 'rescue'`)
  const url = `http://127.0.0.1:${server.port}`
  const token = await requestToken('hr-sync')
  return { ...server, url, token, scim, requestToken, user, group, patch, stop }

  async function requestToken(clientId: string): Promise<string> {
    const reply = await fetch(`${url}/connect/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${clientId}:${encodeURIComponent(SECRET)}`).toString('base64')}`,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    const { access_token } = (await reply.json()) as { access_token: string }
    return access_token
  }

  async function scim(method: string, path: string, body?: unknown, options: Options = {}): Promise<Reply> {
    const response = await fetch(`${url}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${options.token ?? token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

  async function user(userName: string, others: object = {}): Promise<string> {
    return (await scim('POST', '/Users', { schemas: [USER], userName, ...others })).body.id
  }

  async function group(displayName: string, members: readonly string[] = []): Promise<string> {
    const body = { schemas: [GROUP], displayName, members: members.map((value) => ({ value })) }
    return (await scim('POST', '/Groups', body)).body.id
  }

  function patch(path: string, ...operations: readonly object[]): Promise<Reply> {
    return scim('PATCH', path, { schemas: [PATCH_OP], Operations: operations })
  }

  async function stop(): Promise<void> {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
