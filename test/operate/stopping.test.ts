/** SIGTERM: the node says that it is not ready while it still serves, then closes; nothing is cut off. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { serveProcess } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

test('while it stops, /readyz is 503 and requests are served, on new and on open connections', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place, { flags: { '--stop-delay': '1.5' } })
  const open = connect(server.port, '127.0.0.1').setEncoding('utf8')
  t.after(() => open.destroy())
  const ask = async (path: string): Promise<string> => {
    open.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return String((await once(open, 'data'))[0])
  }
  const before = await ask('/healthz')
  assert.match(before, /^HTTP\/1.1 200 /)
  assert.doesNotMatch(before, /connection: close/i)

  const stopped = server.stop()
  const [ready, alive] = await Promise.all(
    ['/readyz', '/healthz'].map((path) => fetch(`http://127.0.0.1:${server.port}${path}`)),
  )
  assert.equal(ready?.status, 503)
  assert.partialDeepStrictEqual(await ready?.json(), { status: 'unavailable', checks: { process: 'stopping' } })
  assert.equal(alive?.status, 200, 'a new connection is accepted')
  assert.equal(alive?.headers.get('connection'), 'close')

  const last = await ask('/.well-known/openid-configuration')
  assert.match(last, /^HTTP\/1.1 200 /, 'a request on an open connection is served')
  assert.match(last, /\r\nconnection: close\r\n/i)
  await once(open, 'close')
  await stopped
  await assert.rejects(fetch(`http://127.0.0.1:${server.port}/healthz`))
  const messages = server.log.map((line) => JSON.parse(line).msg)
  assert.ok(messages.indexOf('stopping') < messages.lastIndexOf('request'), 'requests were served after "stopping"')
  assert.equal(messages.at(-1), 'stopped')
})

test('an idle connection is closed once the time is over, and does not hold the stop', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place, { flags: { '--stop-delay': '0.2' } })
  const idle = connect(server.port, '127.0.0.1')
  t.after(() => idle.destroy())
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const closed = once(idle, 'close')
  const began = performance.now()
  await server.stop()
  await closed
  assert.ok(performance.now() - began >= 190, 'not before its time')
})

test('SIGTERM under load: no request is lost by clients that stop when /readyz says 503, as a load balancer does', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const node = await serveProcess(['--data', place.dataFolder, '--stop-delay', '1.5'])
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  t.after(() => agent.destroy())
  const status = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = get({ port: node.port, host: '127.0.0.1', path, agent }, (response) => {
        response
          .resume()
          .once('end', () => resolve(response.statusCode))
          .once('error', reject)
      })
      sent.once('error', reject)
    })
  let isReady = true
  let isStopping = false
  const lost: unknown[] = []
  const served = { before: 0, after: 0 }
  const client = async () => {
    while (isReady) {
      try {
        assert.equal(await status('/.well-known/openid-configuration'), 200)
        served[isStopping ? 'after' : 'before']++
      } catch (error) {
        lost.push(error)
      }
    }
  }
  const clients = Array.from({ length: 16 }, client)
  await until('the load runs', 10_000, () => served.before > 200)
  isStopping = true
  const stopped = node.stop('SIGTERM')
  await until('/readyz says 503', 10_000, async () => (await status('/readyz')) === 503)
  isReady = false
  await Promise.all(clients)
  assert.equal(await stopped, 0)
  assert.deepEqual(lost, [])
  assert.ok(served.after > 0, 'requests were served after the signal')
})

test('a process logs its version when it starts, and that it stops', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const { stop, output } = await serveProcess(['--data', place.dataFolder])
  assert.equal(await stop('SIGTERM'), 0)
  const lines = output()
    .stdout.trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.partialDeepStrictEqual(lines[0], { level: 'info', msg: 'starting' })
  assert.match(lines[0].version, /^\d+\.\d+\.\d+/)
  assert.deepEqual(
    lines.slice(-2).map(({ msg }) => msg),
    ['stopping', 'stopped'],
  )
})
