/** Agents: a call by key beside the same query over HTTP, a call beside the official server of the protocol, starts, and streams that wait. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measureStart } from './start.ts'
import { type Checkout, HERE, serve } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load, requestBytes } from './support/http-load.ts'
import { launchPeer, newPort, type Program, temporaryFolder } from './support/program.ts'
import { type GatehousePeer, ROWS, startGatehouse } from './support/query-peers.ts'
import { adminToken } from './support/tokens.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
const CONNECTIONS = 32
const PREPARED = 2_000
const WARM_MS = 1_000
const RATES = { rate: '1/s', cpu: 'ms each' }
const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol/'
const AGENTS = { '--mcp': 'true', '--limit-mcp': '', '--agent-audit': 'off' }
const OFFICIAL = '@modelcontextprotocol/server'
const STATEMENT = 'SELECT id, symbol, price, qty FROM trades2 WHERE id = :id'

export const mcp: readonly Measurement[] = [
  {
    name: 'mcp-query',
    about: 'one row by its key by the tool query, and by POST /query',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'POST /query', least: 0.5 }],
    subject: async (checkout) => {
      const peer = await startGatehouse(checkout, {}, '', AGENTS)
      const token = await agentToken(peer.port)
      return called('gatehouse', peer, () =>
        toolCall('query', { statement: STATEMENT, parameters: { id: anyId() } }, token),
      )
    },
    async *references() {
      const peer = await startGatehouse(HERE)
      yield called('POST /query', peer, () => peer.byKey(anyId()))
    },
  },
  {
    name: 'mcp-tool',
    about:
      'a tool that answers a text of 6 KiB; the official server with its Node adapter, which checks neither token nor origin',
    columns: RATES,
    ratios: [{ column: 'rate', to: OFFICIAL, least: 10 }],
    subject: async (checkout) => {
      const peer = await startGatehouse(checkout, {}, '', AGENTS)
      const token = await agentToken(peer.port)
      return called('gatehouse', peer, () => toolCall('iql_help', {}, token))
    },
    async *references() {
      const port = newPort()
      const program = await launchPeer('mcp-server.js', port, [], { path: '/healthz' })
      yield called(OFFICIAL, { port, ...program }, () => toolCall('iql_help', {}, 'none'))
    },
  },
  {
    name: 'mcp-start',
    about: 'second start until all services answer, and memory at rest, with agents and without',
    columns: { first: 'ms', cpu: 'ms', resident: 'MiB', proportional: 'MiB' },
    ratios: [
      { column: 'first', to: 'without agents', most: 1.05 },
      { column: 'proportional', to: 'without agents', most: 1.02 },
    ],
    subject: (checkout) => measureStart('with agents', checkout, { '--mcp': 'true' }),
    async *references() {
      yield await measureStart('without agents', HERE, { '--mcp': 'false' })
    },
  },
  {
    name: 'mcp-listens',
    about:
      'processor time of twenty seconds in which a watched row changes ten times a second, with 500 streams that listen, and with one',
    columns: { cpu: 'ms', sent: 'messages' },
    ratios: [{ column: 'cpu', to: 'one', most: 1.5 }],
    subject: (checkout) => listening('500', checkout, 500),
    async *references() {
      yield await listening('one', HERE, 1)
    },
  },
  {
    name: 'mcp-listen-memory',
    about: 'memory for each of 1,000 streams that listen to a watch, and get no notification',
    columns: { each: 'KiB' },
    targets: { each: { most: 24 } },
    subject: (checkout) => listeningIdle(checkout),
    async *references() {},
  },
]

type Loaded = Pick<GatehousePeer, 'port' | 'use' | 'stop'>

function called(name: string, peer: Loaded, build: () => Buffer): Contender {
  const requests = Array.from({ length: PREPARED }, build)
  let next = 0
  const callers: Caller[] = Array.from({ length: CONNECTIONS }, () => ({
    next: () => requests[next++ % PREPARED],
    onResponse(_status, body) {
      if (!body.includes('"isError":true')) return
      throw new Error(body.slice(0, 300))
    },
  }))
  const run = (milliseconds: number) => load(peer.port, callers, milliseconds)
  return {
    name,
    async measure(): Promise<Figures> {
      await run(WARM_MS)
      const before = peer.use().cpuMs
      const { responses, seconds } = await run(ROUND_MS)
      return { rate: responses / seconds, cpu: (peer.use().cpuMs - before) / responses }
    },
    close: () => peer.stop(),
  }
}

function anyId(): number {
  return Math.floor(Math.random() * ROWS)
}

function message(method: string, params: object): string {
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
}

function writeHeaders(method: string, token: string, name?: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  }
}

function toolCall(name: string, args: object, token: string): Buffer {
  const body = message('tools/call', { name, arguments: args })
  return requestBytes('POST', '/mcp', writeHeaders('tools/call', token, name), body, 'application/json')
}

/** Of the administrator of the demonstration, who may read all tables, for agents. */
function agentToken(port: number): Promise<string> {
  return token(port, {
    grant_type: 'password',
    client_id: 'demo-cli',
    username: 'admin',
    password: 'admin-please-change',
  })
}

