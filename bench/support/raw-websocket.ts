/** One short conversation over a separate WebSocket, implemented on a bare TCP connection to keep the client cheap. */
import { randomBytes } from 'node:crypto'
import net from 'node:net'

export interface Step {
  /** A text message; undefined where the server speaks first. */
  readonly send?: string
  /** What the next message must contain. */
  readonly expect: string
}

const SWITCHING = 'HTTP/1.1 101 '
const END_OF_HEAD = '\r\n\r\n'
/** A close frame with code 1000, masked (RFC 6455 §5.5.1). */
const CLOSE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])

/** Upgrades, takes the steps one after the other, closes, and resolves when the server has closed the connection. */
export function converse(port: number, target: string, protocol: string, steps: readonly Step[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    let received = ''
    let next = -1
    let isClosing = false
    const fail = (why: string): void => {
      reject(new Error(`${why}: ${received.slice(0, 300)}`))
      socket.destroy()
    }
    const advance = (): void => {
      received = ''
      next++
      const step = steps[next]
      if (step === undefined) {
        isClosing = true
        socket.write(CLOSE)
      } else if (step.send !== undefined) socket.write(frameText(step.send))
    }
    socket.write(upgradeRequest(port, target, protocol))
    socket.on('data', (chunk) => {
      if (isClosing) return
      received += chunk.toString('latin1')
      if (next < 0) {
        if (!received.startsWith(SWITCHING)) return fail('The upgrade was refused')
        const end = received.indexOf(END_OF_HEAD)
        if (end < 0) return
        const rest = received.slice(end + END_OF_HEAD.length)
        advance()
        received = rest
      }
      const expected = steps[next]?.expect
      if (expected !== undefined && received.includes(expected)) advance()
    })
    socket.on('error', reject)
    socket.on('close', () => (isClosing ? resolve() : fail('The server closed the connection')))
  })
}

function upgradeRequest(port: number, target: string, protocol: string): string {
  return [
    `GET ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    '',
    '',
  ].join('\r\n')
}

/** Masked, as a client must (RFC 6455 §5.3). */
function frameText(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = length < 126 ? 6 : 8
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = 0x81
  if (head === 6) frame[1] = 0x80 | length
  else {
    frame[1] = 0x80 | 126
    frame.writeUInt16BE(length, 2)
  }
  const mask = [0x5a, 0xc3, 0x1f, 0x96]
  frame.set(mask, head - 4)
  frame.write(text, head)
  for (let at = 0; at < length; at++) frame[head + at] = (frame[head + at] ?? 0) ^ (mask[at % 4] ?? 0)
  return frame
}
