/** What is sent on a connection: small messages are joined to one write, and a client that reads slowly holds its sender back. */
import type { Socket } from 'node:net'

/** Joined messages are sent once they are this long. */
const JOINED_BYTES = 32 * 1024
/** Longer parts are written in such pieces, one after the other, which shows how far a slow client has read. */
const PIECE_BYTES = 256 * 1024
/** No short rest of a part is a piece of its own. */
const MAX_PIECE_BYTES = PIECE_BYTES + JOINED_BYTES

export class Output {
  readonly #socket: Socket
  #parts: Uint8Array[] = []
  #bytes = 0
  /** What waits until the socket has sent earlier pieces. */
  readonly #waiting: Uint8Array[] = []
  /** How often the socket has sent all that it had. */
  #sent = 0
  /** While messages are handled, what is written waits for the end of them. */
  #isCorked = false
  #willFlush = false
  #drained: PromiseWithResolvers<void> | undefined
  #isEnded = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('drain', this.#onDrain)
    socket.on('close', this.#onDrain)
  }

  readonly write = (bytes: Uint8Array | string): boolean => {
    if (this.#isEnded) return true
    const part = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#bytes >= JOINED_BYTES) this.flush()
    else if (!this.#isCorked && !this.#willFlush) {
      this.#willFlush = true
      process.nextTick(this.#flushLater)
    }
    return !this.isFull
  }

  get isFull(): boolean {
    return (this.#socket.writableNeedDrain || this.#waiting.length > 0) && !this.#socket.destroyed
  }

  /** Settles as well when the connection ends. */
  readonly drained = (): Promise<void> => {
    if (!this.isFull) return Promise.resolve()
    this.#drained ??= Promise.withResolvers()
    return this.#drained.promise
  }

  readonly hasSentAll = (): boolean =>
    this.#bytes === 0 && this.#waiting.length === 0 && this.#socket.writableLength === 0

  readonly watchStall = (milliseconds: number, act: () => void): (() => void) => {
    let seen = this.#sent
    const timer = setInterval(() => {
      if (this.isFull && this.#sent === seen) act()
      seen = this.#sent
    }, milliseconds).unref()
    return () => clearInterval(timer)
  }

  cork(): void {
    this.#isCorked = true
  }

  uncork(): void {
    this.#isCorked = false
    if (this.#bytes > 0) this.flush()
  }

  readonly flush = (): void => {
    const parts = this.#parts
    if (parts.length === 0 || this.#socket.destroyed) return
    const bytes = this.#bytes
    this.#parts = []
    this.#bytes = 0
    const [first] = parts
    const joined = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts, bytes)
    if (this.#waiting.length === 0 && joined.length <= MAX_PIECE_BYTES) this.#socket.write(joined)
    else {
      this.#waiting.push(joined)
      this.#writeWaiting()
    }
  }

  #writeWaiting(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#socket.writableNeedDrain) return
      if (first.length <= MAX_PIECE_BYTES) {
        this.#waiting.shift()
        this.#socket.write(first)
      } else {
        this.#waiting[0] = first.subarray(PIECE_BYTES)
        this.#socket.write(first.subarray(0, PIECE_BYTES))
      }
    }
  }

  /** Writes the last message; what comes later is dropped. */
  end(last?: Uint8Array): void {
    if (this.#isEnded) return
    if (last !== undefined) this.write(last)
    this.flush()
    for (const bytes of this.#waiting.splice(0)) this.#socket.write(bytes)
    this.#isEnded = true
    this.#socket.end()
    this.#onDrain()
  }

  readonly #flushLater = (): void => {
    this.#willFlush = false
    if (!this.#isCorked) this.flush()
  }

  readonly #onDrain = (): void => {
    this.#sent += 1
    this.#writeWaiting()
    if (this.isFull && !this.#isEnded) return
    const waiting = this.#drained
    this.#drained = undefined
    waiting?.resolve()
  }
}
