/** Bounds the connections of one address. Streaming connections are released: the gateway has bounds of its own. */
import type http from 'node:http'
import type { Socket } from 'node:net'
import { keyOf } from './probe-connections.ts'
import { countedNetworks } from './rate-limits.ts'

export interface ConnectionBound {
  /** 0: no bound. */
  readonly most: number
  /** Addresses and networks that are not bounded, such as those of proxies. */
  readonly exempt: readonly string[]
}

/** Connections beyond the bound are closed at once: a reply would cost what the bound saves. Returns a function that changes it. */
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
    const key = keyOf(socket)
    const release = (): void => {
      if (!open.delete(key)) return
      const left = (counts.get(network) ?? 1) - 1
      if (left === 0) counts.delete(network)
      else counts.set(network, left)
    }
    open.set(key, release)
    socket.on('close', release)
  })
  server.on('upgrade', ({ socket }: http.IncomingMessage) => open.get(keyOf(socket))?.())
  return (next) => {
    most = next.most
    networkCounted = countedNetworks(next.exempt)
  }
}
