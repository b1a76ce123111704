/** What is sent on a connection: small messages are joined to one write, and a client that reads slowly holds its sender back. */
import type { Socket } from 'node:net'

/** Joined messages are sent once they are this long. */
const JOINED_BYTES = 32 * 1024

export class Output {
  readonly #socket: Socket
  #parts: Uint8Array[] = []
  #bytes = 0
  /** While messages are handled, what is written waits for the end of them. */
  #isHeld = false
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
    else if (!this.#isHeld && !this.#willFlush) {
      this.#willFlush = true
      process.nextTick(this.#flushLater)
    }
    return !this.isFull
  }

  get isFull(): boolean {
    return this.#socket.writableNeedDrain && !this.#socket.destroyed
  }

  /** Settles as well when the connection ends. */
  readonly drained = (): Promise<void> => {
    if (!this.isFull) return Promise.resolve()
    this.#drained ??= Promise.withResolvers()
    return this.#drained.promise
  }

  /** By the timeout of the socket, which also sees progress within one long write. */
  readonly watchStall = (milliseconds: number, act: () => void): (() => void) => {
    const socket = this.#socket
    const onTimeout = (): void => {
      if (this.isFull) act()
      socket.setTimeout(milliseconds)
    }
    socket.on('timeout', onTimeout)
    socket.setTimeout(milliseconds)
    return () => {
      socket.off('timeout', onTimeout)
      socket.setTimeout(0)
    }
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    if (this.#bytes > 0) this.flush()
  }

  readonly flush = (): void => {
    const parts = this.#parts
    if (parts.length === 0 || this.#socket.destroyed) return
    const bytes = this.#bytes
    this.#parts = []
    this.#bytes = 0
    const [first] = parts
    this.#socket.write(parts.length === 1 && first !== undefined ? first : Buffer.concat(parts, bytes))
  }

  /** Writes the last message; what comes later is dropped. */
  end(last?: Uint8Array): void {
    if (this.#isEnded) return
    if (last !== undefined) this.write(last)
    this.flush()
    this.#isEnded = true
    this.#socket.end()
    this.#onDrain()
  }

  readonly #flushLater = (): void => {
    this.#willFlush = false
    if (!this.#isHeld) this.flush()
  }

  readonly #onDrain = (): void => {
    const waiting = this.#drained
    this.#drained = undefined
    waiting?.resolve()
  }
}
