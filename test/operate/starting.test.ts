/** A node that starts refuses connections until it can serve, so that clients and proxies try another one. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { lockStart } from '../../packages/server/src/store/cluster/start-lock.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

test('the ports of a node are closed while another one starts, and open once it is ready', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const [port, metricsPort, wirePort] = [await freePort(), await freePort(), await freePort()]
  const ports = [port, metricsPort, wirePort]
  const unlock = await lockStart({ url: '', dataFolder: place.dataFolder })
  const flags = { '--port': String(port), '--metrics-port': String(metricsPort), '--wire-port': String(wirePort) }
  const starting = startTestServer(place, { flags: { '--demo': 'true', ...flags } })
  try {
    // Once the ports have been checked, and open for a moment, it waits for the lock.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const refused = ['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']
    for (let round = 0; round < 10; round++) assert.deepEqual(await Promise.all(ports.map(tryConnect)), refused)
    await unlock()
    await starting
    assert.deepEqual(await Promise.all(ports.map(tryConnect)), ['open', 'open', 'open'])
    await until('it is ready', 5000, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200)
  } finally {
    await unlock()
    await (await starting).stop()
  }
})

test('a port that another program takes during the start is named, with its setting', async (t) => {
  for (const [setting, expected] of [
    ['--metrics-port', /^The metrics port \d+ on \S+ is in use: change GATEHOUSE_METRICS_PORT/],
    ['--port', /EADDRINUSE/],
  ] as const) {
    const { place, leave } = await openPlace('sqlite')
    t.after(leave)
    const port = await freePort()
    const unlock = await lockStart({ url: '', dataFolder: place.dataFolder })
    const log: string[] = []
    const starting = startTestServer(place, { flags: { '--demo': 'true', [setting]: String(port) }, log })
    const failed = assert.rejects(starting, { message: expected })
    // Once the ports have been checked, it waits for the lock.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    await unlock()
    await failed
    assert.doesNotMatch(log.join(''), /could not be accepted/)
  }
})

async function tryConnect(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return 'open'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    socket.destroy()
  }
}
