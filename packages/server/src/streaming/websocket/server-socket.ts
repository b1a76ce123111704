/** The server's side of one WebSocket (RFC 6455) on a TCP or TLS socket: frames in and out, closing, the send queue. */
import type { Socket } from 'node:net'
import { CLOSE_CODES } from 'gatehouse-protocol'
import { currentTurn } from '../../lib/turns.ts'
import { connectionTurns, mustWait } from './connection-turns.ts'
import { inflateMessage, inflateOnThread, type Windows } from './deflate.ts'
import { frameClose, framePing, framePong } from './frame.ts'
import { FrameError, FrameReader, type ReceivedFrame } from './frame-reader.ts'
import { type SendKind, SendQueue } from './send-queue.ts'

/** Takes what a socket receives. Any method may pause the socket or close it. */
export interface SocketHandler {
  /** The most bytes of a message, also after decompression. */
  readonly maxMessageBytes: number
  /** Whether a message over that limit waits, because the limit may rise. Then the handler has paused the socket until it knows. */
  waitsForLimit(): boolean
  /** A complete message, decompressed. `cost` is the number of bytes to count against limits. */
  onMessage(data: Buffer, isBinary: boolean, cost: number): void
  /** A frame that completes no message: a ping, which is then answered, a pong, or a fragment. */
  onFrame(kind: 'ping' | 'pong' | 'fragment'): void
  /** Something was read; `receivedBytes` may have changed. */
  onRead(): void
  /** Bytes of the send queue have been sent. */
  onDrain(): void
  /** The closing handshake has begun: the client closes, or broke the protocol and is closed with this code. */
  onClosing(code: number): void
  /** A fault of the server. */
  onFault(error: unknown): void
  /** The connection is closed; the code is that of the client, 1006 without one (§7.1.5). */
  onClosed(code: number): void
}

export interface SocketOptions {
  /** Undefined without compression. */
  readonly windows: Windows | undefined
}

/**
 * After this much work the other connections get their turn; otherwise Node would read two megabytes from one socket first.
 * A message counts as one and more by its length, since it is decompressed, parsed and answered at once.
 */
const MAX_WORK_PER_TURN = 8
const BYTES_PER_WORK = 4096
/** Decompression takes as long as copying several times the bytes, also when almost nothing comes out. */
const COMPRESSED_COST = 8
/** A longer message is decompressed on another thread. */
const MAX_SYNC_BYTES = 16 * 1024
/** Any other frame. */
const FRAME_WORK = 1 / 16
/** How much is read to find the client's answer to our close frame. */
const MAX_CLOSING_BYTES = 64 * 1024
/**
 * How much is read and dropped so that the system does not reset the connection before the client has our close frame: more than the
 * buffers of both systems hold of what was sent before it (Linux: 6 and 4 MiB).
 */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024
/** No code was received (§7.4.1). */
const NO_CLOSE_FRAME = 1006

type ReceivedMessage = Extract<ReceivedFrame, { kind: 'message' }>

type State =
  | 'open'
  /** Our close frame is sent; the client's is awaited. */
  | 'closing'
  /** Nothing further that the client sends is read. */
  | 'deaf'

export class ServerSocket {
  readonly #tcp: Socket
  readonly #sendQueue: SendQueue
  readonly #reader: FrameReader
  readonly #options: SocketOptions
  #handler: SocketHandler | undefined
  #state: State = 'open'
  #receivedCode = NO_CLOSE_FRAME
  #paused = false
  #isReading = false
  #willRead = false
  /** The bytes of a message that is being decompressed on another thread; those after it wait. */
  #inflatingBytes = 0
  /** The frame that is being taken, or a compressed message that waits for a higher limit. */
  #taken: ReceivedFrame | undefined
  #inputEnded = false
  /** The work done in this turn of the event loop. */
  #work = 0
  #turn = 0
  #closingBytes = 0

  constructor(tcp: Socket, options: SocketOptions) {
    this.#tcp = tcp
    this.#options = options
    this.#sendQueue = new SendQueue(tcp)
    this.#reader = new FrameReader({ allowsCompression: options.windows !== undefined })
  }

