/** The three servers of the streaming measurements, each spoken to in its own protocol through the same few verbs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type RawData, WebSocket } from 'ws'

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
  readonly pid: number
  connect(options?: { deflate?: boolean }): Promise<Line>
  stop(): Promise<void>
}

/** A program that can be started again and again; what it is given tokens from stays the same. */
export interface StreamPeer {
  start(): Promise<StreamServer>
  /** Different tokens, each good and new to a server that has just been started. */
  tokens(count: number): Promise<readonly string[]>
  close(): Promise<void>
}

const PAYLOAD = 'x'.repeat(100)

export async function gatehousePeer(port: number): Promise<StreamPeer> {
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
  const serve = () => launch(args, `http://127.0.0.1:${port}/readyz`)
  // By a server of their own: none that is measured has the work of issuing them behind it.
  const issued = stock(async (count) => {
    const child = await serve()
    try {
      return await inTurn(count, () => clientToken(port))
    } finally {
      await end(child)
    }
  })
  return {
    tokens: issued,
    async start() {
      const [first = ''] = await issued(1)
      const child = await serve()
      return {
        pid: child.pid ?? 0,
        connect: ({ deflate = false } = {}) => gatehouseLine(port, first, deflate),
        stop: () => end(child),
      }
    },
    close: () => rm(data, { recursive: true, force: true }),
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
        '"Success"',
      ),
    async subscribe(onMessage) {
      await ask('{"Controller":"Bench","Topic":"All","Action":"Sub","Confirm":true}')
      socket.on('message', onMessage)
    },
    publish: () => ask(`{"Controller":"Bench","Topic":"Publish","TransactionID":1,"Data":"${PAYLOAD}"}`),
    end: () => socket.terminate(),
  }
}

export function bareWsPeer(port: number, keys: Keys, deflate = false): StreamPeer {
  return {
    tokens: keys.tokens,
    async start() {
      const child = await launch([
        path('../peers/ws-echo.js'),
        String(port),
        keys.file,
        ...(deflate ? ['--deflate'] : []),
      ])
      return { pid: child.pid ?? 0, connect: () => bareLine(port, deflate), stop: () => end(child) }
    },
    close: keys.close,
  }
}

async function bareLine(port: number, deflate: boolean): Promise<Line> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: deflate })
  const ask = await lineOf(socket)
  return {
    request: () => ask(PAYLOAD),
    signIn: (token) => ask(`token ${token}`, 'ok'),
    async subscribe(onMessage) {
      await ask('sub')
      socket.on('message', onMessage)
    },
    publish: () => ask(`publish ${PAYLOAD}`),
    end: () => socket.terminate(),
  }
}

const SOCKET_IO_CLIENT: string = 'socket.io-client'

interface SocketIoClient {
  once(event: string, listener: () => void): SocketIoClient
  on(event: string, listener: () => void): SocketIoClient
  emitWithAck(event: string, ...data: unknown[]): Promise<unknown>
  disconnect(): SocketIoClient
}

export function socketIoPeer(port: number, keys: Keys): StreamPeer {
  return {
    tokens: keys.tokens,
    async start() {
      const child = await launch([path('../peers/socket-io.js'), String(port), keys.file])
      return { pid: child.pid ?? 0, connect: () => socketIoLine(port), stop: () => end(child) }
    },
    close: keys.close,
  }
}

async function socketIoLine(port: number): Promise<Line> {
  // By a name that the type checker does not follow: the peers are installed only for measurements.
  const { io }: { io: (address: string, options: object) => SocketIoClient } = await import(SOCKET_IO_CLIENT)
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true, reconnection: false })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject))
  return {
    request: async () => void (await socket.emitWithAck('request', PAYLOAD)),
    async signIn(token) {
      if ((await socket.emitWithAck('token', token)) === false) throw new Error('Socket.IO refused a token')
    },
    async subscribe(onMessage) {
      await socket.emitWithAck('sub')
      socket.on('message', onMessage)
    },
    publish: async () => void (await socket.emitWithAck('publish', PAYLOAD)),
    end: () => void socket.disconnect(),
  }
}

type Ask = (text: string, expected?: string) => Promise<void>

/** The next message answers; callers ask one thing at a time, and may say what the answer must contain. */
async function lineOf(socket: WebSocket): Promise<Ask> {
  let answered: (data: RawData) => void = () => {}
  socket.on('message', (data) => answered(data))
  await once(socket, 'open')
  return (text, expected = '') =>
    new Promise((resolve, reject) => {
      answered = (data) =>
        Buffer.isBuffer(data) && data.includes(expected) ? resolve() : reject(new Error(`Answered ${data}`))
      socket.send(text)
    })
}

/** A key, in a file for the peers, and tokens that it has signed. */
export interface Keys {
  readonly file: string
  tokens(count: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** The tokens say as much as ours do, in as many bytes. */
export async function makeKeys(): Promise<Keys> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-key-'))
  const file = join(folder, 'key.pem')
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }))
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'RS256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') })
  const signOnPool = promisify<string, Buffer, KeyObject, Buffer>(sign)
  const one = async (): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    const signed = `${header}.${encode({
      iss: 'http://localhost:15490',
      sub: 'demo-service',
      aud: ['identity', 'platform'],
      client_id: 'demo-service',
      scope: 'Identity/Admin Platform/Admin Platform/Market Platform/News Platform/OrderPad Platform/Trading',
      iat: now,
      nbf: now,
      exp: now + 3600,
      jti: randomBytes(18).toString('base64url'),
    })}`
    return `${signed}.${(await signOnPool('sha256', Buffer.from(signed), privateKey)).toString('base64url')}`
  }
  return {
    file,
    tokens: stock((count) => inTurn(count, one)),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Made when they are first asked for, and then kept for every round. */
function stock(make: (count: number) => Promise<string[]>): (count: number) => Promise<readonly string[]> {
  const made: string[] = []
  return async (count) => {
    if (made.length < count) made.push(...(await make(count - made.length)))
    return made.slice(0, count)
  }
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
