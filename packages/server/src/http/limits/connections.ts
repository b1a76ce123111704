/** Limits on connections: of the server, with a reserve for probes, and of one address. */
import type http from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from 'gatehouse-protocol'
import { countedNetworks } from './rate-limits.ts'

export const PROBE_CONNECTIONS = 16

export interface Admission {
  /** Throws if the server cannot take the request. Not called for probes. */
  readonly admit: (request: http.IncomingMessage) => void
  /** From now on no request is accepted. */
  refuseAll(refusal: Refusal): void
}

/** A connection beyond the bound. */
interface Spare {
  readonly socket: Socket
  /** Its request is being answered. */
  isServed: boolean
}

/**
 * A full server must still say so. Beyond `most`, a connection may send one request to a probe; every other request is refused.
 * If too many arrive, the connections that have been silent longest are closed.
 */
export function keepProbeConnections(server: http.Server, most: number, onRefused: () => void): Admission {
  let open = 0
  let refusalOfAll: Refusal | undefined
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
      const own = findSpare(request)
      if (own === undefined) return
      own.isServed = true
      response.shouldKeepAlive = false
    })
  return {
    admit(request) {
      if (refusalOfAll !== undefined) throw refusalOfAll
      // Other connections may have closed in the meantime.
      if (findSpare(request) === undefined || open - spare.size < most) return
      onRefused()
      throw new Refusal('http.too_many_connections', 503, 'The server has too many connections', {
        headers: { 'retry-after': '1' },
      })
    },
    refuseAll(refusal) {
      refusalOfAll = refusal
    },
  }

  function findSpare({ socket }: http.IncomingMessage): Spare | undefined {
    return spare.size === 0 ? undefined : spare.get(socketKey(socket))
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
    const key = socketKey(socket)
    const added = { socket, isServed: false }
    spare.set(key, added)
    socket.on('close', () => {
      if (spare.get(key) === added) spare.delete(key)
    })
  }
}

export interface ConnectionBound {
  /** 0: no bound. */
  readonly most: number
  /** Addresses and networks that are not bounded, such as those of proxies. */
  readonly exempt: readonly string[]
}

/**
 * Connections of an address beyond the bound are closed at once: a reply would cost what the bound saves. Streaming connections are
 * released: the gateway has separate bounds. Returns a function that changes the bound.
 */
export function boundConnections(
  server: http.Server,
  bound: ConnectionBound,
  onRefused: () => void,
): (next: ConnectionBound) => void {
  let { most } = bound
  let networkCounted = countedNetworks(bound.exempt)
  const counts = new Map<string, number>()
  /** Releases by remote address and port: under TLS the socket of an upgrade is not the one that was accepted. */
  const open = new Map<string, () => void>()
  server.on('connection', (socket: Socket) => {
    const network = networkCounted(socket.remoteAddress ?? '')
    if (network === undefined) return
    const count = counts.get(network) ?? 0
    if (most > 0 && count >= most) {
      onRefused()
      socket.destroy()
      return
    }
    counts.set(network, count + 1)
    const key = socketKey(socket)
    const release = (): void => {
      if (!open.delete(key)) return
      const left = (counts.get(network) ?? 1) - 1
      if (left === 0) counts.delete(network)
      else counts.set(network, left)
    }
    open.set(key, release)
    socket.on('close', release)
  })
  server.on('upgrade', ({ socket }: http.IncomingMessage) => open.get(socketKey(socket))?.())
  return (next) => {
    most = next.most
    networkCounted = countedNetworks(next.exempt)
  }
}

function socketKey({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
