/** A client of PostgreSQL's protocol on a raw socket, for tests that choose every byte. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

export interface Reply {
  /** The letter of the message. */
  readonly type: string
  readonly body: Buffer
}

export const SSL_REQUEST = packet(80877103)
export const GSSENC_REQUEST = packet(80877104)

export class WireClient {
  readonly socket: Socket
  #bytes = Buffer.alloc(0)
  #ended = false
  #wake: (() => void) | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#wake?.()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#ended = true
      this.#wake?.()
    })
  }

  static async open(port: number, host = '127.0.0.1'): Promise<WireClient> {
    const socket = connect({ port, host })
    await once(socket, 'connect')
    return new WireClient(socket)
  }

  /** The same connection under TLS. */
  async encrypted(options: ConnectionOptions = {}): Promise<WireClient> {
    this.socket.removeAllListeners('data')
    const secured = connectTls({ socket: this.socket, rejectUnauthorized: false, ...options })
    await once(secured, 'secureConnect')
    return new WireClient(secured)
  }

  send(...parts: readonly (Uint8Array | string)[]): void {
    this.socket.write(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))))
  }

  /** The next bytes; fewer if the connection ends. */
  async bytes(count: number): Promise<Buffer> {
    await this.#until(() => this.#bytes.length >= count)
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(taken.length)
    return taken
  }

  /** Undefined if the connection ends. */
  async reply(): Promise<Reply | undefined> {
    const head = await this.bytes(5)
    if (head.length < 5) return undefined
    const body = await this.bytes(head.readUInt32BE(1) - 4)
    return { type: String.fromCharCode(head[0] ?? 0), body }
  }

  /** The replies up to one of this type, or to the end. */
  async repliesTo(type: string): Promise<Reply[]> {
    const replies: Reply[] = []
    for (;;) {
      const reply = await this.reply()
      if (reply === undefined) return replies
      replies.push(reply)
      if (reply.type === type) return replies
    }
  }

  /** The fields of the next error, with the letters as names; messages before it are skipped. */
  async error(): Promise<Record<string, string>> {
    const reply = (await this.repliesTo('E')).at(-1)
    return reply?.type === 'E' ? errorFields(reply.body) : {}
  }

  async closed(): Promise<void> {
    await this.#until(() => false)
  }

  close(): void {
    this.socket.destroy()
  }

  async #until(isMet: () => boolean): Promise<void> {
    while (!isMet() && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

export function errorFields(body: Buffer): Record<string, string> {
  const fields = body.toString('utf8').split('\0').filter(Boolean)
  return Object.fromEntries(fields.map((field) => [field.charAt(0), field.slice(1)]))
}

/** A packet without a type: the length, a code, and a body. */
export function packet(code: number, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + body.length, 0)
  head.writeUInt32BE(code, 4)
  return Buffer.concat([head, body])
}

export function startUp(parameters: Readonly<Record<string, string>>, version = 0x30000): Buffer {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`)
  return packet(version, Buffer.from(`${pairs.join('')}\0`))
}

export function message(type: string, body: Uint8Array | string = ''): Buffer {
  const bytes = Buffer.from(body)
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeUInt32BE(bytes.length + 4, 1)
  return Buffer.concat([head, bytes])
}

export function password(text: string): Buffer {
  return message('p', `${text}\0`)
}

/** Signs in with a password or token; the replies are those up to ReadyForQuery, or the error. */
export async function signInTo(
  port: number,
  user: string,
  secret: string,
  parameters: Readonly<Record<string, string>> = {},
  version?: number,
): Promise<{ client: WireClient; replies: Reply[] }> {
  const client = await WireClient.open(port)
  client.send(startUp({ user, ...parameters }, version))
  const asked = await client.repliesTo('R')
  if (asked.at(-1)?.type !== 'R') return { client, replies: asked }
  client.send(password(secret))
  return { client, replies: [...asked, ...(await client.repliesTo('Z'))] }
}

/** The process id and the key of BackendKeyData. */
export function readCancelKey(replies: readonly Reply[]): { processId: number; key: Buffer } {
  const body = replies.find(({ type }) => type === 'K')?.body ?? Buffer.alloc(4)
  return { processId: body.readInt32BE(0), key: body.subarray(4) }
}

export async function sendCancel(port: number, processId: number, key: Uint8Array): Promise<void> {
  const body = Buffer.alloc(4)
  body.writeInt32BE(processId)
  const client = await WireClient.open(port)
  client.send(packet(80877102, Buffer.concat([body, key])))
  await client.closed()
}
