/** `/metrics` for Prometheus: on a port of its own, or on the main port for callers with the right. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../protocol/metrics.ts'
import type { Authenticate } from '../protocol/principal.ts'
import { authorize } from './bearer.ts'
import { nodeHttp } from './node-http.ts'

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const METRICS_SCOPE = 'Platform/Admin'

export function registerMetrics(app: FastifyInstance, metrics: Metrics, authenticate: Authenticate): void {
  app.get('/metrics', async (request, reply) => {
    await authorize(request.headers, authenticate, [METRICS_SCOPE])
    return reply.header('cache-control', 'no-store').type(CONTENT_TYPE).send(metrics.render())
  })
}

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** Without a token: whoever reaches this port may read, so it listens where only the operator's network does. */
export async function openMetricsListener(metrics: Metrics, host: string, port: number): Promise<MetricsListener> {
  const server = nodeHttp.createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const found =
      request.url?.split('?', 1)[0] === '/metrics' && (request.method === 'GET' || request.method === 'HEAD')
    response.writeHead(found ? 200 : 404, { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' })
    response.end(found && request.method === 'GET' ? metrics.render() : '')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => resolve())
  })
  server.unref()
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
