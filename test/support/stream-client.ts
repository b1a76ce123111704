/** A streaming client for tests: sends messages, and waits for messages and the close in order. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type ClientOptions, WebSocket } from 'ws'

export interface StreamClient {
  readonly socket: WebSocket
  send(message: object | string | Buffer): void
  /** The next message, parsed. */
  next(): Promise<Record<string, unknown>>
  /** The next message, unparsed. */
  nextText(): Promise<string>
  nextBytes(): Promise<Buffer>
  request(message: object): Promise<Record<string, unknown>>
  /** Fails if a message arrives before the gateway has swept a few times and answered a ping. */
  expectSilence(): Promise<void>
  closed: Promise<{ code: number; reason: string }>
}

export interface ConnectOptions extends ClientOptions {
  readonly scheme?: 'ws' | 'wss'
  readonly path?: string
  readonly protocols?: string[]
}

const TIMEOUT_MS = 20_000
const SILENCE_MS = 15

export async function connect(port: number, options: ConnectOptions = {}): Promise<StreamClient> {
  const { scheme = 'ws', path = '/Platform?version=1.1', protocols = ['PlatformJson'], ...rest } = options
  const socket = new WebSocket(`${scheme}://127.0.0.1:${port}${path}`, protocols, { perMessageDeflate: false, ...rest })
  const arrived: Buffer[] = []
  const waiting: { arrive(data: Buffer): void; fail(reason: string): void }[] = []
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString() })
      // A running timer would keep the test process alive.
      for (const waiter of waiting.splice(0)) waiter.fail(`no message arrived before the close with ${code}`)
    })
  })
  socket.on('message', (data: Buffer) => {
    const waiter = waiting.shift()
    if (waiter === undefined) arrived.push(data)
    else waiter.arrive(data)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
    socket.once('unexpected-response', (_request, response) => reject(new Error(`refused with ${response.statusCode}`)))
  })
  socket.on('error', () => {})

  const nextBytes = (): Promise<Buffer> => {
    const first = arrived.shift()
    if (first !== undefined) return Promise.resolve(first)
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        clearTimeout(late)
        reject(new Error(reason))
      }
      const late = setTimeout(() => fail('no message arrived in time'), TIMEOUT_MS)
      waiting.push({
        arrive(data) {
          clearTimeout(late)
          resolve(data)
        },
        fail,
      })
    })
  }
  const nextText = async (): Promise<string> => (await nextBytes()).toString()
  const next = async (): Promise<Record<string, unknown>> => JSON.parse(await nextText())
  const send = (message: object | string | Buffer): void =>
    socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message))
  return {
    socket,
    send,
    next,
    nextText,
    nextBytes,
    closed: withTimeout(closed, 'the connection was not closed in time'),
    request(message) {
      send(message)
      return next()
    },
    async expectSilence() {
      await pause(SILENCE_MS)
      await new Promise<void>((resolve, reject) => {
        socket.once('pong', () => resolve())
        socket.once('close', (code) =>
          reject(new Error(`expected silence, but the connection was closed with ${code}`)),
        )
        if (socket.readyState === socket.OPEN) socket.ping()
        else reject(new Error('expected silence, but the connection is not open'))
      })
      const message = arrived.shift()
      if (message !== undefined) throw new Error(`expected silence, but received: ${message.toString()}`)
    },
  }
}

/** A promise that times out; the time starts when it is awaited. */
function withTimeout<T>(promise: Promise<T>, message: string): Promise<T> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: the timeout starts when the promise is awaited
    then(onValue, onError) {
      let late: NodeJS.Timeout | undefined
      const timeout = new Promise<never>((_resolve, reject) => {
        late = setTimeout(() => reject(new Error(message)), TIMEOUT_MS)
      })
      return Promise.race([promise, timeout])
        .finally(() => clearTimeout(late))
        .then(onValue, onError)
    },
    catch: (onError) => promise.catch(onError),
    finally: (onEnd) => promise.finally(onEnd),
    [Symbol.toStringTag]: 'Promise',
  }
}

/** The reply to a refused upgrade. */
export async function refusedUpgrade(
  port: number,
  options: ConnectOptions = {},
): Promise<{ status: number; headers: IncomingMessage['headers']; body: Record<string, unknown> }> {
  const { path = '/Platform?version=1.1', protocols = ['PlatformJson'], ...rest } = options
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { perMessageDeflate: false, ...rest })
  socket.on('error', () => {})
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.once('unexpected-response', (_request, reply) => resolve(reply))
    socket.once('open', () => reject(new Error('the upgrade was accepted')))
  })
  const chunks = await Array.fromAsync(response)
  socket.terminate()
  const text = Buffer.concat(chunks).toString()
  const body = response.headers['content-type']?.includes('json') ? JSON.parse(text) : { text }
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}
