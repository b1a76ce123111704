/** The official clients of the Model Context Protocol, in both eras: a document, consent, refresh, every tool, a watch, a question; over HTTP and over `gatehouse mcp`. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { decide } from '../support/agents.ts'
import { trustedCertificate } from '../support/certificate.ts'
import { root } from '../support/clone.ts'
import { ADMIN, ALICE, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { rsaPair, serveDocuments, signJwt, toJwk } from '../support/foreign-issuer.ts'
import { addOperator, SECRET, startGate } from '../support/identity.ts'
import { runInProcess } from '../support/in-process.ts'
import { agentToken, MODERN } from '../support/mcp.ts'
import { npm } from '../support/npm.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { readAnswer } from '../support/sign-in-place.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signIn as signInPage } from '../support/visitor.ts'

const SDK = '@modelcontextprotocol/sdk@1.32.2'
const CLIENT = '@modelcontextprotocol/client@2.4.0'
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'
const PYTHON_LINES = { '1': 'mcp==1.30.0', '2': 'mcp==2.3.0' }
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LEGACY = '2025-11-25'
const REDIRECT = 'http://127.0.0.1:33418/callback'
const EXPENSIVE = 'SELECT DISTINCT venue FROM trades'
const WATCH = { statement: 'SELECT id, name FROM items' }

/** A call of every tool that needs no other before it. */
const CALLS = {
  list_tables: {},
  describe_table: { table: 'trades' },
  query: { statement: 'SELECT CAST(:n AS Integer) AS n', parameters: { n: 7 } },
  saved_query: {},
  iql_help: { topic: 'time_bucket' },
  chart: { statement: 'SELECT i, i * i AS square FROM generate_series(1, 5) AS i' },
  watch: WATCH,
  list_feeds: {},
  read_feed: { feed: 'Prices', topic: 'NYSE/ACME' },
}

// Before the first test: what awaits between two of them would see the end of the first ones.
const withoutPython = await preparePython()
const closing: (() => unknown)[] = []
let folder: string
let server: TestServer
let document: string
let admin: string
let login: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-clients-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await npm(
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', SDK, CLIENT, INSPECTOR],
    folder,
  )
  await cp(join(root, 'test/mcp/clients'), folder, { recursive: true })
  document = await serveDocument()
  const { place, leave } = await openPlace('sqlite')
  closing.push(leave)
  const flags = {
    '--demo': 'true',
    '--limit-mcp': '',
    '--client-jwks-private': 'true',
    '--agent-scan-rows': '1000',
    '--agent-seconds': '300',
  }
  server = await startTestServer(place, { flags })
  closing.push(() => server.stop())
  admin = (await signIn(server, ADMIN)).access_token
  await post('/query', { Statement: 'CREATE TABLE items (id Integer PRIMARY KEY, name Text)' })
  await post('/admin/feeds', { name: 'Prices', read: 'Platform/Market', write: 'Platform/Admin', keep: 'latest' })
  await post('/feeds/Prices', [{ Topic: 'NYSE/ACME', Data: { price: '45.1000' } }])
  login = join(folder, 'config')
  const words = [
    'login',
    '--server',
    server.issuer,
    '--username',
    ALICE.username,
    '--client',
    'demo-cli',
    '--password-stdin',
  ]
  const { status, stderr } = await runInProcess(words, {
    environment: { XDG_CONFIG_HOME: login },
    stdin: `${ALICE.password}\n`,
  })
  assert.equal(status, 0, stderr)
})
after(async () => {
  for (const close of closing.reverse()) await close()
})

/** The document of the agents: the official clients take https alone. */
async function serveDocument(): Promise<string> {
  const served = https.createServer(trustedCertificate(), (_request, response) =>
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        client_id: address,
        client_name: 'Research Assistant',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      }),
    ),
  )
  await new Promise<void>((resolve) => served.listen(0, 'localhost', resolve))
  closing.push(() => served.close())
  const address = `https://localhost:${(served.address() as AddressInfo).port}/agent.json`
  return address
}

async function post(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  const reply = await fetch(server.issuer + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.ok(reply.ok, await reply.text())
}

let written = 0
const write = () => post('/query', { Statement: `INSERT INTO items (id, name) VALUES (${++written}, 'item')` })

/** Signs alice in, who allows everything. Resolves with the parameters of the answer. */
async function consent(url: string): Promise<Record<string, string>> {
  const agent = createUserAgent({ home: server.issuer })
  const first = await agent.get(url)
  const page =
    first.kind === 'page' && first.url.pathname === '/sign-in' ? await signInPage(agent, first, ALICE) : first
  return Object.fromEntries(readAnswer(await decide(agent, page)))
}

// biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, it asserts.
type Found = any

/** Runs a program of `clients/`, whose user and whose platform this is. */
async function converse(command: readonly string[], config: object, sign?: (context: Found) => string): Promise<Found> {
  const [program = '', ...words] = command
  const given = {
    url: `${server.issuer}/mcp`,
    document,
    redirectUri: REDIRECT,
    calls: CALLS,
    watch: WATCH,
    expensive: EXPENSIVE,
  }
  const child = spawn(program, [...words, JSON.stringify({ ...given, ...config })], { cwd: folder, timeout: 120_000 })
  const complaints = text(child.stderr)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const said: Found = JSON.parse(line)
      if (said.found !== undefined) return said.found
      child.stdin.write(`${JSON.stringify(await answer(said, sign))}\n`)
    }
  } finally {
    child.kill()
  }
  return assert.fail(await complaints)
}

