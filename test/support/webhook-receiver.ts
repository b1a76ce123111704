/** A receiver of webhooks over real sockets, whose answers the test chooses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
  readonly body: any
  readonly at: number
}

export interface WebhookReceiver {
  readonly origin: string
  readonly port: number
  readonly received: Received[]
  /** How requests are answered from now on; 204 by default. */
  answer(reply: (request: Received, response: ServerResponse) => void): void
  stop(): Promise<void>
}

export async function startReceiver(port = 0): Promise<WebhookReceiver> {
  const received: Received[] = []
  let reply = (_request: Received, response: ServerResponse): void => void response.writeHead(204).end()
  const server = createServer((request, response) => {
    readRequest(request)
      .then((each) => {
        received.push(each)
        reply(each, response)
      })
      .catch(() => response.destroy())
  })
  await listen(server, port)
  const { port: chosen } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${chosen}`,
    port: chosen,
    received,
    answer(next) {
      reply = next
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** By the library of Standard Webhooks. Throws if the signature is not that of the secret. */
export function verify({ headers, text }: Received, secret: string): void {
  new Webhook(secret).verify(text, headers)
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return {
    path: request.url ?? '',
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    text,
    body: readJson(text),
    at: Date.now(),
  }
}

/** Undefined if it is something else, such as an encrypted message. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
