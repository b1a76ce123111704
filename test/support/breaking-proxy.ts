/** An HTTP proxy that loses responses: the request has arrived, but the sender cannot know. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BreakingProxy {
  readonly url: string
  /** Forwards this many inserts, loses the response to the next one, and then refuses every request. */
  loseAnswerAfter(inserts: number): void
  mend(): void
  stop(): Promise<void>
}

export async function startBreakingProxy(port: number): Promise<BreakingProxy> {
  let left = Number.POSITIVE_INFINITY
  const server = createServer((near, reply) => {
    if (left < 0) {
      reply.destroy()
      return
    }
    const isLost = /\/insert$/i.test(near.url ?? '') && left-- === 0
    const far = request({ port, host: '127.0.0.1', method: near.method, path: near.url, headers: near.headers })
    far.on('response', (answer) => {
      if (isLost) {
        answer.resume().on('end', () => reply.destroy())
        return
      }
      reply.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(reply)
    })
    far.on('error', () => reply.destroy())
    near.pipe(far)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}`,
    loseAnswerAfter(inserts) {
      left = inserts
    },
    mend() {
      left = Number.POSITIVE_INFINITY
    },
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
