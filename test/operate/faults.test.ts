/** Uncaught errors: those known to be local end there; after any other error the process stops in an orderly way. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-faults-'))
})
after(() => rm(folder, { recursive: true }))

const readLines = (server: RunningProcess, message: string) =>
  server
    .output()
    .stdout.split('\n')
    .filter((line) => line.includes(`"msg":"${message}`))
    .map((line) => JSON.parse(line))

/** Each topic fails in a different way; `Echo` answers. */
const CONTROLLER = `
import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
const fail = (text) => { throw new Error(text) }
const topic = (publish) => ({ summary: 'For tests.', needs: 'nothing', publish })
const own = (open) => ({ summary: 'For tests.', needs: 'nothing', subscription: { open } })
const quiet = { drained() {}, setPrincipal() {}, pause() {}, resume() {}, close() {} }
let publisher
setTimeout(() => fail('while it was loaded'), 50)
export default {
  name: 'Faulty',
  summary: 'For tests.',
  start(given) {
    publisher = given
    setTimeout(() => fail('while it was started'), 50)
    return () => fail('while it was stopped')
  },
  topics: {
    Echo: topic(({ data }) => data),
    Throw: topic(() => fail('thrown')),
    Reject: topic(async () => fail('rejected')),
    Unawaited: topic(() => { Promise.reject(new Error('not awaited')); return 'done' }),
    NoError: topic(() => { Promise.reject('not an error'); return 'done' }),
    Timer: topic(() => { setTimeout(() => fail('in a timer'), 1); return 'done' }),
    Later: topic(async () => { await null; setImmediate(() => fail('in a later turn')); return 'done' }),
    Tick: topic(() => { process.nextTick(() => fail('in a tick')); return 'done' }),
    Emitter: topic(() => { setTimeout(() => new EventEmitter().emit('error', new Error('emitted')), 1); return 'done' }),
    Socket: topic(() => { connect(1, '127.0.0.1'); return 'done' }),
    Abort: topic(({ signal }) => new Promise(() => signal.addEventListener('abort', () => fail('aborted')))),
    Publish: { ...topic(() => { setTimeout(() => publisher.publish('Publish', 1n), 1); return 'done' }), subscription: { slow: 'latest' } },
    Drained: own(async () => ({ ...quiet, drained: () => fail('drained') })),
    Close: own(async () => ({ ...quiet, close: () => fail('closed') })),
  },
}
`

describe('a custom controller', () => {
  let server: RunningProcess
  let metricsPort: number
  before(async () => {
    await writeFile(join(folder, 'faulty.mjs'), CONTROLLER)
    metricsPort = await freePort()
    const data = join(folder, 'controller')
    server = await serveProcess([
      ...['--data', data, '--stream-controllers', join(folder, 'faulty.mjs'), '--metrics-port', String(metricsPort)],
      ...['--stream-drain-time', '0.1'],
    ])
  })
  after(() => server.stop('SIGKILL'))

  const faults = async (): Promise<number> => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const counts = metrics.matchAll(/^gatehouse_controller_faults_total{controller="[^"]*"} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  test('an error outside its handlers is logged and counted, and affects nothing else', async () => {
    await until('its own timers have failed', 1000, async () => (await faults()) === 2)
    const other = await connect(server.port)
    const client = await connect(server.port)
    const unawaited = ['Unawaited', 'NoError', 'Timer', 'Later', 'Tick', 'Emitter', 'Socket', 'Publish']
    // What is published must have a subscriber to be encoded for.
    await other.request({ Controller: 'Faulty', Topic: 'Publish', Action: 'Sub', TransactionID: 1, Confirm: true })
    let expected = 2
    for (const topic of unawaited) {
      const reply = await client.request({ Controller: 'Faulty', Topic: topic, TransactionID: 1 })
      assert.equal(reply.Data, 'done', topic)
      expected++
      await until(`${topic} is counted`, 1000, async () => (await faults()) === expected)
    }
    client.send({ Controller: 'Faulty', Topic: 'Abort', TransactionID: 2 })
    client.send({ Controller: 'Faulty', Topic: 'Abort', Action: 'Cancel', TransactionID: 2 })
    expected++
    await until('Abort is counted', 1000, async () => (await faults()) === expected)
    assert.equal(
      (await other.request({ Controller: 'Faulty', Topic: 'Echo', TransactionID: 3, Data: 'here' })).Data,
      'here',
    )
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status, 200)
    const [line] = readLines(server, 'uncaught error of a controller')
    assert.match(line.controller, /faulty\.mjs$|^Faulty$/)
    assert.match(line.err.message, /while it was/)
  })

  test('what fails in a handler is the error of its request, and of a subscription its end', async () => {
    const client = await connect(server.port)
    for (const topic of ['Throw', 'Reject']) {
      const reply = await client.request({ Controller: 'Faulty', Topic: topic, TransactionID: 1 })
      assert.deepEqual([reply.Action, reply.Data], ['Error', 'Fault'], topic)
    }
    const confirmed = await client.request({
      ...{ Controller: 'Faulty', Topic: 'Close', Action: 'Sub', TransactionID: 2, Confirm: true },
    })
    assert.equal(confirmed.Confirm, true)
    client.send({ Controller: 'Faulty', Topic: 'Drained', Action: 'Sub', TransactionID: 3, Confirm: true })
    let error = await client.next()
    while (error.Action !== 'Error') error = await client.next()
    assert.deepEqual([error.Topic, error.Data], ['Drained', 'Fault'])
    assert.partialDeepStrictEqual(await client.next(), { Topic: 'Drained', Action: 'Unsub' })
    assert.equal(
      (await client.request({ Controller: 'Faulty', Topic: 'Echo', TransactionID: 4, Data: 'here' })).Data,
      'here',
    )
    client.socket.close()
    await until('the end of the subscription is logged', 1000, () =>
      readLines(server, 'a streaming operation failed').some(({ err }) => err.message === 'closed'),
    )
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status, 200)
  })

  test('one that fails to stop does not keep the server from it', async () => {
    assert.equal(await server.stop(), 0, server.output().stderr)
    assert.equal(readLines(server, 'a controller could not stop').length, 1)
    assert.equal(readLines(server, 'stopped').length, 1)
  })
})

