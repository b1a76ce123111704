/** The echo endpoint: returns every message, for conformance suites of the WebSocket protocol. */
import type { Socket } from 'node:net'
import { frameDeflated, type Windows } from './deflate.ts'
import { frameMessage } from './frame.ts'
import { ServerSocket } from './server-socket.ts'

/** What is queued for a client before it is no longer read. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024
const CLOSE_TIMEOUT = 5_000

export interface Echo {
  open(tcp: Socket, head: Buffer, windows: Windows | undefined): void
  stop(): void
}

export function createEcho(maxMessageBytes: number, deflateThreshold: number): Echo {
  const sockets = new Set<ServerSocket>()

  function open(tcp: Socket, head: Buffer, windows: Windows | undefined): void {
    const socket = new ServerSocket(tcp, { maxMessageBytes, windows })
    sockets.add(socket)
    socket.open(
      {
        onMessage(data, isBinary) {
          const payload = isBinary ? data : data.toString()
          socket.send(
            windows === undefined ? frameMessage(payload) : frameDeflated(payload, windows.server, deflateThreshold),
            data.length,
          )
          if (socket.queuedBytes > MAX_QUEUED_BYTES) socket.pause()
        },
        onFrame: () => {},
        onDrain: () => {
          if (socket.queuedBytes === 0) socket.resume()
        },
        onClosing: () => setTimeout(() => socket.terminate(), CLOSE_TIMEOUT).unref(),
        onFault: () => socket.terminate(),
        onClosed: () => sockets.delete(socket),
      },
      head,
    )
  }

  return {
    open,
    stop() {
      for (const socket of sockets) socket.terminate()
    },
  }
}
