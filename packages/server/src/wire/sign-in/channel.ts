/** The messages of a sign-in: one is asked for at a time. */
import type { Socket } from 'node:net'
import type { MessageReader } from '../protocol/reader.ts'

/** The client left, or the time for the sign-in is over. */
export class ConnectionGone extends Error {}

export class SignInChannel {
  readonly #socket: Socket
  readonly #reader: MessageReader
  #waiting: PromiseWithResolvers<Buffer> | undefined

  /** `rest` has arrived already. */
  constructor(socket: Socket, reader: MessageReader, rest: Buffer) {
    this.#socket = socket
    this.#reader = reader
    if (rest.length > 0) reader.add(rest)
    socket.on('close', this.#onClose)
  }

  /** Sends the question, and waits for the body of the password message. */
  ask(question: Uint8Array): Promise<Buffer> {
    if (this.#socket.destroyed) return Promise.reject(new ConnectionGone())
    this.#socket.write(question)
    this.#waiting = Promise.withResolvers()
    const { promise } = this.#waiting
    this.#socket.on('data', this.#onData)
    this.#socket.resume()
    this.#read()
    return promise
  }

  /** The connection is passed on; nothing of it is read here any more. */
  release(): void {
    this.#socket.off('close', this.#onClose)
    this.#stopReading()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#reader.add(chunk)
    this.#read()
  }

  #read(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    try {
      const body = this.#reader.nextPassword()
      if (body === undefined) return
      this.#waiting = undefined
      this.#stopReading()
      waiting.resolve(body)
    } catch (error) {
      this.#waiting = undefined
      this.#stopReading()
      waiting.reject(error)
    }
  }

  #stopReading(): void {
    this.#socket.off('data', this.#onData)
    this.#socket.pause()
  }

  readonly #onClose = (): void => {
    this.#waiting?.reject(new ConnectionGone())
    this.#waiting = undefined
  }
}
