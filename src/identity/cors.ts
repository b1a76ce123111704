/** Which pages may call the endpoints that browsers call: those of registered clients, without cookies (Fetch §3.2). */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ClientDirectory } from './client-directory.ts'

const PREFLIGHT_SECONDS = 600

/** For the routes of this scope; each path must be given for its preflight to be answered. */
export function allowClientOrigins(app: FastifyInstance, clients: ClientDirectory, paths: readonly string[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined) done()
    else allow(origin, reply).then(() => done(), done)
  })
  for (const path of paths) {
    app.options(path, async (_request, reply) => {
      if (reply.hasHeader('access-control-allow-origin')) {
        reply.headers({
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-headers': 'Authorization, Content-Type, Request-Id',
          'access-control-max-age': String(PREFLIGHT_SECONDS),
        })
      }
      return reply.code(204).send()
    })
  }

  async function allow(origin: string, reply: FastifyReply): Promise<void> {
    reply.header('vary', 'Origin')
    if (!(await clients.isClientOrigin(origin))) return
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-expose-headers', 'WWW-Authenticate')
  }
}
