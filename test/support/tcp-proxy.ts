/** A TCP relay that can be cut and mended: the network between a server and its database. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Breaks every connection and refuses new ones. */
  cut(): void
  /** Keeps every connection and passes nothing on, as a machine does that is gone without a word. */
  hold(): void
  mend(): void
  close(): Promise<void>
}

export async function startTcpProxy(host: string, port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let open = true
  let held = false
  const server = createServer((near) => {
    if (!open) {
      near.destroy()
      return
    }
    const far = connect(port, host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      if (held) from.pause()
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    open = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    hold: () => {
      held = true
      for (const socket of sockets) socket.pause()
    },
    mend: () => {
      open = true
      held = false
      for (const socket of sockets) socket.resume()
    },
    close() {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
