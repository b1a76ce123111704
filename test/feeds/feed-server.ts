/** A server with declared feeds, its publishers and its subscribers, for tests over real sockets. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import type { TestPlace } from '../support/engines.ts'
import { type EventClient, openEvents } from '../support/event-client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/server.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'

const FEEDS = `feeds:
  - { name: Prices, class: Market, read: Platform/Market, write: Platform/Trading }
  - { name: Quotes, read: Platform/Market, write: Platform/Trading, history: { messages: 5 } }
  - { name: Orders, keep: all, read: identity, write: Platform/Trading, history: { messages: 1000 } }
  - { name: News, keep: all, read: identity, write: Platform/Trading }
  - { name: Secret, read: Platform/Admin }
`

export interface FeedServer extends TestServer {
  /** May publish, and read all but Secret. */
  readonly trader: string
  readonly admin: string
  /** A request with the token of the trader. */
  send(method: string, path: string, options?: SendOptions): Promise<Response>
  publish(path: string, data: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>
  stream(): Promise<StreamClient>
  events(path: string, headers?: Readonly<Record<string, string>>): Promise<EventClient>
}

export interface SendOptions {
  readonly token?: string
  /** A text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

export async function startFeedServer(
  place: TestPlace,
  { flags = {}, ...options }: TestServerOptions = {},
): Promise<FeedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
  const file = join(folder, 'feeds.yaml')
  await writeFile(file, FEEDS)
  const server = await startTestServer(place, {
    ...options,
    flags: { '--demo': 'true', '--config': file, '--stream-drain-time': '0.1', ...flags },
  })
  const trader = (await signIn(server, ALICE)).access_token
  const admin = (await signIn(server, ADMIN)).access_token
  const url = `http://127.0.0.1:${server.port}`
  const send = (method: string, path: string, { token = trader, body, headers = {} }: SendOptions = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return {
    ...server,
    async stop(reason) {
      await server.stop(reason)
      await rm(folder, { recursive: true, force: true })
    },
    trader,
    admin,
    send,
    async publish(path, data, headers = {}) {
      const reply = await send('POST', path, { body: JSON.stringify(data), headers })
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
    },
    stream: () => connect(server.port, bearer(trader)),
    events: (path, headers = {}) => openEvents(`${url}${path}`, { method: 'GET', token: trader, headers }),
  }
}
