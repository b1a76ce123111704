/** The conformance suite of the Model Context Protocol: on the core with its diagnostic tools, and on /mcp of the demonstration. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { BODY, Endpoint } from '../../packages/server/src/mcp/protocol/endpoint.ts'
import { StateSeal } from '../../packages/server/src/mcp/protocol/input.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { signIn } from '../browser/scene.ts'
import { startChromium } from '../support/chromium.ts'
import { ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { agentToken } from '../support/mcp.ts'
import { DIAGNOSTICS } from '../support/mcp-diagnostics.ts'
import { npm } from '../support/npm.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
/** In the folder where it is installed. */
const PROGRAM = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
/** Of clients from before 2026, what this server does not build: logging, sampling, elicitation and subscriptions by the server; and streams of a session, of which there are none. */
const NOT_BUILT = [
  ...['logging-set-level', 'tools-call-with-logging', 'tools-call-sampling', 'tools-call-elicitation'],
  ...['elicitation-sep1034-defaults', 'elicitation-sep1330-enums', 'resources-subscribe', 'resources-unsubscribe'],
  'server-sse-multiple-streams',
]
/** The access rule of the route checks it, so that it is tested on /mcp. */
const NOT_OF_THE_CORE = ['dns-rebinding-protection']
/** The suite skips its checks, and counts that as a failure where some are expected. */
const SKIPPED = ['input-required-result-ignore-extra-params']

const run = promisify(execFile)
let folder: string
let core: string
let platform: string
const closing: (() => unknown)[] = []

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-suite-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{"private": true}')
  await npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', SUITE], folder)
  core = await serveCore()
  platform = await servePlatform()
})
after(async () => {
  for (const close of closing.reverse()) await close()
})

/** The core alone: its callers are who the test says. */
async function serveCore(): Promise<string> {
  const metrics = new Metrics()
  const endpoint = new Endpoint({
    features: DIAGNOSTICS,
    serverInfo: { name: 'core', title: 'Core', version: '1' },
    metrics,
    states: new StateSeal(() => Buffer.alloc(32, 7), Date.now),
    isUnchanged: async () => true,
  })
  const logger = createLogger({ level: 'error', format: 'json', destination: { write() {} } })
  const principal = { kind: 'user', subject: 'suite', clientId: 'suite', scopes: new Set<string>(), audiences: [] }
  const pipeline = new Pipeline({
    logger,
    metrics,
    readAddress: () => '127.0.0.1',
    groups: [
      {
        at: ['/mcp'],
        routes: [
          {
            method: 'POST',
            path: '/mcp',
            body: BODY,
            handle(context) {
              Object.assign(context, { principal })
              return endpoint.handle(context)
            },
          },
        ],
      },
    ],
  })
  return `${await listen(createServer(pipeline.handle))}/mcp`
}

