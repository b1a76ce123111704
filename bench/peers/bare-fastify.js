// Fastify that answers every request with a document from memory: an upper bound, not a peer.
import Fastify from 'fastify'

const document = JSON.stringify({ text: 'x'.repeat(Number(process.argv[3] ?? 1000)) })
const app = Fastify()
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, body),
)
for (const method of ['GET', 'POST']) {
  app.route({
    method,
    url: '/*',
    exposeHeadRoute: false,
    handler: (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(document),
  })
}
await app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' })
