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
    const socket: Socket = connect(port, '127.0.0.1')
    const reader = new ReplyReader()
    let answers = 0
    const finish = (): void => {
      socket.destroy()
      resolve(answers)
    }
    signal?.addEventListener('abort', finish, { once: true })
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('connect', () => socket.write(caller.next()))
    socket.on('error', reject)
    socket.on('data', (text: string) => {
      const reply = reader.add(text)
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
    })
  })
}

/** Puts one reply after another together. Of a reply in chunks the body is thrown away: it may be large. */
class ReplyReader {
  #pending = ''
  #chunkedStatus = 0

  add(text: string): { status: number; body: string } | undefined {
    this.#pending += text
    if (this.#chunkedStatus === 0) {
      const head = this.#pending.indexOf('\r\n\r\n')
      if (head < 0) return undefined
      const status = Number(this.#pending.slice(9, 12))
      const headers = this.#pending.slice(0, head + 2)
      if (!/\r\ntransfer-encoding: chunked\r\n/i.test(headers)) {
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1] ?? 0)
        if (this.#pending.length < head + 4 + length) return undefined
        const body = this.#pending.slice(head + 4, head + 4 + length)
        this.#pending = ''
        return { status, body }
      }
      this.#chunkedStatus = status
      this.#pending = this.#pending.slice(head + 2)
    }
    if (!this.#pending.endsWith('\r\n0\r\n\r\n')) {
      this.#pending = this.#pending.slice(-7)
      return undefined
    }
    const status = this.#chunkedStatus
    this.#chunkedStatus = 0
    this.#pending = ''
    return { status, body: '' }
  }
}
