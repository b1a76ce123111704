/** The three servers of the streaming measurements, each spoken to in its own protocol through the same few verbs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'

/** One connection of a client. */
export interface Line {
  /** One request and its reply. */
  request(): Promise<void>
  signIn(token: string): Promise<void>
  subscribe(onMessage: () => void): Promise<void>
  publish(): Promise<void>
  end(): void
}

export interface StreamServer {
  readonly name: string
  readonly pid: number
  connect(options?: { deflate?: boolean }): Promise<Line>
  /** Different tokens, each good. */
  tokens(count: number): Promise<string[]>
  stop(): Promise<void>
}

const PAYLOAD = 'x'.repeat(100)

export async function startGatehouse(port: number): Promise<StreamServer> {
  const data = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const flags = {
    '--port': String(port),
    '--data': data,
    '--stream-controllers': path('../stream-controller.ts'),
    '--stream-messages-per-second': '10000000',
    '--stream-message-burst': '10000000',
    '--stream-max-connections-per-user': '1000000',
    '--stream-max-sessions-per-user': '1000000',
    '--stream-max-connections-per-address': '1000000',
    '--stream-drain-time': '0',
  }
  const args = [path('../../bin/gatehouse.js'), 'serve', '--demo', ...Object.entries(flags).flat()]
  const child = await launch(args, `http://127.0.0.1:${port}/readyz`)
  const tokens = (count: number) => inTurn(count, () => clientToken(port))
  const [first = ''] = await tokens(1)
  return {
    name: 'gatehouse',
    pid: child.pid ?? 0,
    tokens,
    connect: ({ deflate = false } = {}) => gatehouseLine(port, first, deflate),
    async stop() {
      await end(child)
      await rm(data, { recursive: true, force: true })
    },
  }
}

async function gatehouseLine(port: number, token: string, deflate: boolean): Promise<Line> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, ['PlatformJson'], {
    perMessageDeflate: deflate,
    headers: { Authorization: `Bearer ${token}` },
  })
  const ask = await lineOf(socket)
  return {
    request: () => ask(`{"Controller":"Bench","Topic":"Echo","TransactionID":1234567890,"Data":"${PAYLOAD}"}`),
    signIn: (fresh) =>
      ask(
        `{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"Provider":"Bearer","AccessToken":"${fresh}"}}`,
      ),
    async subscribe(onMessage) {
      await ask('{"Controller":"Bench","Topic":"All","Action":"Sub","Confirm":true}')
      socket.on('message', onMessage)
    },
    publish: () => ask(`{"Controller":"Bench","Topic":"Publish","TransactionID":1,"Data":"${PAYLOAD}"}`),
    end: () => socket.terminate(),
  }
}

export async function startBareWs(port: number, deflate = false): Promise<StreamServer> {
  const keys = await makeKeys()
  const child = await launch([path('../peers/ws-echo.js'), String(port), keys.file, ...(deflate ? ['--deflate'] : [])])
  return {
    name: deflate ? 'bare ws, deflate offered' : 'bare ws',
    pid: child.pid ?? 0,
    tokens: keys.tokens,
    async connect() {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: deflate })
      const ask = await lineOf(socket)
      return {
        request: () => ask(PAYLOAD),
        signIn: (token) => ask(`token ${token}`),
        async subscribe(onMessage) {
          await ask('sub')
          socket.on('message', onMessage)
        },
        publish: () => ask(`publish ${PAYLOAD}`),
        end: () => socket.terminate(),
      }
    },
    stop: () => end(child),
  }
}

const SOCKET_IO_CLIENT: string = 'socket.io-client'

interface SocketIoClient {
  once(event: string, listener: () => void): SocketIoClient
  on(event: string, listener: () => void): SocketIoClient
  emitWithAck(event: string, ...data: unknown[]): Promise<void>
  disconnect(): SocketIoClient
}

export async function startSocketIo(port: number): Promise<StreamServer> {
  const keys = await makeKeys()
  const child = await launch([path('../peers/socket-io.js'), String(port), keys.file])
  // By a name that the type checker does not follow: the peers are installed only for measurements.
  const { io }: { io: (address: string, options: object) => SocketIoClient } = await import(SOCKET_IO_CLIENT)
  return {
    name: 'Socket.IO',
    pid: child.pid ?? 0,
    tokens: keys.tokens,
    async connect() {
      const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true, reconnection: false })
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject))
      return {
        request: () => socket.emitWithAck('request', PAYLOAD),
        signIn: (token) => socket.emitWithAck('token', token),
        async subscribe(onMessage) {
          await socket.emitWithAck('sub')
          socket.on('message', onMessage)
        },
        publish: () => socket.emitWithAck('publish', PAYLOAD),
        end: () => void socket.disconnect(),
      }
    },
    stop: () => end(child),
  }
}

/** The next message answers; callers ask one thing at a time. */
async function lineOf(socket: WebSocket): Promise<(text: string) => Promise<void>> {
  let answered: () => void = () => {}
  socket.on('message', () => answered())
  await once(socket, 'open')
  return (text) =>
    new Promise((resolve) => {
      answered = resolve
      socket.send(text)
    })
}

async function makeKeys(): Promise<{ file: string; tokens: (count: number) => Promise<string[]> }> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const file = join(await mkdtemp(join(tmpdir(), 'gatehouse-bench-key-')), 'key.pem')
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }))
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const one = async (): Promise<string> => {
    const body = { sub: 'bench', jti: randomUUID(), scope: 'Platform/Market', exp: 4e9, padding: 'x'.repeat(300) }
    const signed = `${encode({ alg: 'RS256' })}.${encode(body)}`
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
  }
  return { file, tokens: (count) => inTurn(count, one) }
}

async function clientToken(port: number): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-service',
      client_secret: 'demo-service-secret',
    }),
  })
  const token = /"access_token":"([^"]+)"/.exec(await reply.text())?.[1]
  if (token === undefined) throw new Error(`The token endpoint answered ${reply.status}`)
  return token
}

async function inTurn<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count)
    made.push(...(await Promise.all(Array.from({ length: Math.min(32, count - made.length) }, make))))
  return made
}

async function launch(args: readonly string[], readyAt?: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const isReady = async (): Promise<boolean> => {
    if (readyAt === undefined) return true
    return (await fetch(readyAt)).ok
  }
  for (let tries = 0; !(await isReady().catch(() => false)); tries++) {
    if (tries > 1_000) throw new Error('The server did not start')
    await sleep(20)
  }
  if (readyAt === undefined) await sleep(700)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  if (child.exitCode === null && child.kill('SIGTERM')) await ended
}

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
