/** SIGTERM: the node says that it is not ready while it still serves, then closes; nothing is cut off. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { longestStop } from '../../packages/server/src/server/stop-times.ts'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
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
      await sleep(5)
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

for (const workers of [1, 2])
  test(
    `a rolling restart of two nodes with ${workers} process(es) each: a proxy that keeps connections gets every reply`,
    workers === 2 ? {} : IN_LONG_RUNS,
    async (t) => {
      const places = await Promise.all([openPlace('sqlite'), openPlace('sqlite')])
      t.after(() => Promise.all(places.map(({ leave }) => leave())))
      const start = async (index: number): Promise<RunningProcess> => {
        const data = ['--data', places[index]?.place.dataFolder ?? '']
        const node = await serveProcess([
          ...data,
          '--stop-delay',
          '1.5',
          '--limit-token',
          '',
          '--workers',
          `${workers}`,
        ])
        await until(
          'all workers have started',
          10_000,
          () => workers === 1 || node.output().stdout.includes('all workers'),
        )
        return node
      }
      let nodes: readonly RunningProcess[] = await Promise.all([start(0), start(1)])
      t.after(() => Promise.all(nodes.map((node) => node.stop())))
      const agent = new Agent({ keepAlive: true })
      t.after(() => agent.destroy())
      const post = (port: number | undefined) =>
        new Promise<number | undefined>((resolve, reject) => {
          const options = { method: 'POST', port, host: '127.0.0.1', path: '/connect/token', agent }
          const sent = request(options, (response) => {
            response
              .resume()
              .once('end', () => resolve(response.statusCode))
              .once('error', reject)
          })
          sent
            .once('error', (error) => reject(Object.assign(error, { isKept: sent.reusedSocket })))
            .end('grant_type=none')
        })
      let isRunning = true
      let served = 0
      let turn = 0
      let unaccepted = 0
      const lost: unknown[] = []
      /**
       * As nginx does: a request goes to the other node if there is no connection to the first, and not if it may have been read. This
       * proxy ignores /readyz, and opens connections until the port closes. The kernel establishes those without the server, and resets
       * the ones that no process has accepted at that moment: no server can prevent it, so that a proxy must stop in time or try again.
       */
      const send = async (): Promise<void> => {
        const [first, second] = turn++ % 2 === 0 ? nodes : nodes.toReversed()
        const status = await post(first?.port).catch((error) => {
          const isReset = error.syscall === 'read' && error.code === 'ECONNRESET' && !error.isKept
          if (isReset) unaccepted++
          if (isReset || error.syscall === 'connect') return post(second?.port)
          throw error
        })
        assert.equal(status, 400)
        served++
      }
      const client = async () => {
        while (isRunning) {
          await send().catch((error) => lost.push(error))
          await sleep(5)
        }
      }
      const clients = Array.from({ length: 24 }, client)
      for (const index of [0, 1]) {
        const goal = served + 200
        await until('the load runs', 10_000, () => served > goal)
        assert.equal(await nodes[index]?.stop(), 0)
        const fresh = await start(index)
        nodes = nodes.map((node, at) => (at === index ? fresh : node))
      }
      isRunning = false
      await Promise.all(clients)
      assert.deepEqual(lost, [], `of ${served}`)
      t.diagnostic(
        `${unaccepted} of ${served} requests were on connections that had not been accepted when a port closed`,
      )
      assert.ok(unaccepted < served / 100, `${unaccepted} of ${served}`)
    },
  )

test('a node without streaming answers an offer to upgrade as any request, and stops', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place, { flags: { '--services': 'identity' } })
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
  t.after(() => socket.destroy())
  socket.write('GET /Platform HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 404 /)
  await server.stop()
})

test('a database that does not answer does not hold up a stop', { timeout: 60_000 }, async (t) => {
  const { place, leave } = await openPlace('postgres')
  const url = new URL(place.databaseUrl)
  const proxy = await startTcpProxy(url.hostname, Number(url.port))
  t.after(async () => {
    await proxy.close()
    await leave()
    await stopOwnPostgres()
  })
  url.host = `127.0.0.1:${proxy.port}`
  const flags = ['--data', place.dataFolder, '--database-url', url.href, '--stream-drain-time', '0.1']
  const node = await serveProcess(flags)
  t.after(() => node.stop('SIGKILL'))
  await until('it is settled', 5000, () => node.output().stdout.includes('there is no administrator'))
  proxy.hold()
  const since = performance.now()
  assert.equal(await node.stop(), 1)
  assert.ok(performance.now() - since < 20_000)
  assert.match(node.output().stdout, /"msg":"could not stop cleanly"/)
})

test('what kills a server that stops, in the examples, waits for longer than a stop takes', () => {
  const { config } = loadConfig({})
  const longest = Math.max(longestStop(config), config.workerTimeout * 1.1) / 1000
  for (const [file, pattern] of [
    ['examples/systemd/gatehouse.service', /^TimeoutStopSec=(\d+)$/m],
    ['examples/kubernetes/gatehouse.yaml', /terminationGracePeriodSeconds: (\d+)$/m],
    ['compose.yaml', /stop_grace_period: (\d+)s$/m],
  ] as const) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    const seconds = Number(pattern.exec(text)?.[1])
    assert.ok(seconds > longest, `${file}: ${seconds} s, and a stop takes up to ${longest} s`)
  }
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
