/** Programs that know nothing of Gatehouse, and feeds: the CloudEvents SDKs, npm eventsource, the client of NATS for Go. They need downloads. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { ALICE, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN, openPlace } from '../support/engines.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { npm } from '../support/npm.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { startTcpBalancer } from '../support/tcp-balancer.ts'
import { until } from '../support/until.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

const programs = fileURLToPath(new URL('./programs/', import.meta.url))
const cache = fileURLToPath(new URL('../../node_modules/.cache/feed-programs/', import.meta.url))
const venv = join(cache, 'python')

const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
const go = await findToolchain({ version: ['go', 'version'], atLeast: [1, 24] })
const OPTIONS = { skip: !IS_LONG_RUN && 'they need downloads: npm run test:all' }

async function run(command: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, output } = await runCommand(command, { seconds: 300, environment })
  assert.equal(status, 0, output)
  return output
}

/** Where the packages are found: next to the programs that need them. */
async function javascriptProgram(name: string): Promise<string> {
  await mkdir(cache, { recursive: true })
  await writeFile(join(cache, 'package.json'), '{"private":true}')
  await npm(['install', '--no-save', '--loglevel=error', 'cloudevents@10.0.0', 'eventsource@5.1.4'], cache)
  await run(['cp', join(programs, name), cache])
  return join(cache, name)
}

describe('programs of others publish and follow', OPTIONS, () => {
  let server: FeedServer
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startFeedServer(opened.place)
  })
  after(async () => {
    await server?.stop()
    await leave?.()
  })

  /** Twice with one id: the second time it is not published again. */
  async function publishesOnce(command: readonly string[], topic: string, by: string): Promise<void> {
    const stream = await server.stream()
    const request = { Controller: 'Orders', Topic: topic, Action: 'Sub', TransactionID: 1, Confirm: true }
    assert.equal((await stream.request(request)).Confirm, true)
    const feed = `http://127.0.0.1:${server.port}/feeds/Orders`
    const environment = { GATEHOUSE_FEED: feed, GATEHOUSE_TOKEN: server.trader, EVENT_ID: '1' }
    const first: unknown = JSON.parse(await run(command, environment))
    assert.equal(Object(first).Published, 1)
    assert.deepEqual(JSON.parse(await run(command, environment)), first)
    await run(command, { ...environment, EVENT_ID: '2' })
    for (const _ of [1, 2]) assert.deepEqual((await stream.next()).Data, { filled: '10.50', by })
    await stream.expectSilence()
    stream.socket.terminate()
  }

  test('the CloudEvents SDK for JavaScript publishes an event', async () => {
    const program = await javascriptProgram('publish-event.cjs')
    await publishesOnce([process.execPath, program], 'ce/javascript', 'cloudevents for JavaScript')
  })

  const withPython = { skip: python.kind === 'missing' && python.reason }
  test('the CloudEvents SDK for Python publishes an event', withPython, async () => {
    await run(['python3', '-m', 'venv', venv])
    await run([join(venv, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', 'cloudevents==2.2.0'])
    const command = [join(venv, 'bin/python'), join(programs, 'publish_event.py')]
    await publishesOnce(command, 'ce/python', 'cloudevents for Python')
  })
})

describe('npm eventsource', OPTIONS, () => {
  test('resumes over a server that is killed and started again, and misses nothing', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-eventsource-'))
    const config = join(folder, 'feeds.yaml')
    await writeFile(
      config,
      'feeds: [{ name: Orders, keep: all, write: Platform/Trading, history: { messages: 1000 } }]',
    )
    const balancer = await startTcpBalancer()
    const start = async (): Promise<RunningProcess> => {
      const issuer = `http://localhost:${balancer.port}`
      const started = await serveProcess([
        '--demo',
        '--data',
        join(folder, 'data'),
        '--config',
        config,
        '--issuer',
        issuer,
      ])
      balancer.send([started.port])
      return started
    }
    let server = await start()
    const token = (await signIn(balancer, ALICE)).access_token
    const topic = `http://127.0.0.1:${balancer.port}/feeds/Orders/ACME`
    const program = spawn(process.execPath, [await javascriptProgram('follow-events.mjs')], {
      env: { ...process.env, GATEHOUSE_TOPIC: topic, GATEHOUSE_TOKEN: token },
    })
    let isPublishing = true
    t.after(async () => {
      isPublishing = false
      program.kill()
      await server.stop('SIGKILL')
      await balancer.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    })
    let printed = ''
    program.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    program.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    await until('it is connected', 5_000, () => printed.includes('open'))

    let published = 0
    const publishing = (async () => {
      while (isPublishing) {
        const key = `request-${published}`
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key }
        const reply = await fetch(topic, { method: 'POST', headers, body: String(published) }).catch(() => undefined)
        if (reply?.status === 200) published++
        await sleep(20)
      }
    })()
    const arrived = (): number[] => printed.match(/^\d+$/gm)?.map(Number) ?? []
    await until('messages arrive', 5_000, () => arrived().length >= 20)
    for (let restart = 1; restart <= 2; restart++) {
      await server.stop('SIGKILL')
      server = await start()
      await until('it is connected again', 10_000, () => printed.match(/^open$/gm)?.length === restart + 1)
      const before = arrived().length
      await until('messages arrive again', 5_000, () => arrived().length > before + 10)
    }
    isPublishing = false
    await publishing
    await until('everything has arrived', 10_000, () => arrived().length >= published).catch((error: unknown) => {
      throw new Error(`${published} were published, and this arrived: ${printed.replaceAll('\n', ' ')}`, {
        cause: error,
      })
    })
    assert.deepEqual(
      arrived(),
      Array.from({ length: published }, (_, index) => index),
    )
  })
})

const withGo = whyWithoutNats() ?? (go.kind === 'missing' && go.reason)
test('the client of NATS for Go publishes to the subject of a feed, and a stream receives it', {
  skip: withGo,
}, async (t) => {
  const program = join(cache, 'publish-nats')
  await mkdir(cache, { recursive: true })
  await run(['go', 'build', '-C', join(programs, 'nats'), '-o', program, '.'])
  const nats = await startNats()
  const { place, leave } = await openPlace('sqlite')
  const server = await startFeedServer(place, { flags: { '--nats-url': nats.url } })
  t.after(async () => {
    await server.stop()
    await leave()
    await nats.close()
  })
  const stream = await server.stream()
  const request = { Controller: 'Orders', Topic: 'NYSE/*', Action: 'Sub', TransactionID: 1, Confirm: true }
  assert.equal((await stream.request(request)).Confirm, true)
  await run([program], { NATS_URL: nats.url, NATS_SUBJECT: 'gatehouse.feeds.Orders.NYSE.ACME' })
  for (const last of ['101.25', '101.50']) {
    const message = await stream.next()
    assert.deepEqual([message.Topic, message.Data], ['NYSE/ACME', { last, by: 'nats.go' }])
  }
  stream.socket.terminate()
})
