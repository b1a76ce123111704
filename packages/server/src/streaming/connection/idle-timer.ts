/** Detects that a client has sent nothing for too long. Times are those of the monotonic clock. */

interface Socket {
  readonly bytesRead: number
}

export class IdleTimer {
  readonly #socket: Socket
  readonly #timeout: number
  #lastFrameAt: number
  /** At the last check: the value of `#lastFrameAt` and the bytes that had been read. */
  #checkedAt: number | undefined
  #checkedBytes = 0

  constructor(socket: Socket, timeout: number, now: number) {
    this.#socket = socket
    this.#timeout = timeout
    this.#lastFrameAt = now
  }

  restart(now: number): void {
    this.#lastFrameAt = now
  }

  /** Must be called often. Pieces of a frame emit no event, so the bytes read count as a sign of life too. */
  isOver(now: number): boolean {
    if (now - this.#lastFrameAt < this.#timeout / 2) return false
    const { bytesRead } = this.#socket
    if (this.#checkedAt === this.#lastFrameAt && bytesRead !== this.#checkedBytes) this.#lastFrameAt = now
    if (this.#checkedAt !== this.#lastFrameAt) {
      this.#checkedAt = this.#lastFrameAt
      this.#checkedBytes = bytesRead
    }
    return now - this.#lastFrameAt >= this.#timeout
  }
}