/** Fails outside of everything that is known when the process gets a signal. */
const PRELOADED = `
process.on('SIGUSR2', () => {
  if (process.env.FAULT === 'thrown') throw new Error('injected')
  Promise.reject(new Error('injected'))
})
`

async function serveWithFault(name: string, args: readonly string[], fault = 'thrown'): Promise<RunningProcess> {
  const file = join(folder, 'preloaded.mjs')
  await writeFile(file, PRELOADED)
  const environment = { NODE_OPTIONS: `--import ${pathToFileURL(file)}`, FAULT: fault }
  return serveProcess(['--data', join(folder, name), '--stream-drain-time', '0.1', ...args], { environment })
}

for (const fault of ['thrown', 'rejected'])
  test(
    `any other error (${fault}): no more requests are taken, /readyz says so, and the process ends in order with status 1`,
    fault === 'thrown' ? {} : IN_LONG_RUNS,
    async () => {
      const server = await serveWithFault(fault, ['--demo', '--stop-delay', '1.5'], fault)
      const url = (path: string) => `http://127.0.0.1:${server.port}${path}`
      const stream = await connect(server.port)
      const closed = once(stream.socket, 'close')
      // A request whose body is still to come.
      const socket = connectTcp(server.port, '127.0.0.1')
      const form = 'grant_type=none&client_id=demo-cli'
      socket.write(
        `POST /connect/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n`,
      )
      assert.equal((await fetch(url('/readyz'))).status, 200)
      server.child.kill('SIGUSR2')
      await until('it is not ready', 1000, async () => (await fetch(url('/readyz'))).status === 503)
      assert.partialDeepStrictEqual(await (await fetch(url('/readyz'))).json(), { checks: { process: 'failed' } })
      assert.equal((await fetch(url('/healthz'))).status, 200)
      const refused = await fetch(url('/openapi.json'))
      assert.deepEqual([refused.status, refused.headers.get('connection')], [503, 'close'])
      assert.partialDeepStrictEqual(await refused.json(), { Code: 'server.failed' })
      const token = await fetch(url('/connect/token'), { method: 'POST', body: new URLSearchParams(form) })
      assert.partialDeepStrictEqual(await token.json(), { error: 'temporarily_unavailable' })
      socket.write(form)
      assert.match(await text(socket), /^HTTP\/1.1 400 .*unsupported_grant_type/s)
      const [code] = await closed
      assert.equal(code, 1012)
      assert.equal(await server.ended, 1)
      const [fatal] = readLines(server, 'internal error with unknown effects: stopping the process')
      assert.deepEqual([fatal.level, fatal.err.message], ['fatal', 'injected'])
      assert.equal(readLines(server, 'stopped').length, 1)
    },
  )

describe('with workers', () => {
  let server: RunningProcess
  before(async () => {
    server = await serveWithFault('workers', ['--demo', '--workers', '2', '--stop-delay', '1'])
    await until('all answer', 5000, () => readLines(server, 'all workers have started').length > 0)
  })
  after(() => server.stop('SIGKILL'))

  const fetchAnew = (path: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { connection: 'close' } })

  test('a worker that fails ends and is replaced, while the others answer', async () => {
    const [started] = readLines(server, 'started')
    process.kill(Number(started.node.split(':')[1]), 'SIGUSR2')
    await until('it is replaced', 5000, async () => {
      // One that was handed to it as it closed its port is lost.
      const ready = () =>
        fetchAnew('/readyz').then(
          ({ status }) => status,
          () => 'lost',
        )
      const statuses = await Promise.all(Array.from({ length: 4 }, ready))
      assert.ok(statuses.includes(200), `${statuses}`)
      return readLines(server, 'started').length === 3
    })
    const [ended] = readLines(server, 'a worker ended (status 1)')
    assert.equal(ended.worker, started.worker)
    for (let count = 0; count < 10; count++) assert.equal((await fetchAnew('/openapi.json')).status, 200)
  })

  test('a supervisor that fails ends with its workers, with status 1', async () => {
    server.child.kill('SIGUSR2')
    assert.equal(await server.ended, 1)
    assert.equal(readLines(server, 'stopped').length, 3, server.output().stdout)
  })
})

test('a log that cannot be written does not end the server', { skip: process.platform !== 'linux' }, async () => {
  const program = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))
  for (const format of ['json', 'pretty']) {
    const port = await freePort()
    const args = ['serve', '--port', String(port), '--data', join(folder, format), '--stop-delay', '0']
    const child = spawn('sh', [
      ...['-c', 'exec "$@" > /dev/full', 'sh', process.execPath, program, ...args],
      ...['--log-level', 'info', '--log-format', format],
    ])
    const ended = once(child, 'exit')
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        (reply) => reply.ok,
        () => false,
      )
    await until('it answers', 5000, answers)
    for (let count = 0; count < 5; count++) assert.ok(await answers(), format)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null], format)
  }
})
