/** An HTTP proxy that loses responses: the request has arrived, but the sender cannot know. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BreakingProxy {
  readonly url: string
  /** Forwards this many inserts, or requests to such paths, loses the response to the next one, and then refuses every request. */
  loseAnswerAfter(count: number, path?: RegExp): void
  mend(): void
  stop(): Promise<void>
}

const INSERT = /\/insert(?:\?|$)/i

export async function startBreakingProxy(port: number): Promise<BreakingProxy> {
  let left = Number.POSITIVE_INFINITY
  let counted = INSERT
  const server = createServer((near, reply) => {
    if (left < 0) {
      reply.destroy()
      return
    }
    const isLost = counted.test(near.url ?? '') && left-- === 0
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
    loseAnswerAfter(count, path = INSERT) {
      left = count
      counted = path
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
