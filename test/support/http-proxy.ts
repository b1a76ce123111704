/** A proxy that passes requests on and lets no WebSocket through, as some companies have; it can be cut and mended. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpProxy {
  readonly url: string
  /** How many upgrades were refused. */
  readonly refused: () => number
  /** Breaks every connection and accepts no request. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function startHttpProxy(port: number): Promise<HttpProxy> {
  let open = true
  let refused = 0
  const server = createServer((incoming, outgoing) => {
    if (!open) {
      incoming.socket.destroy()
      return
    }
    const { method, url, headers } = incoming
    const passed = request({ port, host: '127.0.0.1', method, path: url, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      outgoing.flushHeaders()
      response.pipe(outgoing)
      response.on('error', () => outgoing.destroy())
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  server.on('upgrade', (_, socket) => {
    refused++
    socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    cut() {
      open = false
      server.closeAllConnections()
    },
    mend() {
      open = true
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => void server.close(() => resolve()))
    },
  }
}
