/** The server of a long run: the demonstration with a table, feeds, the wire port and its metrics, and what its clients need. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Checkout, serve } from './checkout.ts'
import { newPort, temporaryFolder } from './program.ts'
import { adminToken } from './tokens.ts'

export interface SoakServer {
  readonly pid: number
  readonly port: number
  readonly wirePort: number
  /** What each part of the load has done. */
  readonly done: Record<string, number>
  heapBytes(): Promise<number>
  /** An access token of the administrator, valid for a while. */
  token(): Promise<string>
  count(what: string): void
  stop(): Promise<void>
}

const FEEDS = `feeds:
  - { name: Orders, keep: all, rate: 1000000, write: Platform/Trading, history: { messages: 1000 } }
  - { name: Prices, keep: latest, rate: 1000000, write: Platform/Trading }
`
const TABLE =
  'CREATE TABLE soak (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, note Text, at Timestamp)'
const MANY = '1000000'
const TOKEN_MS = 120_000

export async function startSoakServer(checkout: Checkout): Promise<SoakServer> {
  const folder = await temporaryFolder()
  const [port, wirePort, metricsPort] = [newPort(), newPort(), newPort()]
  const config = join(folder.path, 'feeds.yaml')
  await writeFile(config, FEEDS)
  const flags = {
    ...{ '--demo': 'true', '--demo-market': 'false', '--log-level': 'warn', '--stream-drain-time': '0' },
    ...{ '--port': String(port), '--wire-port': String(wirePort), '--metrics-port': String(metricsPort) },
    ...{ '--data': join(folder.path, 'data'), '--config': config },
    ...{ '--stream-max-connections-per-user': MANY, '--stream-max-sessions-per-user': MANY },
    ...{ '--stream-max-connections-per-address': MANY, '--max-connections-per-address': MANY },
    ...{ '--stream-messages-per-second': MANY, '--stream-message-burst': MANY, '--query-per-user': '1000' },
    ...Object.fromEntries(['token', 'pages', 'query', 'stream', 'admin'].map((name) => [`--limit-${name}`, ''])),
  }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  const done: Record<string, number> = {}
  let token = await adminToken(port)
  let renewed = performance.now()
  const server: SoakServer = {
    ...{ pid: program.pid, port, wirePort, done },
    async heapBytes() {
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      return Number(/^process_heap_bytes(?:\{[^}]*\})? (\S+)/m.exec(metrics)?.[1])
    },
    async token() {
      if (performance.now() - renewed > TOKEN_MS) {
        renewed = performance.now()
        token = await adminToken(port)
      }
      return token
    },
    count: (what) => {
      done[what] = (done[what] ?? 0) + 1
    },
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
  await query(server, TABLE)
  await query(server, 'CREATE INDEX soak_symbol ON soak (symbol)')
  return server
}

/** Runs a statement over HTTP. */
export async function query(server: SoakServer, Statement: string, Parameters: object = {}): Promise<void> {
  await post(server, '/query', { Statement, Parameters })
}

export async function post(server: SoakServer, path: string, body: unknown): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await server.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const reply = await response.text()
  if (isOverload(response)) server.count('refused')
  else if (!response.ok) throw new Error(`${path}: ${response.status} ${reply}`)
}

/** On a busy machine the server refuses what it cannot do in time. */
export function isOverload({ status }: Response): boolean {
  return status === 429 || status === 503
}
