/** A program of an operator that answers the requests of a remote controller, as the test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { trustedCertificate } from './certificate.ts'

export interface ProgramRequest {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly httpVersion: string
  /** Resolves when the request or its connection has been ended by the caller, or has been answered. */
  readonly closed: Promise<void>
}

export type Answer = (request: ProgramRequest, response: ServerResponse) => unknown

export interface RemoteProgram {
  readonly url: string
  readonly requests: readonly ProgramRequest[]
  /** How many connections were opened. */
  readonly connections: number
  /** The answer to all requests from now on. */
  answer: Answer
  /** The next request that arrives. */
  next(): Promise<ProgramRequest>
  /** Closes the connections that are open, from this side. */
  closeConnections(): void
  stop(): Promise<void>
}

export const json =
  (text: string, status = 200, type = 'application/json'): Answer =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': type }).end(text)

export async function startProgram(protocol: 'http' | 'https' | 'h2' = 'http'): Promise<RemoteProgram> {
  const requests: ProgramRequest[] = []
  const waiting: ((request: ProgramRequest) => void)[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const program = { answer: json('{}') }
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = new Promise<void>((resolve) => response.once('close', resolve))
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const { method = '', headers, httpVersion } = incoming
    const request = { method, headers, httpVersion, body: Buffer.concat(chunks).toString(), closed }
    requests.push(request)
    waiting.shift()?.(request)
    await program.answer(request, response)
  }
  const server =
    protocol === 'http'
      ? createServer(handle)
      : protocol === 'https'
        ? createHttpsServer(trustedCertificate(), handle)
        : // biome-ignore lint/suspicious/noExplicitAny: the compatible API of HTTP/2 has types of its own
          createSecureServer(trustedCertificate(), handle as any)
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${protocol === 'http' ? 'http' : 'https'}://127.0.0.1:${port}/gatehouse`,
    requests,
    get connections() {
      return connections
    },
    get answer() {
      return program.answer
    },
    set answer(answer) {
      program.answer = answer
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
    closeConnections() {
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
