/** Loads an HTTP/1.1 server over a few connections, one request at a time on each, with as little overhead as possible. */
import { connect, type Socket } from 'node:net'

/** Provides the requests of one connection. */
export interface Caller {
  /** The next complete request, head and body; undefined ends the connection before its time is up. */
  next(): Buffer | undefined
  /** Receives the response; throws if it is wrong. */
  onResponse?(status: number, body: string): void
}

export interface LoadResult {
  readonly responses: number
  readonly seconds: number
}

export async function load(
  port: number,
  callers: readonly Caller[],
  milliseconds: number,
  signal?: AbortSignal,
): Promise<LoadResult> {
  const started = performance.now()
  const end = started + milliseconds
  const counts = await Promise.all(callers.map((caller) => drive(port, caller, end, signal)))
  return { responses: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - started) / 1000 }
}

export function requestBytes(
  method: 'GET' | 'POST',
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Buffer = '',
  type = 'application/x-www-form-urlencoded',
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1']
  if (headers.accept === undefined) lines.push('accept: application/json')
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (method === 'POST') {
    lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)])
}

function drive(port: number, caller: Caller, end: number, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const reader = new ReplyReader(caller.onResponse !== undefined)
    let responses = 0
    const finish = (): void => {
      socket.destroy()
      resolve(responses)
    }
    const read = (bytes: Buffer): void => {
      const reply = reader.add(bytes)
      if (reply === undefined) return
      try {
        if (reply.status < 200 || reply.status > 299)
          throw new Error(`Answered ${reply.status}: ${reply.body.slice(0, 200)}`)
        caller.onResponse?.(reply.status, reply.body)
      } catch (error) {
        socket.destroy()
        reject(error)
        return
      }
      responses++
      send(performance.now() < end ? caller.next() : undefined)
    }
    const send = (request: Buffer | undefined): void => {
      if (request === undefined) finish()
      else socket.write(request)
    }
    // Into one buffer, bypassing the stream: on a shared processor the client's CPU time is missing for the server.
    const onread = {
      buffer: Buffer.allocUnsafe(BUFFER_BYTES),
      callback: (length: number, bytes: Uint8Array): boolean => {
        read(Buffer.from(bytes.buffer, bytes.byteOffset, length))
        return true
      },
    }
    const socket: Socket = connect({ port, host: '127.0.0.1', onread })
    signal?.addEventListener('abort', finish, { once: true })
    socket.setNoDelay(true)
    socket.on('connect', () => send(caller.next()))
    socket.on('error', reject)
  })
}

const BUFFER_BYTES = 64 * 1024
const EMPTY = Buffer.alloc(0)

/** Assembles responses from chunks. Keeps the body if it is wanted or describes an error, but not if it is chunked. */
class ReplyReader {
  readonly #keepBody: boolean
  /** The incomplete head of a response. */
  #head = EMPTY
  #status = 0
  #left = 0
  #body = ''
  #tail = ''

  constructor(keepBody: boolean) {
    this.#keepBody = keepBody
  }

  add(bytes: Buffer): { status: number; body: string } | undefined {
    if (this.#status !== 0) return this.#addBody(bytes)
    const all = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
    const end = all.indexOf('\r\n\r\n')
    // Copied, because the buffer is reused for the next read.
    this.#head = end < 0 ? Buffer.from(all) : EMPTY
    if (end < 0) return undefined
    const head = all.toString('latin1', 0, end + 2)
    this.#status = Number(head.slice(9, 12))
    const length = LENGTH.exec(head)?.[1]
    this.#left = length !== undefined ? Number(length) : CHUNKED.test(head) ? Number.POSITIVE_INFINITY : 0
    this.#tail = '\r\n'
    return this.#addBody(all.subarray(end + 4))
  }

  #addBody(bytes: Buffer): { status: number; body: string } | undefined {
    if (this.#left === Number.POSITIVE_INFINITY) {
      this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - TAIL_LENGTH))).slice(-TAIL_LENGTH)
      if (!LAST_CHUNK.test(this.#tail)) return undefined
    } else {
      if (this.#keepBody || this.#status > 299) this.#body += bytes.toString('latin1')
      this.#left -= bytes.length
      if (this.#left > 0) return undefined
    }
    const reply = { status: this.#status, body: this.#body }
    this.#status = 0
    this.#body = ''
    return reply
  }
}

const LENGTH = /\r\ncontent-length: (\d+)/i
const CHUNKED = /\r\ntransfer-encoding: chunked\r\n/i
/** Its length is zero, in one digit or several. */
const LAST_CHUNK = /\r\n0+\r\n\r\n$/
const TAIL_LENGTH = 16
