/**
 * Requests that a client sends before it has the replies to earlier ones (RFC 9112 §9.3.2). Node reads hundreds of them from a
 * connection at once: they are served in turns with those of others, and a client that sends too many is closed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TurnQueue } from '../../lib/turns.ts'
import type { UnreadReplies } from './unread-replies.ts'

/** More than any client needs. */
const MAX_WAITING = 64
/** The objects of a request and its reply. */
const REQUEST_BYTES = 4096

export class PipelinedRequests {
  readonly #unread: UnreadReplies
  readonly #turns = new TurnQueue()
  /** For each connection with such requests: the functions that release their counts. */
  readonly #waiting = new Map<Socket, Set<() => void>>()

  /** The socket of the last request, and the bytes read from it until then. */
  #lastSocket: Socket | undefined
  #lastBytesRead = 0

  constructor(unread: UnreadReplies) {
    this.#unread = unread
  }

  /** Whether the request arrived together with another one, or its connection has had such requests. */
  concerns({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const { bytesRead } = socket
    const isOfSameRead = socket === this.#lastSocket && bytesRead === this.#lastBytesRead
    this.#lastSocket = socket
    this.#lastBytesRead = bytesRead
    // Node gives the connection to one response after the other.
    return isOfSameRead || response.socket === null || (this.#waiting.size > 0 && this.#waiting.has(socket))
  }

  add({ socket }: IncomingMessage, response: ServerResponse, caller: string, serve: () => void): void {
    if (socket.destroyed) return
    const waiting = this.#waitingOn(socket)
    if (waiting.size >= MAX_WAITING) {
      stopParsing(socket)
      socket.destroy()
      return
    }
    const release = this.#unread.hold(caller, REQUEST_BYTES, () => socket.destroy())
    waiting.add(release)
    response.once('close', () => {
      waiting.delete(release)
      release()
    })
    // Also if the client has left by then: the request is logged.
    void this.#turns.run(serve)
  }

  #waitingOn(socket: Socket): Set<() => void> {
    let waiting = this.#waiting.get(socket)
    if (waiting === undefined) {
      const releases = new Set<() => void>()
      waiting = releases
      this.#waiting.set(socket, waiting)
      // A response that has not been given the connection gets no event when it closes.
      socket.once('close', () => {
        this.#waiting.delete(socket)
        for (const release of releases) release()
      })
    }
    return waiting
  }
}

/**
 * Node would create the other requests of what it has read at once, 1,600 of the shortest in 20 ms, although the connection is closed.
 * This value makes it believe that the connection was upgraded, after which its parser stops. The property is internal to Node; without
 * it only time is lost.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: () => number } | null }
  if (parser?.onIncoming !== undefined) parser.onIncoming = () => UPGRADED
}

const UPGRADED = 2