  /** Starts to read. `head` is what arrived together with the upgrade request. */
  open(handler: SocketHandler, head: Buffer): void {
    const tcp = this.#tcp
    this.#handler = handler
    this.#sendQueue.open(handler)
    if (tcp.timeout !== undefined && tcp.timeout > 0) tcp.setTimeout(0)
    tcp.setNoDelay()
    if (head.length > 0) tcp.unshift(head)
    tcp.on('data', (chunk: Buffer) => {
      try {
        this.#onData(chunk)
      } catch (error) {
        this.#onFault(error)
      }
    })
    tcp.on('end', () => {
      this.#inputEnded = true
      this.#guard(() => this.#endWhenRead())
    })
    tcp.on('error', destroy)
    tcp.on('close', () => this.#guard(() => this.#onTcpClosed()))
  }

  /** For everything that Node calls: a fault of the server ends only this connection. */
  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#onFault(error)
    }
  }

  #onFault(error: unknown): void {
    this.#handler?.onFault(error)
    this.#tcp.destroy()
  }

  get windows(): Windows | undefined {
    return this.#options.windows
  }

  get isOpen(): boolean {
    return this.#state === 'open' && this.#tcp.writable
  }

  get bytesRead(): number {
    return this.#tcp.bytesRead
  }

  /** The memory of what the client has not taken yet. */
  get queuedBytes(): number {
    return this.#sendQueue.bytes
  }

  /** Of these, what waits behind other frames and replies to the client. */
  get queuedReplyBytes(): number {
    return this.#sendQueue.replyBytes
  }

  /** The memory of what has arrived and has not been delivered yet. */
  get receivedBytes(): number {
    const waiting = this.#taken?.kind === 'message' ? this.#taken.data.length : 0
    const bytes = this.#reader.bytes + this.#inflatingBytes + waiting + this.#tcp.readableLength
    return bytes === 0 || this.#tcp.destroyed ? 0 : bytes
  }

  /**
   * Sends a frame after those before it; false if the connection is closing. `bytes` is the size to count for a frame that is
   * still being compressed.
   */
  send(frame: Buffer | Promise<Buffer>, bytes = 0, kind: SendKind = 'reply'): boolean {
    if (!this.isOpen) return false
    this.#sendQueue.write(frame, bytes, kind)
    return true
  }

  ping(): void {
    this.send(framePing())
  }

  pause(): void {
    if (this.#state !== 'open') return
    this.#paused = true
    this.#tcp.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#readSoon()
  }

  /**
   * Sends a close frame, after the queue or instead of it; the client must answer it. If the input is discarded, its
   * answer is not awaited.
   */
  close(code: number, reason: string, { discardsQueue = false, discardsInput = false } = {}): void {
    if (!this.isOpen) return
    if (discardsQueue) this.#sendQueue.discard()
    this.#sendQueue.write(frameClose(code, reason), 0)
    this.#state = 'closing'
    if (discardsInput) this.#endInput()
    else this.resume()
  }

  terminate(): void {
    this.#tcp.destroy()
  }

  #onData(chunk: Buffer): void {
    if (this.#state !== 'open') {
      this.#closingBytes += chunk.length
      // A client that continues to send does not wait for our close frame.
      if (this.#closingBytes > MAX_DROPPED_BYTES) this.#tcp.destroy()
      else if (this.#state === 'closing' && this.#closingBytes > MAX_CLOSING_BYTES) this.#endInput()
      if (this.#state !== 'closing') return
    }
    this.#reader.push(chunk)
    if (mustWait(chunk.length)) this.#readSoon()
    else this.#read()
  }

  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#countTurn()
    try {
      while (this.#mayRead) {
        if (this.#work >= MAX_WORK_PER_TURN) {
          this.#readSoon()
          break
        }
        this.#taken ??= this.#reader.next(this.#maxMessageBytes)
        if (this.#taken === undefined) break
        this.#take(this.#taken)
        this.#taken = undefined
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isReading = false
    }
    this.#handler?.onRead()
    this.#endWhenRead()
  }

  get #maxMessageBytes(): number {
    return this.#handler?.maxMessageBytes ?? 0
  }

  get #mayRead(): boolean {
    return !this.#paused && this.#inflatingBytes === 0 && this.#state !== 'deaf'
  }

  /** After the client's FIN: what it sent before is still read and answered, then the connection ends. */
  #endWhenRead(): void {
    if (!this.#inputEnded || !this.#mayRead || this.#willRead || this.#isReading) return
    this.#handler?.onClosing(NO_CLOSE_FRAME)
    this.#endInput()
  }

  #countTurn(): void {
    const turn = currentTurn()
    if (turn !== this.#turn) this.#work = 0
    this.#turn = turn
  }

  /** Not at once: the caller may be in the middle of handling a message. */
  #readSoon(): void {
    // Dropped data needs no turn, and a pause would never end.
    if (this.#willRead || this.#state === 'deaf') return
    this.#willRead = true
    this.#tcp.pause()
    connectionTurns.add(() => this.#takeTurn())
  }

  #takeTurn(): void {
    this.#willRead = false
    if (this.#paused || this.#inflatingBytes > 0) return
    this.#work = 0
    this.#turn = currentTurn()
    this.#guard(() => this.#read())
    if (this.#mayRead && !this.#willRead) this.#tcp.resume()
  }

  #take(frame: ReceivedFrame): void {
    const handler = this.#handler
    switch (frame.kind) {
      case 'message':
        if (this.#state === 'open') this.#takeMessage(frame)
        else this.#work += FRAME_WORK
        break
      case 'ping':
        this.#work += 1
        handler?.onFrame('ping')
        this.send(framePong(frame.data))
        break
      case 'pong':
      case 'fragment':
        this.#work += FRAME_WORK
        handler?.onFrame(frame.kind)
        break
      case 'close':
        this.#onCloseFrame(frame.code)
        break
    }
  }

  #takeMessage(frame: ReceivedMessage): void {
    const { data, isBinary, isCompressed } = frame
    if (!isCompressed) this.#deliver(data, isBinary, data.length)
    else if (data.length > MAX_SYNC_BYTES) void this.#inflate(frame)
    else {
      const message = inflateMessage(data, isBinary, this.windows?.client, this.#maxMessageBytes)
      this.#deliver(message, isBinary, Math.max(message.length, data.length * COMPRESSED_COST))
    }
  }

  #deliver(message: Buffer, isBinary: boolean, cost: number): void {
    this.#work += 1 + cost / BYTES_PER_WORK
    this.#handler?.onMessage(message, isBinary, cost)
  }

  async #inflate(frame: ReceivedMessage): Promise<void> {
    const { data, isBinary } = frame
    this.#inflatingBytes = data.length
    this.#tcp.pause()
    try {
      const message = await inflateOnThread(data, isBinary, this.windows?.client, this.#maxMessageBytes)
      this.#inflatingBytes = 0
      if (this.#state === 'open')
        this.#deliver(message, isBinary, Math.max(message.length, data.length * COMPRESSED_COST))
    } catch (error) {
      this.#inflatingBytes = 0
      this.#taken = frame
      if (this.#state !== 'deaf') this.#fail(error)
    }
    this.#readSoon()
  }

  /** The answer to a close has the same code (§5.5.1). Then the server closes the connection first (§7.1.1). */
  #onCloseFrame(code: number): void {
    this.#receivedCode = code
    if (this.#state === 'open') {
      this.#sendQueue.write(frameClose(code), 0)
      this.#handler?.onClosing(code)
    }
    this.#endInput()
  }

  #fail(error: unknown): void {
    const isTooBig = error instanceof FrameError && error.close === 'tooBig'
    if (isTooBig && this.isOpen && this.#handler?.waitsForLimit()) return
    const { close, message } =
      error instanceof FrameError ? error : new FrameError('internalError', 'the server failed')
    if (close === 'internalError') this.#handler?.onFault(error)
    if (this.isOpen) this.#sendQueue.write(frameClose(CLOSE_CODES[close].code, message), 0)
    this.#handler?.onClosing(CLOSE_CODES[close].code)
    this.#endInput()
  }

  /** Input is still taken from the network, and dropped: unread bytes would make the system reset the connection. */
  #endInput(): void {
    this.#state = 'deaf'
    this.#paused = false
    this.#reader.clear()
    this.#taken = undefined
    this.#tcp.resume()
    this.#sendQueue.end()
  }

  #onTcpClosed(): void {
    this.#state = 'deaf'
    this.#sendQueue.discard()
    this.#handler?.onClosed(this.#receivedCode)
  }
}

function destroy(this: Socket): void {
  this.destroy()
}
