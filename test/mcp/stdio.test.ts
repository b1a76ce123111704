/** `gatehouse mcp`: messages of a local assistant over stdin and stdout, in both eras; and the skill. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { decodeClaims } from '../support/identity.ts'
import { runInProcess } from '../support/in-process.ts'
import { MODERN } from '../support/mcp.ts'
import { useServer } from '../support/server.ts'

const server = useServer({ flags: { '--demo': 'true', '--limit-mcp': '' } })
let config: string
before(async () => {
  config = await mkdtemp(join(tmpdir(), 'stdio-'))
})
after(() => rm(config, { recursive: true, force: true }))

const environment = () => ({ XDG_CONFIG_HOME: config })
const meta = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} }
const request = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })

async function talk(messages: readonly object[], options: readonly string[] = []) {
  const stdin = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  const { stdout, stderr, status } = await runInProcess(['mcp', '--server', server.issuer, ...options], {
    environment: environment(),
    stdin,
  })
  assert.equal(status, 0, stderr)
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of them, it asserts.
  const answers: any[] = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  return new Map(answers.map((answer) => [answer.id, answer]))
}

const login = () =>
  runInProcess(
    ['login', '--server', server.issuer, '--username', 'alice', '--client', 'demo-cli', '--password-stdin'],
    {
      environment: environment(),
      stdin: 'wonderland-1\n',
    },
  )
const stored = async () =>
  JSON.parse(await readFile(join(config, 'gatehouse', 'credentials.json'), 'utf8'))[server.issuer]

test('both eras over the stored login, which stays what it was', async () => {
  assert.equal((await login()).status, 0)
  const before = await stored()
  const call = { name: 'query', arguments: { statement: 'SELECT 1 AS one' } }
  const answers = await talk([
    request(1, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    request(2, 'tools/call', call),
    request(3, 'tools/call', { ...call, _meta: meta }),
    request(4, 'tools/call', { ...call, name: 'näme', _meta: meta }),
  ])
  assert.equal(answers.get(1).result.protocolVersion, '2025-11-25')
  assert.match(answers.get(2).result.content[0].text, /^1 row · one Integer/)
  assert.equal(answers.get(3).result.resultType, 'complete')
  assert.equal(answers.get(4).error.code, -32602)
  const now = await stored()
  assert.equal(now.accessToken, before.accessToken)
  assert.notEqual(now.refreshToken, before.refreshToken)
  assert.notEqual(decodeClaims(now.accessToken).aud, `${server.issuer}/mcp`)
  const { status } = await runInProcess(['query', '--server', server.issuer, 'SELECT 1 AS one'], {
    environment: environment(),
  })
  assert.equal(status, 0)
})

test('a password, and what is no JSON', async () => {
  const file = join(config, 'password')
  await (await import('node:fs/promises')).writeFile(file, 'wonderland-1\n')
  const options = ['--username', 'alice', '--client', 'demo-cli', '--password-file', file]
  const answers = await talk([request(1, 'tools/list')], options)
  assert.ok(answers.get(1).result.tools.length > 5)
  const { stdout } = await runInProcess(['mcp', '--server', server.issuer, ...options], {
    environment: environment(),
    stdin: 'no json\n',
  })
  assert.equal(JSON.parse(stdout).error.code, -32700)
})

test('agent skill prints a SKILL.md of at most 8 KiB with the functions of the language', async () => {
  const { stdout, status } = await runInProcess(['agent', 'skill'])
  assert.equal(status, 0)
  assert.match(stdout, /^---\nname: gatehouse\ndescription: /)
  assert.ok(Buffer.byteLength(stdout) <= 8 * 1024, `${Buffer.byteLength(stdout)}`)
  for (const name of ['time_bucket', 'ASOF JOIN', 'vwap']) assert.ok(stdout.includes(name), name)
})
