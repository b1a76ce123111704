/** The servers of the streaming measurements, each used in its own protocol through one interface. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type RawData, WebSocket } from 'ws'
import { type Checkout, serve } from './checkout.ts'
import type { TreeUse } from './process-tree.ts'
import { launchPeer, temporaryFolder } from './program.ts'
import { converse } from './raw-websocket.ts'
import { serviceToken } from './tokens.ts'

/** One connection of a client that publishes or subscribes. */
export interface TopicConnection {
  subscribe(onMessage: () => void): Promise<void>
  publish(): Promise<void>
  end(): void
}

export interface Connection extends TopicConnection {
  /** One request and its reply, each with this number of bytes of data. */
  request(bytes?: number): Promise<void>
  signIn(token: string): Promise<void>
}

export interface TopicServer {
  use(): TreeUse
  connect(): Promise<TopicConnection>
  stop(): Promise<void>
}

export interface StreamServer extends TopicServer {
  connect(options?: { deflate?: boolean }): Promise<Connection>
  /** Opens a connection, signs in with a message and closes the connection. */
  signInOnce(token: string): Promise<void>
}

/** A program that can be started repeatedly. */
export interface StreamPeer<Server = StreamServer> {
  start(): Promise<Server>
  /** Different valid tokens, all new to a server that has just started. */
  tokens(count: number): Promise<readonly string[]>
  close(): Promise<void>
}

const PAYLOAD = 'x'.repeat(100)
const STREAM = '/Platform?version=1.1'

export async function gatehousePeer(
  port: number,
  checkout: Checkout,
  more: Readonly<Record<string, string>> = {},
): Promise<StreamPeer> {
  const folder = await temporaryFolder()
  const flags = {
    '--demo': 'true',
    // Its trades would be counted with the messages, and peers have none.
    '--demo-market': 'false',
    '--port': String(port),
    '--data': join(folder.path, 'data'),
    '--stream-controllers': join(checkout.root, 'bench/stream-controller.ts'),
    '--stream-messages-per-second': '10000000',
    '--stream-message-burst': '10000000',
    '--stream-max-connections-per-user': '1000000',
    '--stream-max-sessions-per-user': '1000000',
    '--stream-max-connections-per-address': '1000000',
    '--max-connections-per-address': '1000000',
    '--stream-drain-time': '0',
    ...more,
  }
  const start = () => serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  // Issued by another process than the one that is measured.
  const tokens = stock(async (count) => {
    const program = await start()
    try {
      return await inBatches(count, () => serviceToken(port))
    } finally {
      await program.stop()
    }
  })
  return {
    tokens,
    async start() {
      const [token = ''] = await tokens(1)
      const program = await start()
      return {
        ...program,
        connect: ({ deflate = false } = {}) => connectGatehouse(port, token, deflate),
        signInOnce: (fresh) =>
          converse(port, STREAM, 'PlatformJson', [{ send: authToken(fresh), expect: '"Success"' }]),
      }
    },
    close: folder.remove,
  }
}

