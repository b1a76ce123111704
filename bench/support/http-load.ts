/** Loads an HTTP/1.1 server from a few connections, one request at a time on each, with as little work of its own as can be. */
import { connect, type Socket } from 'node:net'

/** Each connection has a caller, who says what to send next when the answer to the last has come. */
export interface Caller {
  /** The whole request, head and body. */
  next(): Buffer
  /** The answer's body; throw when it is not what it should be. */
  take?(status: number, body: string): void
}

export interface LoadResult {
  readonly answers: number
  readonly seconds: number
}

export async function load(
  port: number,
  callers: readonly Caller[],
  milliseconds: number,
  signal?: AbortSignal,
): Promise<LoadResult> {
  const began = performance.now()
  const end = began + milliseconds
  const counts = await Promise.all(callers.map((caller) => drive(port, caller, end, signal)))
  return { answers: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - began) / 1000 }
}

export function requestBytes(
  method: 'GET' | 'POST',
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
  type = 'application/x-www-form-urlencoded',
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1']
  if (headers.accept === undefined) lines.push('accept: application/json')
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (method === 'POST') {
    lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

function drive(port: number, caller: Caller, end: number, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const reader = new ReplyReader(caller.take !== undefined)
    let answers = 0
    const finish = (): void => {
      socket.destroy()
      resolve(answers)
    }
    const read = (bytes: Buffer): void => {
      const reply = reader.add(bytes)
      if (reply === undefined) return
      try {
        if (reply.status < 200 || reply.status > 299)
          throw new Error(`Answered ${reply.status}: ${reply.body.slice(0, 200)}`)
        caller.take?.(reply.status, reply.body)
      } catch (error) {
        socket.destroy()
        reject(error)
        return
      }
      answers++
      if (performance.now() < end) socket.write(caller.next())
      else finish()
    }
    // Into one buffer, past the stream: where server and client share a processor, every cost of ours is taken from the server.
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
    socket.on('connect', () => socket.write(caller.next()))
    socket.on('error', reject)
  })
}

const BUFFER_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

/** Puts one reply after another together. The body is kept where somebody wants it or it tells of a failure, but not of a reply in chunks, which may be large. */
class ReplyReader {
  readonly #keepsBody: boolean
  /** What came of a head that is not whole yet. */
  #begun = NOTHING
  #status = 0
  #left = 0
  #body = ''
  #tail = ''

  constructor(keepsBody: boolean) {
    this.#keepsBody = keepsBody
  }

  add(bytes: Buffer): { status: number; body: string } | undefined {
    if (this.#status !== 0) return this.#goOn(bytes)
    const all = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes])
    const end = all.indexOf('\r\n\r\n')
    // The buffer is filled anew by what comes next.
    this.#begun = end < 0 ? Buffer.from(all) : NOTHING
    if (end < 0) return undefined
    const head = all.toString('latin1', 0, end + 2)
    this.#status = Number(head.slice(9, 12))
    const length = LENGTH.exec(head)?.[1]
    this.#left = length !== undefined ? Number(length) : CHUNKED.test(head) ? Number.POSITIVE_INFINITY : 0
    this.#tail = '\r\n'
    return this.#goOn(all.subarray(end + 4))
  }

  #goOn(bytes: Buffer): { status: number; body: string } | undefined {
    if (this.#left === Number.POSITIVE_INFINITY) {
      this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - LAST_CHUNK.length))).slice(
        -LAST_CHUNK.length,
      )
      if (this.#tail !== LAST_CHUNK) return undefined
    } else {
      if (this.#keepsBody || this.#status > 299) this.#body += bytes.toString('latin1')
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
const LAST_CHUNK = '\r\n0\r\n\r\n'
