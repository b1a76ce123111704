/** A TCP connection that can be cut and mended, to put between a server and its database. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Switch {
  readonly port: number
  /** Ends what is open and refuses what comes. */
  cut(): void
  mend(): void
  close(): void
}

export async function openSwitch(target: number): Promise<Switch> {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endAll = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      endAll()
    },
    mend() {
      isCut = false
    },
    close() {
      server.close()
      endAll()
    },
  }
}
