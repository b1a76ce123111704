/** The listening socket of the wire. It opens early, and holds connections until the server is ready. */
import { createServer, type Server, type Socket } from 'node:net'

export interface PortOptions {
  readonly host: string
  readonly port: number
  /** The port is opened by `listen`; it must not be 0 then. */
  readonly isLater: boolean
}

const MOST_HELD = 500

export async function openPort(options: PortOptions): Promise<WirePort> {
  const port = new WirePort(options)
  if (!options.isLater) await port.listen()
  return port
}

export class WirePort {
  readonly #options: PortOptions
  readonly #server: Server
  #accept: ((socket: Socket) => void) | undefined
  readonly #held = new Set<Socket>()

  constructor(options: PortOptions) {
    this.#options = options
    // Small replies must not wait for the acknowledgement of earlier ones.
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) => {
      // Errors of one connection, such as a reset: 'close' follows.
      socket.on('error', () => {})
      if (this.#accept !== undefined) this.#accept(socket)
      else this.#hold(socket)
    })
    this.#server.on('error', () => {})
  }

  get port(): number {
    const address = this.#server.address()
    return address !== null && typeof address === 'object' ? address.port : this.#options.port
  }

  listen(): Promise<void> {
    const { host, port } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.removeListener('error', reject)
        resolve()
      })
    })
  }

  /** From now on connections are served; earlier ones have waited until now. */
  serveWith(accept: (socket: Socket) => void): void {
    this.#accept = accept
    for (const socket of this.#held) if (!socket.destroyed) accept(socket)
    this.#held.clear()
  }

  /** Stops accepting; open connections are not its own. */
  close(): void {
    for (const socket of this.#held) socket.destroy()
    this.#held.clear()
    this.#server.close()
  }

  #hold(socket: Socket): void {
    if (this.#held.size >= MOST_HELD) {
      socket.destroy()
      return
    }
    this.#held.add(socket)
    socket.on('close', () => this.#held.delete(socket))
  }
}