async function token(port: number, form: Record<string, string>): Promise<string> {
  const resource = `http://localhost:${port}/mcp`
  const response = await fetch(`http://127.0.0.1:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, resource }),
  })
  const { access_token: text }: { readonly access_token?: string } = JSON.parse(await response.text())
  if (text === undefined) throw new Error(`The token endpoint answered ${response.status}`)
  return text
}

/** A grant listens five times at most, and each stream has one URI. */
const PER_CLIENT = 5
const LISTENING_MS = 20_000
const CHANGES_MS = 100

interface ListeningServer {
  readonly program: Program
  /** Changes the row that is watched. */
  change(value: number): Promise<void>
  /** Opens that many streams; `sent` counts their messages, without the acknowledgments. */
  open(count: number): Promise<{ sent(): number; close(): void }>
  close(): Promise<void>
}

async function startListening(checkout: Checkout): Promise<ListeningServer> {
  const folder = await temporaryFolder()
  const port = newPort()
  const flags = {
    ...AGENTS,
    ...{ '--demo': 'true', '--demo-market': 'false', '--port': String(port), '--data': join(folder.path, 'data') },
    ...{ '--log-level': 'warn', '--limit-token': '', '--limit-admin': '', '--limit-query': '' },
  }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  const admin = await adminToken(port)
  const post = async (path: string, body: unknown, bearer = admin, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', ...more }
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(text)
    return JSON.parse(text === '' ? '{}' : text)
  }
  const write = (statement: string) => post('/query', { Statement: statement })
  await write("CREATE TABLE watched (id Integer PRIMARY KEY, n Integer) READ SCOPE 'Platform/Market'")
  await write('INSERT INTO watched (id, n) VALUES (1, 0)')
  const watch = async (bearer: string): Promise<string> => {
    const args = { statement: 'SELECT id, n FROM watched', format: 'json' }
    const body = JSON.parse(message('tools/call', { name: 'watch', arguments: args }))
    const { result } = await post('/mcp', body, bearer, writeHeaders('tools/call', bearer, 'watch'))
    return `gatehouse://watch/${result.structuredContent.id}`
  }
  const agents: { readonly bearer: string; readonly uri: string }[] = []
  const addAgent = async () => {
    const client = {
      client_id: `agent-${agents.length}`,
      grant_types: ['client_credentials'],
      scope: 'Platform/Market',
    }
    const { client_secret: secret } = await post('/admin/clients', { ...client, agent: true })
    const bearer = await token(port, {
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: secret,
    })
    agents.push({ bearer, uri: await watch(bearer) })
  }
  return {
    program,
    async change(value) {
      await write(`UPDATE watched SET n = ${value} WHERE id = 1`)
    },
    async open(count) {
      while (agents.length * PER_CLIENT < count) await addAgent()
      const streams = await Promise.all(
        Array.from({ length: count }, (_, index) => {
          const agent = agents[Math.floor(index / PER_CLIENT)]
          if (agent === undefined) throw new Error('There are too few agents')
          return openStream(port, agent.bearer, agent.uri)
        }),
      )
      return {
        sent: () => streams.reduce((sum, stream) => sum + stream.sent(), 0),
        close() {
          for (const stream of streams) stream.close()
        },
      }
    },
    async close() {
      await program.stop()
      await folder.remove()
    },
  }
}

function openStream(port: number, bearer: string, uri: string): Promise<{ sent(): number; close(): void }> {
  const body = message('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } })
  return new Promise((resolve, reject) => {
    const headers = { ...writeHeaders('subscriptions/listen', bearer), 'content-type': 'application/json' }
    const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp', headers, agent: false })
    request.once('error', reject)
    request.once('response', (response: IncomingMessage) => {
      let sent = -1
      response.setEncoding('utf8').on('data', (text: string) => {
        sent += text.split('event: message').length - 1
        if (sent === 0) resolve({ sent: () => sent, close: () => request.destroy() })
      })
      response.once('error', () => {})
      if (response.statusCode !== 200) reject(new Error(`Answered ${response.statusCode}`))
    })
    request.end(body)
  })
}

async function listening(name: string, checkout: Checkout, count: number): Promise<Contender> {
  const server = await startListening(checkout)
  const streams = await server.open(count)
  let value = 0
  return {
    name,
    async measure(): Promise<Figures> {
      await sleep(WARM_MS)
      const [before, sent] = [server.program.use().cpuMs, streams.sent()]
      for (const end = performance.now() + LISTENING_MS; performance.now() < end; await sleep(CHANGES_MS))
        await server.change(++value)
      return { cpu: server.program.use().cpuMs - before, sent: streams.sent() - sent }
    },
    async close() {
      streams.close()
      await server.close()
    },
  }
}

const IDLE = 1_000
const REST_MS = 5_000

/** Each round has a server of its own: memory that was freed is not given back at once. */
async function listeningIdle(checkout: Checkout): Promise<Contender> {
  return {
    name: 'gatehouse',
    async measure(): Promise<Figures> {
      const server = await startListening(checkout)
      try {
        // What the first ones load, and their agents, are not counted.
        const first = await server.open(IDLE)
        first.close()
        await sleep(REST_MS)
        const before = server.program.use().residentMiB
        const streams = await server.open(IDLE)
        await sleep(REST_MS)
        const each = ((server.program.use().residentMiB - before) * 1024) / IDLE
        streams.close()
        return { each }
      } finally {
        await server.close()
      }
    },
  }
}