/** The demonstration, behind a proxy that adds the token, and whose address is the issuer: pages of it may call. */
async function servePlatform(): Promise<string> {
  const { place, leave } = await openPlace('sqlite')
  closing.push(leave)
  const port = await freePort()
  const flags = { '--demo': 'true', '--limit-mcp': '', '--issuer': `http://localhost:${port}` }
  const server: TestServer = await startTestServer(place, { flags })
  closing.push(() => server.stop())
  const token = await agentToken(server)
  const pass: RequestListener = (request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` }
    const { method, url: path } = request
    const onward = httpRequest({ port: server.port, method, path, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }
  return `${await listen(createServer(pass), port)}/mcp`
}

async function listen(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** The checks of each scenario that ran. Rejects if the suite fails. */
async function runSuite(url: string, ...options: readonly string[]): Promise<ReadonlyMap<string, readonly Check[]>> {
  const results = await mkdtemp(join(folder, 'results-'))
  const words = [PROGRAM, 'server', '--url', url, '--output-dir', results, ...options]
  try {
    await run(process.execPath, words, { cwd: folder, maxBuffer: 1 << 26 })
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string }
    assert.fail(stdout.slice(-6000))
  }
  return readChecks(results, /^server-|-\d{4}-\d{2}-\d{2}T.*$/g)
}

/** By scenario: `around` is what the names of the folders have besides. */
async function readChecks(results: string, around: RegExp): Promise<ReadonlyMap<string, readonly Check[]>> {
  const scenarios = new Map<string, readonly Check[]>()
  for (const name of await readdir(results))
    scenarios.set(name.replace(around, ''), JSON.parse(await readFile(join(results, name, 'checks.json'), 'utf8')))
  return scenarios
}

/** `allowed`: what a check may say besides SUCCESS, and INFO. */
function assertPassed(scenarios: ReadonlyMap<string, readonly Check[]>, allowed: readonly string[] = []): void {
  assert.ok(scenarios.size > 0)
  const faults = [...scenarios].flatMap(([scenario, checks]) =>
    checks
      .filter(({ status }) => !['SUCCESS', 'INFO', ...allowed].includes(status))
      .map(({ id, status, errorMessage }) => `${scenario} ${id} ${status}: ${errorMessage}`),
  )
  assert.deepEqual(faults, [])
}

/** A file of the scenarios that may fail, and must: one that passes fails the suite too. */
async function writeExpected(scenarios: readonly string[]): Promise<string> {
  const file = join(folder, `expected-${scenarios.length}.yml`)
  await writeFile(file, `server:\n${scenarios.map((name) => `  - ${name}\n`).join('')}`)
  return file
}

test('core: all that 2026-07-28 requires', async () => {
  const expected = await writeExpected([...NOT_OF_THE_CORE, ...SKIPPED])
  await runSuite(core, '--requirements', '2026-07-28', '--expected-failures', expected)
})

for (const scenario of ['http-header-validation', 'json-schema-2020-12'])
  test(`core: ${scenario}`, async () => {
    assertPassed(await runSuite(core, '--scenario', scenario, '--spec-version', '2026-07-28'))
  })

test('core: all that 2025-11-25 requires, but nine that are not built', async () => {
  const expected = await writeExpected([...NOT_BUILT, ...NOT_OF_THE_CORE])
  await runSuite(core, '--requirements', '2025-11-25', '--expected-failures', expected)
})

const OF_PLATFORM = [
  ...['tools-list', 'prompts-list', 'resources-list', 'caching', 'sep-2164-resource-not-found'],
  ...['server-sse-multiple-streams', 'dns-rebinding-protection', 'http-header-validation'],
]
for (const scenario of OF_PLATFORM)
  test(`/mcp: ${scenario}`, async () => {
    assertPassed(await runSuite(platform, '--scenario', scenario, '--spec-version', '2026-07-28'))
  })
for (const scenario of ['server-initialize', 'ping', 'tools-list'])
  test(`/mcp: ${scenario}, of 2025-11-25`, async () => {
    assertPassed(await runSuite(platform, '--scenario', scenario, '--spec-version', '2025-11-25'))
  })

test('authorization: gatehouse-agent, signed in and allowed in Chromium, without a warning', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  const browser = await startChromium()
  t.after(async () => {
    await browser.stop()
    await server.stop()
    await leave()
  })
  const results = await mkdtemp(join(folder, 'results-'))
  const port = await freePort()
  const words = ['--client-id', 'gatehouse-agent', '--resource', `${server.issuer}/mcp`, '--port', String(port)]
  const suite = spawn(
    process.execPath,
    [PROGRAM, 'authorization', '--url', server.issuer, '--output-dir', results, ...words],
    { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(suite, 'exit')
  let shown = ''
  for await (const line of createInterface({ input: suite.stdout })) {
    shown += `${line}\n`
    if (!line.includes('/connect/authorize?')) continue
    const page = await (await browser.newContext()).newPage()
    await page.goto(line.trim())
    await signIn(page, ALICE)
    await page.waitForURL(`http://127.0.0.1:${port}/**`)
  }
  const [status] = await ended
  assert.equal(status, 0, shown)
  const scenarios = await readChecks(results, /^authorization-server-|-\d{4}-\d{2}-\d{2}T.*$/g)
  assert.deepEqual([...scenarios.keys()].toSorted(), [
    'authorization-code-grant',
    'authorization-server-metadata-endpoint',
  ])
  assertPassed(scenarios)
})
