/** A server with products, for tests over real sockets. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADMIN, ALICE, signIn } from '../support/demo-user.ts'
import type { TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/server.ts'

export const SECRET = 'the secret of a program in tests'

/** Added to each declared file. */
export const PROGRAMS = `
clients:
  - { client_id: handler, client_secret: "${SECRET}", grant_types: [client_credentials], scope: "Platform/Market Platform/Decisions" }
  - { client_id: decider, client_secret: "${SECRET}", grant_types: [client_credentials], scope: Platform/Decisions }
  - { client_id: robot, client_secret: "${SECRET}", grant_types: [client_credentials], scope: Platform/Market }
`

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: assertions read any member of a reply
  readonly body: any
}

export interface LicenceServer extends TestServer {
  readonly url: string
  readonly alice: string
  readonly admin: string
  /** The access tokens of clients. */
  readonly handler: string
  readonly robot: string
  /** Of a client that may only ask for decisions. */
  readonly decider: string
  send(method: string, path: string, options?: SendOptions): Promise<Reply>
  /** What the caller has of a product. */
  licence(product: string, token?: string): Promise<Reply['body']>
}

export interface SendOptions {
  readonly token?: string
  /** A text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export const basic = (id: string) => `Basic ${Buffer.from(`${id}:${encodeURIComponent(SECRET)}`).toString('base64')}`

export async function startLicenceServer(
  place: TestPlace,
  declared: string,
  { flags = {}, ...options }: TestServerOptions = {},
  files: Readonly<Record<string, string>> = {},
): Promise<LicenceServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-licences-'))
  const file = join(folder, 'gatehouse.yaml')
  await writeFile(file, declared + PROGRAMS)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const server = await startTestServer(place, {
    ...options,
    flags: { '--demo': 'true', '--config': file, '--stream-drain-time': '0.1', ...flags },
  })
  const url = `http://127.0.0.1:${server.port}`
  const alice = (await signIn(server, ALICE)).access_token
  const admin = (await signIn(server, ADMIN)).access_token
  const [handler = '', robot = '', decider = ''] = await Promise.all(
    ['handler', 'robot', 'decider'].map((id) => clientToken(url, id)),
  )
  const send = createSend(url, alice)
  return {
    ...server,
    ...{ url, alice, admin, handler, robot, decider, send },
    async licence(product, token = alice) {
      const { status, body } = await send('GET', '/licences', { token })
      assert.equal(status, 200, JSON.stringify(body))
      return body.items.find(({ Product }: { Product: string }) => Product === product)
    },
    async stop(reason) {
      await server.stop(reason)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Another node, with the tokens of the first. */
export function atNode(first: LicenceServer, server: TestServer): LicenceServer {
  const url = `http://127.0.0.1:${server.port}`
  return { ...first, ...server, url, send: createSend(url, first.alice) }
}

export function createSend(url: string, alice: string): LicenceServer['send'] {
  return async (method, path, { token = alice, body, headers = {} } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /\bjson\b|\+json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
}

export async function clientToken(url: string, id: string): Promise<string> {
  const reply = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: basic(id) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await reply.json()) as { access_token: string }
  assert.equal(reply.status, 200)
  return token
}
