/** The two sides of the server: the services, there from the start, and the annex, opened by the first who comes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createApp } from '../../src/http/app.ts'
import { openListener } from '../../src/http/listener.ts'
import { createLogger } from '../../src/http/log.ts'
import { createMetrics } from '../../src/protocol/metrics.ts'
import { openLater } from '../../src/server/later.ts'
import { bySide } from '../../src/server/sides.ts'

const SIDES: readonly [string, 'services' | 'annex'][] = [
  ['/.well-known/openid-configuration', 'services'],
  ['/connect/token', 'services'],
  ['/Connect/Token?x=/device', 'services'],
  ['/%63onnect/token', 'services'],
  ['/gate/connect/userinfo', 'services'],
  ['/query', 'services'],
  ['/Query/trades/Select', 'services'],
  ['/Platform?version=1.1', 'services'],
  ['/healthz', 'services'],
  ['/connect/authorize?client_id=x', 'annex'],
  ['/connect/tokens', 'annex'],
  ['/queryx', 'annex'],
  ['/admin/users', 'annex'],
  ['/account', 'annex'],
  ['/', 'annex'],
  ['/%', 'annex'],
]

/** RFC 9112 §3.2.2: what is asked for by its whole address is found as by its path. */
const WHOLE: typeof SIDES = [
  ['http://localhost/query', 'services'],
  ['HTTPS://localhost:8443/gate/connect/token?x', 'services'],
  ['http://localhost/admin/users?x=http://localhost/query', 'annex'],
  ['http://localhost?x=/query', 'annex'],
]

test('every address has its side', async () => {
  const say =
    (word: string): RequestListener =>
    (_request, response) =>
      response.end(word)
  const server = createServer(bySide('/gate', say('services'), say('annex'))).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  for (const [path, side] of SIDES)
    assert.equal(await (await fetch(`http://127.0.0.1:${port}${path}`)).text(), side, path)
  for (const [path, side] of WHOLE) {
    const [answer] = await once(get({ port, path }), 'response')
    assert.equal(await text(answer), side, path)
  }
  server.close()
})

test('it is built once, by the first who comes; a failure is told with the headers of every answer, and the next tries again', async () => {
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const errors: unknown[] = []
  let built = 0
  const later = openLater({
    async build() {
      if (++built === 1) throw new Error('not yet')
      const logger = createLogger({ level: 'silent', format: 'json' })
      const app = createApp({ logger, trustedProxies: [], listener, metrics: createMetrics() })
      app.get('/account', async () => ({ hello: 'there' }))
      await app.ready()
      return app
    },
    onError: (error, requestId) => errors.push({ message: (error as Error).message, requestId }),
  })
  listener.answerWith(later.routing)
  const ask = () => fetch(`http://127.0.0.1:${listener.port}/account`)
  assert.equal(built, 0)
  const failed = await ask()
  assert.equal(failed.status, 500)
  assert.equal(failed.headers.get('strict-transport-security'), 'max-age=31536000')
  assert.equal(failed.headers.get('x-content-type-options'), 'nosniff')
  assert.partialDeepStrictEqual(await failed.json(), { Code: 'server.fault', status: 500 })
  assert.deepEqual(errors, [{ message: 'not yet', requestId: failed.headers.get('request-id') }])
  const answers = await Promise.all([ask(), ask(), ask()])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(built, 2)
  await later.close()
  await listener.close(100)
})
