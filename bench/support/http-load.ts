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

export async function load(port: number, callers: readonly Caller[], milliseconds: number): Promise<LoadResult> {
  const began = performance.now()
  const end = began + milliseconds
  const counts = await Promise.all(callers.map((caller) => drive(port, caller, end)))
  return { answers: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - began) / 1000 }
}

export function requestBytes(
  method: 'GET' | 'POST',
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'accept: application/json']
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (method === 'POST') {
    lines.push('content-type: application/x-www-form-urlencoded', `content-length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

function drive(port: number, caller: Caller, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let pending = ''
    let answers = 0
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('connect', () => socket.write(caller.next()))
    socket.on('error', reject)
    socket.on('data', (text: string) => {
      pending += text
      const head = pending.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(pending.slice(0, head))?.[1] ?? 0)
      if (pending.length < head + 4 + length) return
      const status = Number(pending.slice(9, 12))
      const body = pending.slice(head + 4, head + 4 + length)
      pending = ''
      try {
        if (status !== 200) throw new Error(`Answered ${status}: ${body.slice(0, 200)}`)
        caller.take?.(status, body)
      } catch (error) {
        socket.destroy()
        reject(error)
        return
      }
      answers++
      if (performance.now() < end) socket.write(caller.next())
      else {
        socket.destroy()
        resolve(answers)
      }
    })
  })
}
