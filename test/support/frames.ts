/** A raw WebSocket peer for tests: writes valid and invalid frames, and reads the frames received. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'

export interface FrameOptions {
  readonly fin?: boolean
  /** The three reserved bits as a number from 0 to 7; 4 is RSV1, which marks a compressed message (RFC 7692). */
  readonly reserved?: number
  readonly opcode: number
  readonly payload?: Buffer | string
  readonly masked?: boolean
  /** A length in the header that differs from the length of the payload. */
  readonly declaredLength?: bigint
}

export interface Frame {
  readonly fin: boolean
  readonly reserved: number
  readonly opcode: number
  readonly payload: Buffer
}

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export function frame({
  fin = true,
  reserved = 0,
  opcode,
  payload = '',
  masked = true,
  declaredLength,
}: FrameOptions): Buffer {
  const bytes = Buffer.from(payload)
  const length = declaredLength ?? BigInt(bytes.length)
  const head = [(fin ? 0x80 : 0) | (reserved << 4) | opcode]
  const maskBit = masked ? 0x80 : 0
  const long = Buffer.alloc(8)
  long.writeBigUInt64BE(length)
  if (length < 126n) head.push(maskBit | Number(length))
  else if (length < 65536n) head.push(maskBit | 126, ...long.subarray(6))
  else head.push(maskBit | 127, ...long)
  if (!masked) return Buffer.concat([Buffer.from(head), bytes])
  const mask = randomBytes(4)
  const maskedBytes = Buffer.from(bytes.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([Buffer.from(head), mask, maskedBytes])
}

export function closeFrame(code: number, reason: Buffer | string = ''): Buffer {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(code)
  return frame({ opcode: OPCODE.close, payload: Buffer.concat([head, Buffer.from(reason)]) })
}

export interface RawPeer {
  readonly socket: Socket
  /** Status line and headers of the reply to the upgrade. */
  readonly reply: string
  write(...frames: Buffer[]): void
  next(): Promise<Frame>
  /** Takes the frames that have arrived. */
  available(): Frame[]
  /** The code of the next close frame; undefined if the socket ends without one. */
  closeCode(): Promise<number | undefined>
}

export async function openRaw(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawPeer> {
  const socket = connectTcp(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const allHeaders = {
    Host: `127.0.0.1:${port}`,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'Sec-WebSocket-Protocol': 'PlatformJson',
    ...headers,
  }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)

  let buffered = Buffer.alloc(0)
  let ended = false
  let wake: () => void = () => {}
  socket.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk])
    wake()
  })
  socket.on('close', () => {
    ended = true
    wake()
  })
  async function until<T>(read: () => T | undefined): Promise<T | undefined> {
    const deadline = Date.now() + 30_000
    for (;;) {
      const value = read()
      if (value !== undefined || ended) return value
      if (Date.now() > deadline) throw new Error('nothing arrived in time')
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, 1_000)
        wake = () => {
          clearTimeout(late)
          resolve()
        }
      })
    }
  }
  const reply = await until(() => {
    const end = buffered.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const text = buffered.subarray(0, end).toString()
    buffered = buffered.subarray(end + 4)
    return text
  })
  const take = (): Frame | undefined => {
    const parsed = parseFrame(buffered)
    if (parsed !== undefined) buffered = buffered.subarray(parsed.size)
    return parsed?.frame
  }
  return {
    socket,
    reply: reply ?? '',
    write: (...frames) => void socket.write(Buffer.concat(frames)),
    async next() {
      const found = await until(take)
      if (found === undefined) throw new Error('the socket ended')
      return found
    },
    available() {
      const frames: Frame[] = []
      for (let found = take(); found !== undefined; found = take()) frames.push(found)
      return frames
    },
    async closeCode() {
      for (;;) {
        const found = await until(take)
        if (found === undefined) return undefined
        if (found.opcode === OPCODE.close) return found.payload.length < 2 ? 1005 : found.payload.readUInt16BE()
      }
    },
  }
}

function parseFrame(bytes: Buffer): { frame: Frame; size: number } | undefined {
  const [first = 0, second = 0] = bytes
  const extra = (second & 0x7f) === 126 ? 2 : (second & 0x7f) === 127 ? 8 : 0
  if (bytes.length < 2 + extra) return undefined
  const length = extra === 0 ? second & 0x7f : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const size = 2 + extra + length
  if (bytes.length < size) return undefined
  const payload = Buffer.from(bytes.subarray(2 + extra, size))
  return { frame: { fin: first >= 0x80, reserved: (first >> 4) & 7, opcode: first & 0xf, payload }, size }
}
