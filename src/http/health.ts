/** `/healthz` says that the process answers, `/readyz` that it should be sent work. */
import type { FastifyInstance } from 'fastify'

/** Undefined when the part is ready, otherwise what is wrong in a few words. */
export type ReadinessCheck = () => Promise<string | undefined>

export function registerHealth(app: FastifyInstance, checks: Readonly<Record<string, ReadinessCheck>>): void {
  app.get('/healthz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, (await check()) ?? 'ok'] as const),
    )
    const ready = results.every(([, state]) => state === 'ok')
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) })
  })
}
