/** A plain TCP balancer: each connection goes to the next node in turn, and to the one after it when a node refuses. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpBalancer {
  readonly port: number
  /** Where connections go from now on. */
  send(ports: readonly number[]): void
  close(): Promise<void>
}

export async function startTcpBalancer(port = 0): Promise<TcpBalancer> {
  let targets: readonly number[] = []
  let turn = 0
  const open = new Set<Socket>()
  const server = createServer((outside) => {
    keep(outside)
    const inOrder = targets.map((_target, index) => targets[(turn + index) % targets.length] ?? 0)
    turn += 1
    forward(outside, inOrder)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    send(ports) {
      targets = ports
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  function forward(outside: Socket, [target, ...others]: readonly number[]): void {
    if (target === undefined) {
      outside.destroy()
      return
    }
    const inside = connect(target, '127.0.0.1')
    let connected = false
    inside.once('connect', () => {
      connected = true
      keep(inside)
      outside.pipe(inside).pipe(outside)
    })
    inside.once('error', () => {
      if (connected) outside.destroy()
      else forward(outside, others)
    })
    inside.once('close', () => {
      if (connected) outside.end()
    })
    outside.once('close', () => inside.destroy())
  }

  function keep(socket: Socket): void {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
  }
}
