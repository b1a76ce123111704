/** Bounds the connections of the server, and keeps some beyond the bound for probes: a server that is full must still say so. */
import type http from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from 'gatehouse-protocol'

export const PROBE_CONNECTIONS = 16

/** A connection beyond the bound. */
interface Spare {
  readonly socket: Socket
  /** Its request is being answered. */
  isServed: boolean
}

/**
 * Beyond `most`, a connection may send one request to a probe; every other request is refused. Where too many come, those that have
 * sent nothing for the longest time are closed. Returns what throws for a request of such a connection.
 */
export function keepProbeConnections(
  server: http.Server,
  most: number,
  onRefused: () => void,
): (request: http.IncomingMessage) => void {
  let open = 0
  /** Oldest first; by remote address and port, since a request under TLS has another socket. */
  const spare = new Map<string, Spare>()
  const onClosed = (): void => {
    open--
  }
  server.on('connection', (socket: Socket) => {
    open++
    socket.on('close', onClosed)
    if (open > most) addSpare(socket)
  })
  for (const event of ['request', 'checkContinue'])
    server.prependListener(event, (request: http.IncomingMessage, response: http.ServerResponse) => {
      const own = spareOf(request)
      if (own === undefined) return
      own.isServed = true
      response.shouldKeepAlive = false
    })
  return (request) => {
    // Others may have left meanwhile.
    if (spareOf(request) === undefined || open - spare.size < most) return
    onRefused()
    throw new Refusal('http.too_many_connections', 503, 'The server has too many connections', {
      headers: { 'retry-after': '1' },
    })
  }

  function spareOf({ socket }: http.IncomingMessage): Spare | undefined {
    return spare.size === 0 ? undefined : spare.get(keyOf(socket))
  }

  function addSpare(socket: Socket): void {
    if (spare.size >= PROBE_CONNECTIONS) {
      const [key, idle] = [...spare].find(([, { isServed }]) => !isServed) ?? []
      onRefused()
      idle?.socket.destroy()
      if (key === undefined) {
        socket.destroy()
        return
      }
      spare.delete(key)
    }
    const key = keyOf(socket)
    const added = { socket, isServed: false }
    spare.set(key, added)
    socket.on('close', () => {
      if (spare.get(key) === added) spare.delete(key)
    })
  }
}

export function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
