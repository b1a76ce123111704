/** A TCP relay that can be cut and mended: the network between a server and its database. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Breaks every connection and refuses new ones. */
  cut(): void
  /** Keeps every connection and passes nothing on, as a machine does that is gone without a word. */
  hold(): void
  /** The same in one direction: what clients send arrives, and no reply comes back. */
  holdReplies(): void
  mend(): void
  /**
   * When the text passes on its way to the server, the next reply is lost, and the end of that connection with it:
   * it is broken on one side, and stays open on the side of the server.
   */
  orphanAfter(text: string): void
  /** New connections go to this port. */
  redirect(port: number): void
  /** The connections that were accepted so far. */
  accepted(): number
  close(): Promise<void>
}

/** Each connection takes `delayMs` before anything is passed on: a slow link. */
export async function startTcpProxy(host: string, port: number, delayMs = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const farSockets = new WeakSet<Socket>()
  let open = true
  let held = false
  let holdsReplies = false
  let target = port
  let accepted = 0
  let awaited: string | undefined
  const pairs = new Map<Socket, Socket>()
  const orphans = new Set<Socket>()
  /** Only where a test asks for it: a listener makes data flow. */
  const watch = (near: Socket, far: Socket): void => {
    near.on('data', (data) => {
      if (awaited === undefined || !data.includes(awaited)) return
      awaited = undefined
      orphans.add(far)
      far.unpipe(near)
      far.once('data', () => near.destroy()).resume()
    })
  }
  const server = createServer((near) => {
    if (!open) {
      near.destroy()
      return
    }
    accepted++
    const far = connect(target, host)
    pairs.set(near, far)
    near.on('close', () => pairs.delete(near))
    if (awaited !== undefined) watch(near, far)
    farSockets.add(far)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      if (delayMs > 0) setTimeout(() => from.pipe(to), delayMs).unref()
      else from.pipe(to)
      if (held || (holdsReplies && from === far)) from.pause()
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        if (!orphans.has(to)) to.destroy()
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
    holdReplies: () => {
      holdsReplies = true
      for (const socket of sockets) if (farSockets.has(socket)) socket.pause()
    },
    mend: () => {
      open = true
      held = false
      holdsReplies = false
      for (const socket of sockets) socket.resume()
    },
    orphanAfter: (text) => {
      awaited = text
      for (const [near, far] of pairs) watch(near, far)
    },
    redirect: (port) => {
      target = port
    },
    accepted: () => accepted,
    close() {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
