/** The guide for assistants, followed to its end on a demonstration: what they are configured with is tried as they would. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { connect } from '../../support/agents.ts'
import { ADMIN, ALICE } from '../../support/demo-user.ts'
import { IN_LONG_RUNS, openPlace } from '../../support/engines.ts'
import { openGuide } from '../../support/guide.ts'
import { McpClient } from '../../support/mcp.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { createUserAgent } from '../../support/user-agent.ts'

test('Connect an assistant', IN_LONG_RUNS, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-seconds': '300' }
  const server = await startTestServer(place, { flags })
  t.after(async () => {
    await server.stop()
    await leave()
  })
  const guide = await openGuide('connect-an-assistant', {
    replace: [
      ['http://localhost:5080', server.issuer],
      ['./gatehouse login', `./gatehouse login --server ${server.issuer}`],
      ['./gatehouse mcp', `./gatehouse mcp --server ${server.issuer}`],
      // Elsewhere guides start npm for the server alone.
      ['npm install', `PATH='${process.env.PATH}' npm install`],
      ['args=["mcp"]', `args=["mcp", "--server", "${server.issuer}"]`],
    ],
    environment: { GATEHOUSE_DATA: place.dataFolder },
  })
  t.after(() => guide.close())
  const takeJson = (contains: string) => JSON.parse(guide.take(contains).text)

  guide.take('npm start')
  await guide.run('agent allow claude.ai', { stdin: `${ADMIN.password}\n` })
  await tryAddress(addressIn(guide.take('claude mcp add').text), server)
  await tryAddress(addressIn(guide.take('codex mcp add').text), server)
  await tryAddress(takeJson('mcpServers').mcpServers.gatehouse.url, server)
  await tryAddress(takeJson('servers').servers.gatehouse.url, server)

  const offline = guide.take('--client-id').text
  await tryAddress(addressIn(offline), server)
  const [, client = ''] = /--client-id (\S+)/.exec(offline) ?? []
  const [, port = ''] = /--callback-port (\d+)/.exec(offline) ?? []
  await consent(client, `http://localhost:${port}/callback`, server)
  const [, codexClient = ''] = /--oauth-client-id (\S+)/.exec(guide.take('codex mcp add').text) ?? []
  await consent(codexClient, 'http://127.0.0.1:45777/callback', server)
  await guide.run('login', { stdin: `${ALICE.password}\n` })
  const { command, args } = takeJson('"command"').mcpServers.gatehouse
  const { server_name: name } = await talk(command, [...args, '--server', server.issuer], guide.folder)
  assert.equal(name, 'gatehouse')

  await guide.save('ask.py')
  if (spawnSync('python3', ['-m', 'venv', '--help']).status === 0) await guide.run('python3 -m venv')
  else {
    guide.take('python3 -m venv')
    guide.take('list_tables')
  }
  assert.match(await guide.run('inspector'), /table trades/)

  const grants = await guide.run('agent grants', { stdin: `${ADMIN.password}\n` })
  assert.match(grants, /gatehouse-agent/)
  assert.match(await guide.run('audit list'), /describe_table/)
  guide.finish()
})

/** What the guide writes is replaced only in what is run. */
function addressIn(command: string): string {
  const [address = ''] = /http:\S+/.exec(command) ?? []
  return address
}

/** As an assistant begins: without a token, to the metadata, to where its user signs in. */
async function tryAddress(written: string, { issuer }: TestServer): Promise<void> {
  assert.equal(new URL(written).pathname, '/mcp')
  const refused = await fetch(`${issuer}/mcp`, { method: 'POST', body: '{}' })
  assert.equal(refused.status, 401)
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? []
  const { resource, authorization_servers: servers } = await readJson(metadata)
  assert.deepEqual([resource, servers], [`${issuer}/mcp`, [issuer]])
  const known = await readJson(`${issuer}/.well-known/oauth-authorization-server`)
  assert.equal(known.client_id_metadata_document_supported, true)
}

async function readJson(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>
}

async function consent(client: string, redirectUri: string, server: TestServer): Promise<void> {
  const agent = createUserAgent({ home: server.issuer })
  const tokens = await connect(agent, { issuer: server.issuer, client, redirectUri }, ALICE)
  assert.match(await new McpClient(server, tokens.access_token).text('list_tables'), /\ntrades /)
}

/** As a program that starts its servers itself. */
async function talk(command: string, args: readonly string[], cwd: string): Promise<{ server_name: string }> {
  const home = dirname(cwd)
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, '.config') }
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'], env })
  try {
    const clientInfo = { name: 'desktop', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    return { server_name: JSON.parse(line).result.serverInfo.name }
  } finally {
    child.kill()
  }
}