/** What a program asks of its user, of the firm, and of the platform. */
async function answer(
  { authorize, assertion }: Found,
  sign: ((context: Found) => string) | undefined,
): Promise<object> {
  if (authorize !== undefined) return consent(authorize)
  if (assertion !== undefined) return { assertion: sign?.(assertion) }
  await write()
  return {}
}

interface Expected {
  readonly version?: string
  /** Whether its person is asked. */
  readonly asks: boolean
}

function assertFound(found: Found, { version, asks }: Expected): void {
  if (version !== undefined) assert.equal(found.version, version)
  assert.deepEqual(found.tools.toSorted(), [...Object.keys(CALLS), 'changes'].toSorted())
  for (const [name, result] of Object.entries<string>(found.called))
    assert.doesNotMatch(result, /^error/, `${name}: ${result}`)
  assert.match(found.called.query, /^1 row · n Integer · \d+ ms\nn\n7$/)
  assert.match(found.called.chart, /^chart of 5 rows\n/)
  assert.match(found.called.read_feed, /"45\.1000"/)
  assert.ok(found.resources.includes('gatehouse://table/trades') && found.resources.includes('ui://gatehouse/chart'))
  assert.match(found.resource, /^table trades/)
  assert.deepEqual([found.prompts, found.completed[0]], [['explore_table', 'explain_slow'], 'trades'])
  assert.match(found.prompt, /Explore the table trades/)
  assert.deepEqual(found.changes.at(-1).row[1], 'item')
  if (asks) assert.match(found.question, /^\d+ rows · venue Text/)
  else assert.match(found.question, /^error: mcp\.expensive/)
  if (asks) assert.match(found.questions[0], /read trades/)
  if (asks) assert.match(found.updated, /^gatehouse:\/\/watch\//)
}

function assertSignedIn(found: Found): void {
  assert.equal(found.client, document)
  assert.match(found.refreshed, /^1 row/)
  assert.equal(found.refreshes, 1)
}

const bridge = () => ({
  command: [process.execPath, join(root, 'packages/server/bin/gatehouse.js'), 'mcp', '--server', server.issuer],
  environment: { XDG_CONFIG_HOME: login, PATH: process.env.PATH },
})
const LINES = [
  { name: 'TypeScript sdk 1.32', program: 'sdk.mjs', mode: undefined, version: undefined, asks: false },
  { name: 'TypeScript client 2.4, 2026-07-28', program: 'client.mjs', mode: 'auto', version: MODERN, asks: true },
  { name: 'TypeScript client 2.4, 2025-11-25', program: 'client.mjs', mode: 'legacy', version: LEGACY, asks: false },
] as const

for (const { name, program, mode, version, asks } of LINES) {
  const expected = { asks, ...(version === undefined ? {} : { version }) }
  test(`${name}: document, consent, every tool, watch, question, refresh`, async () => {
    const found = await converse([process.execPath, program], { mode })
    assertFound(found, expected)
    assertSignedIn(found)
  })
  test(`${name}: over gatehouse mcp`, async () => {
    assertFound(await converse([process.execPath, program], { mode, ...bridge() }), expected)
  })
}

test('TypeScript client 2.4: an ID-JAG of the firm instead of pages', async () => {
  const firm = await serveDocuments()
  const key = rsaPair()
  firm.documents.set('/.well-known/openid-configuration', {
    ...{ issuer: firm.origin, jwks_uri: `${firm.origin}/keys` },
    authorization_endpoint: `${firm.origin}/authorize`,
    token_endpoint: `${firm.origin}/token`,
  })
  firm.documents.set('/keys', { keys: [toJwk(key.publicKey, { kid: 'one' })] })
  const { place, leave } = await openPlace('sqlite')
  const gate = await startGate(place, { flags: { '--mcp': 'true' } })
  try {
    const { issuer } = gate.server
    await addOperator(gate)
    const { access_token: token } = await gate.signIn({ username: 'olivia', client_id: 'console' })
    const provider = { id: 'firm', issuer: firm.origin, agents: true, client_id: 'gate', private: true }
    const declared = await fetch(`${issuer}/admin/providers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...provider, client_secret: 'a-secret-of-the-provider' }),
    })
    assert.equal(declared.status, 201, await declared.text())
    const grant = { grant_types: [JWT_BEARER], scope: 'Platform/Market Platform/News' }
    await gate.stores.clients.put({ client_id: 'assistant', ...grant })
    await gate.stores.clients.addSecret('assistant', SECRET)
    const linked = { provider: 'firm', issuer: firm.origin, label: 'alice', subject: 'alice-there' }
    await gate.stores.identities.add({ ...linked, userId: gate.aliceId })
    const sign = (context: Found): string => {
      assert.deepEqual(
        [context.authorizationServerUrl.replace(/\/$/, ''), context.resourceUrl],
        [issuer, `${issuer}/mcp`],
      )
      const iat = Math.floor(Date.now() / 1000)
      const claims = {
        iss: firm.origin,
        sub: 'alice-there',
        aud: issuer,
        resource: context.resourceUrl,
        iat,
        exp: iat + 60,
      }
      const header = { typ: 'oauth-id-jag+jwt', alg: 'RS256', kid: 'one' }
      return signJwt(header, key.privateKey, { ...claims, client_id: 'assistant', jti: 'one', scope: context.scope })
    }
    const config = { url: `${issuer}/mcp`, issuer, clientId: 'assistant', secret: SECRET, mode: 'auto' }
    const found = await converse([process.execPath, 'client.mjs'], config, sign)
    assert.equal(found.version, MODERN)
    assert.match(found.text, /^1 row · one Integer/)
  } finally {
    await gate.stop()
    await leave()
    firm.close()
  }
})

const PYTHON = [
  { line: '1', mode: 'legacy', version: LEGACY, asks: false },
  { line: '2', mode: 'auto', version: MODERN, asks: true },
  { line: '2', mode: 'legacy', version: LEGACY, asks: false },
] as const
describe('Python', { skip: withoutPython }, () => {
  for (const { line, mode, version, asks } of PYTHON) {
    const command = () => [join(environment(line), 'bin/python'), 'conversation.py']
    test(`${PYTHON_LINES[line]}, ${version}: document, consent, every tool, watch, question, refresh`, async () => {
      const found = await converse(command(), { mode })
      assertFound(found, { version, asks })
      assertSignedIn(found)
    })
    test(`${PYTHON_LINES[line]}, ${version}: over gatehouse mcp`, async () => {
      assertFound(await converse(command(), { mode, ...bridge() }), { version, asks })
    })
  }
})

function environment(line: string): string {
  return join(root, 'node_modules', '.cache', `mcp-python-${line}`)
}

/** Resolves with why the Python clients cannot run here, or false. */
async function preparePython(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  for (const [line, requirement] of Object.entries(PYTHON_LINES)) {
    const run = (command: readonly string[]) => runCommand(command, { cwd: root, seconds: 300 })
    const made = await run(['python3', '-m', 'venv', environment(line)])
    if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
    const pip = [
      join(environment(line), 'bin/python'),
      '-m',
      'pip',
      '--disable-pip-version-check',
      'install',
      '--quiet',
    ]
    const installed = await run([...pip, requirement])
    if (installed.status !== 0) throw new Error(`${requirement} was not installed: ${installed.output}`)
  }
  return false
}

async function inspect(...words: readonly string[]): Promise<{ status: number | null; output: string }> {
  const token = await agentToken(server)
  const program = join(folder, 'node_modules/.bin/mcp-inspector')
  const common = ['--transport', 'http', '--header', `Authorization: Bearer ${token}`, '--format', 'json', '--quiet']
  return runCommand([process.execPath, program, '--cli', `${server.issuer}/mcp`, ...common, ...words], {
    cwd: folder,
    environment: { HOME: folder },
    seconds: 60,
  })
}

for (const era of ['modern', 'legacy'])
  test(`Inspector 2.12 --cli, ${era}: tools, calls, resources, prompts, and what it says of the schemas and the chart`, async () => {
    const ask = async (...words: readonly string[]): Promise<Found> => {
      const { status, output } = await inspect('--protocol-era', era, ...words)
      assert.equal(status, 0, output)
      const { result, appInfo } = JSON.parse(output)
      return result ?? appInfo
    }
    const { tools } = await ask('--method', 'tools/list', '--strict')
    assert.equal(tools.length, Object.keys(CALLS).length + 1)
    const called = [
      '--method',
      'tools/call',
      '--tool-name',
      'query',
      '--tool-args-json',
      '{"statement": "SELECT 1 AS one"}',
    ]
    assert.match((await ask(...called)).content[0].text, /^1 row · one Integer/)
    const uri = (await ask('--method', 'resources/list')).resources[0].uri
    assert.equal((await ask('--method', 'resources/read', '--uri', uri)).contents[0].uri, uri)
    const prompt = ['--method', 'prompts/get', '--prompt-name', 'explore_table', '--prompt-args', 'table=trades']
    assert.match((await ask(...prompt)).messages[0].content.text, /trades/)
    const app = await ask('--method', 'tools/call', '--tool-name', 'chart', '--app-info', '--advertise-apps')
    assert.equal(app.resourceUri, 'ui://gatehouse/chart', JSON.stringify(app))
  })
