/** The listening socket of the wire. A server opens it once it can serve connections. */
import { createServer, type Server, type Socket } from 'node:net'
import { checkPort, type Opening, opensNow } from '../../http/listener.ts'

export interface PortOptions {
  readonly host: string
  readonly port: number
  readonly opening: Opening
}

export async function openPort(options: PortOptions): Promise<WirePort> {
  const port = new WirePort(options)
  if (opensNow(options)) await port.listen()
  else if (options.opening === 'later') await checkPort(options.host, options.port)
  return port
}

export class WirePort {
  readonly #options: PortOptions
  readonly #server: Server
  #accept: (socket: Socket) => void = (socket) => socket.destroy()

  constructor(options: PortOptions) {
    this.#options = options
    // Small replies must not wait for the acknowledgement of earlier ones.
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) => {
      // Errors of one connection, such as a reset: 'close' follows.
      socket.on('error', () => {})
      this.#accept(socket)
    })
    this.#server.on('error', () => {})
  }

  get port(): number {
    const address = this.#server.address()
    return address !== null && typeof address === 'object' ? address.port : this.#options.port
  }

  async listen(): Promise<void> {
    if (this.#server.listening) return
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.removeListener('error', reject)
        resolve()
      })
    })
  }

  /** From now on connections are served. */
  serveWith(accept: (socket: Socket) => void): void {
    this.#accept = accept
  }

  /** Stops accepting; open connections are not its own. */
  close(): void {
    this.#server.close()
  }
}
