/**
 * The echo endpoint: returns every message, for conformance suites of the WebSocket protocol. A client that does not read what it is
 * sent is not read either. There is no rate and no idle time: the suites send as fast as they can, or wait.
 */
import type { Socket } from 'node:net'
import type { StreamSettings } from '../settings.ts'
import { frameDeflated, type Windows } from '../websocket/deflate.ts'
import { frameMessage } from '../websocket/frame.ts'
import { ServerSocket, type SocketHandler } from '../websocket/server-socket.ts'

export class Echo {
  readonly #settings: StreamSettings
  readonly #sockets = new Set<ServerSocket>()

  constructor(settings: StreamSettings) {
    this.#settings = settings
  }

  open(tcp: Socket, head: Buffer, windows: Windows | undefined): void {
    const socket = new ServerSocket(tcp, { windows })
    this.#sockets.add(socket)
    socket.open(this.#createHandler(socket, windows), head)
  }

  stop(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  #createHandler(socket: ServerSocket, windows: Windows | undefined): SocketHandler {
    const { streamSendQueueBytes: most, streamDeflateThreshold: threshold } = this.#settings
    const checkQueue = (): void => {
      if (socket.queuedBytes > most) socket.pause()
      else if (socket.queuedBytes <= most / 2) socket.resume()
    }
    return {
      maxMessageBytes: this.#settings.streamMaxMessageBytes,
      waitsForLimit: () => false,
      onMessage(data, isBinary) {
        const payload = isBinary ? data : data.toString()
        const frame = windows === undefined ? frameMessage(payload) : frameDeflated(payload, windows.server, threshold)
        socket.send(frame, data.length)
        checkQueue()
      },
      onFrame: checkQueue,
      onDrain: checkQueue,
      onRead() {},
      onClosing() {},
      onFault: () => socket.terminate(),
      onClosed: () => void this.#sockets.delete(socket),
    }
  }
}
