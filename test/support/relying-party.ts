/** A relying party that listens: remembers every request it gets and serves the pages that a test gives it. */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from './certificate.ts'

export interface Arrival {
  readonly method: string
  readonly url: URL
  readonly headers: http.IncomingHttpHeaders
  readonly form: URLSearchParams
}

export interface RelyingParty {
  readonly origin: string
  readonly port: number
  readonly arrivals: readonly Arrival[]
  /** The next or an already seen arrival at the path. */
  arrival(path: string, timeoutMs?: number): Promise<Arrival>
  forget(): void
  /** HTML that is served at a path from now on; anywhere else answers a short page. */
  serve(path: string, body: string, contentType?: string): void
  stop(): Promise<void>
}

export interface RelyingPartyOptions {
  readonly certificate?: Certificate
  /** The name under which the browser knows it. */
  readonly host?: string
}

export async function startRelyingParty({
  certificate,
  host = '127.0.0.1',
}: RelyingPartyOptions = {}): Promise<RelyingParty> {
  const arrivals: Arrival[] = []
  const pages = new Map<string, { body: string; contentType: string }>()
  const waiting = new Set<() => void>()
  let origin = ''

  const listener: http.RequestListener = (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const url = new URL(request.url ?? '/', origin)
      arrivals.push({ method: request.method ?? '', url, headers: request.headers, form: new URLSearchParams(body) })
      for (const wake of waiting) wake()
      const page = pages.get(url.pathname) ?? { body: '<!doctype html><title>RP</title>', contentType: 'text/html' }
      response.writeHead(200, { 'content-type': page.contentType, 'cache-control': 'no-store' }).end(page.body)
    })
  }
  const server = certificate === undefined ? http.createServer(listener) : https.createServer(certificate, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  origin = `${certificate === undefined ? 'http' : 'https'}://${host}:${port}`

  return {
    origin,
    port,
    arrivals,
    async arrival(path, timeoutMs = 5000) {
      const deadline = Date.now() + timeoutMs
      for (;;) {
        const found = arrivals.find(({ url }) => url.pathname === path)
        if (found !== undefined) return found
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(() => reject(new Error(`Nothing came to ${path}`)), deadline - Date.now())
          const wake = () => {
            clearTimeout(timer)
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      }
    },
    forget: () => void arrivals.splice(0),
    serve: (path, body, contentType = 'text/html; charset=utf-8') => void pages.set(path, { body, contentType }),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
