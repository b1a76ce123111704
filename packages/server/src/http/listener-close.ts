/** Closes a listening server without cutting off waiting connections, requests in flight or unread replies. */
import type http from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import { quietTurn } from '../lib/quiet-turn.ts'

const SWEEP_MS = 50
/** Browsers open connections that they may need, and send nothing on them. */
const LONGEST_UNUSED_MS = 1_000

export class ListenerClose {
  readonly #server: http.Server
  readonly #open = new Set<Socket>()

  constructor(server: http.Server) {
    const open = this.#open
    this.#server = server
    // One for all connections, because there can be many streams.
    const forget = function (this: Socket): void {
      open.delete(this)
    }
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
      open.add(socket)
      socket.on('close', forget)
    })
  }

  /** From now on every reply says `Connection: close`. */
  announce(): void {
    if (this.#server.listeners('request').includes(sayClose)) return
    for (const event of ['request', 'checkContinue']) this.#server.prependListener(event, sayClose)
  }

  /** Stops accepting, waits up to the grace period for requests in flight, then closes the rest. */
  async close(graceMs: number): Promise<void> {
    const server = this.#server
    this.announce()
    if (server.listening) await acceptWaiting(server)
    const closed = new AbortController()
    // Not the method of an HTTP server, which closes all connections whose reply was handed over, whether or not it has been sent.
    Server.prototype.close.call(server, () => closed.abort())
    const cut = setTimeout(() => {
      server.closeAllConnections()
      // Upgraded connections as well.
      for (const socket of this.#open) socket.destroy()
    }, graceMs)
    await closeUnused(server, this.#open, closed.signal)
    clearTimeout(cut)
    // Ends its timers.
    server.close()
  }
}

function sayClose(_request: http.IncomingMessage, response: http.ServerResponse): void {
  response.setHeader('connection', 'close')
}

/**
 * When the port closes, the kernel resets established connections that the event loop has not accepted yet; it accepts one per turn.
 * So the port is closed right after a turn in which none was waiting.
 */
async function acceptWaiting(server: http.Server): Promise<void> {
  let hasCome = false
  const onConnection = (): void => {
    hasCome = true
  }
  server.on('connection', onConnection)
  await quietTurn(() => {
    const came = hasCome
    hasCome = false
    return came
  })
  server.off('connection', onConnection)
}

/** Repeats until all connections are closed: closes idle ones, each time right after the event loop has read what had arrived. */
async function closeUnused(server: http.Server, open: ReadonlySet<Socket>, closed: AbortSignal): Promise<void> {
  const since = performance.now()
  while (!closed.aborted) {
    // Node considers a connection idle once its reply is written, although the client may not have read it yet.
    if (![...open].some(({ writableLength }) => writableLength > 0)) server.closeIdleConnections()
    if (performance.now() - since > LONGEST_UNUSED_MS)
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    await sleep(SWEEP_MS, undefined, { signal: closed }).catch(() => {})
    await nextTurn()
  }
}
