/**
 * Requests that a client sends before it has the replies to earlier ones (RFC 9112 §9.3.2). Node reads hundreds of them from a
 * connection at once: they are served in turns with those of others, and a client that sends too many is closed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TurnQueue } from '../lib/turns.ts'
import type { UnreadReplies } from './unread-replies.ts'

/** More than any client has use for. */
const MAX_WAITING = 256
/** The objects of a request and its reply. */
const REQUEST_BYTES = 4096

export class PipelinedRequests {
  readonly #unread: UnreadReplies
  readonly #turns = new TurnQueue()
  /** Of each connection, the functions that release what its requests count for. */
  readonly #waiting = new WeakMap<Socket, Set<() => void>>()

  constructor(unread: UnreadReplies) {
    this.#unread = unread
  }

  add({ socket }: IncomingMessage, response: ServerResponse, caller: string, serve: () => void): void {
    // Node goes on with what it has read from a connection that is closed.
    if (socket.destroyed) return
    const waiting = this.#waitingOn(socket)
    if (waiting.size >= MAX_WAITING) {
      socket.destroy()
      return
    }
    const release = this.#unread.hold(caller, REQUEST_BYTES, () => socket.destroy())
    waiting.add(release)
    response.once('close', () => {
      waiting.delete(release)
      release()
    })
    void this.#turns.run(() => {
      if (!socket.destroyed) serve()
    })
  }

  #waitingOn(socket: Socket): Set<() => void> {
    let waiting = this.#waiting.get(socket)
    if (waiting === undefined) {
      const releases = new Set<() => void>()
      waiting = releases
      this.#waiting.set(socket, waiting)
      // A response that has not been given the connection is not told of its end.
      socket.once('close', () => {
        for (const release of releases) release()
      })
    }
    return waiting
  }
}
