/** A server for the measurements of live queries: its tables, its writers and its subscribers. */
import { once } from 'node:events'
import { join } from 'node:path'
import { type RawData, WebSocket } from 'ws'
import { type Checkout, serve } from './checkout.ts'
import type { TreeUse } from './process-tree.ts'
import { newPort, temporaryFolder } from './program.ts'
import { adminToken } from './tokens.ts'

export interface LiveServer {
  readonly port: number
  use(): TreeUse
  readonly headers: Readonly<Record<string, string>>
  query(statement: string, parameters?: object): Promise<void>
  insert(table: string, rows: readonly object[]): Promise<void>
  /** Sends a request of the administrator with a body. */
  post(path: string, body: object): Promise<unknown>
  /** As the administrator by default. */
  connect(token?: string): Promise<LiveConnection>
  stop(): Promise<void>
}

export interface LiveConnection {
  /** Resolves when the snapshot has arrived; afterwards `onChange` is called with each message. */
  subscribe(statement: string, parameters: object, onChange: (message: Buffer) => void, maxRate?: number): Promise<void>
  readonly socket: WebSocket
  end(): void
}

const NO_LIMITS = {
  '--stream-max-connections-per-user': '1000000',
  '--stream-max-sessions-per-user': '1000000',
  '--stream-max-connections-per-address': '1000000',
  '--max-connections-per-address': '1000000',
  '--live-statements-per-user': '1000000',
  '--live-statements': '1000000',
  '--query-per-user': '1000',
}

export async function startLive(checkout: Checkout, more: Readonly<Record<string, string>> = {}): Promise<LiveServer> {
  const folder = await temporaryFolder()
  const port = newPort()
  const flags = {
    '--demo': 'true',
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--stream-drain-time': '0',
    '--data': join(folder.path, 'data'),
    ...NO_LIMITS,
    ...more,
  }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  const headers = { authorization: `Bearer ${await adminToken(port)}` }
  const post = async (path: string, body: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const reply = await response.text()
    if (!response.ok) throw new Error(`${path}: ${reply}`)
    return reply === '' ? undefined : JSON.parse(reply)
  }
  return {
    port,
    headers,
    use: program.use,
    async query(Statement, Parameters = {}) {
      await post('/query', JSON.stringify({ Statement, Parameters }))
    },
    async insert(table, rows) {
      await post(`/query/${table}/insert`, JSON.stringify(rows))
    },
    post: (path, body) => post(path, JSON.stringify(body)),
    connect: (token) => connectStream(port, token === undefined ? headers : { authorization: `Bearer ${token}` }),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

const CHANGE = Buffer.from('"Kind":"Change"')

async function connectStream(port: number, headers: Readonly<Record<string, string>>): Promise<LiveConnection> {
  const url = `ws://127.0.0.1:${port}/Platform?version=1.1`
  const socket = new WebSocket(url, ['PlatformJson'], { perMessageDeflate: false, headers })
  await once(socket, 'open')
  let topics = 0
  const onTopic = new Map<string, (message: Buffer) => void>()
  socket.on('message', (data: RawData) => {
    if (!Buffer.isBuffer(data)) return
    // The topic is in front: {"Controller":"Query","Topic":"Live/…"
    const start = data.indexOf('Live/') + 5
    onTopic.get(data.toString('latin1', start, data.indexOf(0x22, start)))?.(data)
  })
  return {
    socket,
    async subscribe(Statement, Parameters, onChange, maxRate = 50) {
      const name = String(++topics)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      onTopic.set(name, (message) => {
        if (message.includes('"Error"')) reject(new Error(message.toString()))
        if (!message.includes('"Position"')) return
        onTopic.set(name, (next) => {
          if (next.includes(CHANGE)) onChange(next)
        })
        resolve()
      })
      const Data = { Statement, Parameters, MaxRate: maxRate }
      socket.send(JSON.stringify({ Controller: 'Query', Topic: `Live/${name}`, Action: 'Sub', Data }))
      await promise
    },
    end: () => socket.terminate(),
  }
}