async function connectGatehouse(port: number, token: string, deflate: boolean): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${STREAM}`, ['PlatformJson'], {
    // Compresses every message.
    perMessageDeflate: deflate && { threshold: 0 },
    headers: { Authorization: `Bearer ${token}` },
  })
  const ask = await requester(socket, deflate)
  return {
    request: (bytes) =>
      ask(`{"Controller":"Bench","Topic":"Echo","TransactionID":1234567890,"Data":"${payload(bytes)}"}`),
    signIn: (fresh) => ask(authToken(fresh), '"Success"'),
    async subscribe(onMessage) {
      await ask('{"Controller":"Bench","Topic":"All","Action":"Sub","Confirm":true}')
      socket.on('message', onMessage)
    },
    publish: () => ask(`{"Controller":"Bench","Topic":"Publish","TransactionID":1,"Data":"${PAYLOAD}"}`),
    end: () => socket.terminate(),
  }
}

function authToken(token: string): string {
  return `{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"Provider":"Bearer","AccessToken":"${token}"}}`
}

function payload(bytes: number | undefined): string {
  return bytes === undefined ? PAYLOAD : 'x'.repeat(bytes)
}

export function bareWsPeer(port: number, keys: Keys, deflate = false): StreamPeer {
  return {
    tokens: keys.tokens,
    async start() {
      const program = await launchPeer('ws-echo.js', port, [keys.file, ...(deflate ? ['--deflate'] : [])])
      return {
        ...program,
        connect: () => connectBareWs(port, deflate),
        signInOnce: (token) => converse(port, '/', '', [{ send: `token ${token}`, expect: 'ok' }]),
      }
    },
    close: keys.close,
  }
}

async function connectBareWs(port: number, deflate: boolean): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: deflate })
  const ask = await requester(socket, deflate)
  return {
    request: (bytes) => ask(payload(bytes)),
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
      const program = await launchPeer('socket-io.js', port, [keys.file], { path: '/socket.io/' })
      return { ...program, connect: () => connectSocketIo(port), signInOnce: (token) => signInOnSocketIo(port, token) }
    },
    close: keys.close,
  }
}

/** The packets of Engine.IO 4 and Socket.IO 5: open, then connect with the token, as `auth` of its client sends it. */
function signInOnSocketIo(port: number, token: string): Promise<void> {
  return converse(port, '/socket.io/?EIO=4&transport=websocket', '', [
    { expect: '0{' },
    { send: `40{"token":"${token}"}`, expect: '40{' },
  ])
}

async function connectSocketIo(port: number): Promise<Connection> {
  // Not a literal, which the type checker would resolve: the peers are installed only for measurements.
  const { io }: { io: (address: string, options: object) => SocketIoClient } = await import(SOCKET_IO_CLIENT)
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true, reconnection: false })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject))
  return {
    request: async (bytes) => void (await socket.emitWithAck('request', payload(bytes))),
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

/** Sends a request and waits for the next message, which must contain a text; one request at a time. */
type Ask = (text: string, expected?: string) => Promise<void>

async function requester(socket: WebSocket, deflate: boolean): Promise<Ask> {
  let onReply: (data: RawData) => void = () => {}
  socket.on('message', (data) => onReply(data))
  await once(socket, 'open')
  if (deflate !== socket.extensions.includes('permessage-deflate')) throw new Error('The compression is not as agreed')
  return (text, expected = '') =>
    new Promise((resolve, reject) => {
      onReply = (data) =>
        Buffer.isBuffer(data) && data.includes(expected) ? resolve() : reject(new Error(`The reply is ${data}`))
      socket.send(text)
    })
}

/** The public key of the peers, in a file, and tokens signed with its private key. */
export interface Keys {
  readonly file: string
  tokens(count: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** The tokens have the same claims and size as Gatehouse's. */
export async function makeKeys(): Promise<Keys> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const folder = await temporaryFolder()
  const file = join(folder.path, 'key.pem')
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }))
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'RS256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') })
  const signOnPool = promisify<string, Buffer, KeyObject, Buffer>(sign)
  const signToken = async (): Promise<string> => {
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
    tokens: stock((count) => inBatches(count, signToken)),
    close: folder.remove,
  }
}

/** Creates tokens on demand and keeps them for all rounds. */
function stock(create: (count: number) => Promise<string[]>): (count: number) => Promise<readonly string[]> {
  const tokens: string[] = []
  return async (count) => {
    if (tokens.length < count) tokens.push(...(await create(count - tokens.length)))
    return tokens.slice(0, count)
  }
}

async function inBatches<T>(count: number, create: () => Promise<T>): Promise<T[]> {
  const created: T[] = []
  while (created.length < count)
    created.push(...(await Promise.all(Array.from({ length: Math.min(32, count - created.length) }, create))))
  return created
}
