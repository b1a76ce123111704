/** One socket and its connection: frames in and out, liveness, and what happens when the client reads too slowly. */
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { GateEvent } from '../events/bus.ts'
import { CLOSE_CODES, type CloseName } from '../protocol/close-codes.ts'
import type { Message } from '../protocol/envelope.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Codec } from './codec.ts'
import { Connection } from './connection.ts'
import { increment } from './counters.ts'
import { frameMessage } from './frame.ts'
import type { Broadcast } from './hub.ts'
import { PeerSocket } from './sockets.ts'
import type { ConnectionEnv, Identity, Outlet } from './surroundings.ts'

export interface PeerOptions {
  readonly identity: Identity
  readonly codec: Codec
  readonly env: ConnectionEnv
  readonly onGone: (peer: Peer) => void
}

/** How long a client may take to answer a close. */
const CLOSE_TIMEOUT = 5_000

export class Peer implements Outlet {
  readonly connection: Connection
  readonly codec: Codec
  readonly openedAt: number
  readonly #socket: PeerSocket
  readonly #wire: Socket
  readonly #env: ConnectionEnv
  readonly #onGone: (peer: Peer) => void
  /** With compression the socket layer keeps messages in order while it works; without it we may write frames ourselves. */
  readonly #compresses: boolean
  #lastHeard: number
  /** The silence that is being watched, by its beginning, and what had been read when that began. */
  #suspectedAfter = 0
  #bytesThen = 0
  #pingAt: number
  #listening = true
  /** For a reader that is behind: since when, and the newest message of each topic that tolerates it. */
  #congestedSince: number | undefined
  #newest: Map<string, Broadcast> | undefined
  #awaitsDrain = false
  #closing: { readonly code: number; readonly since: number } | undefined

  constructor(socket: PeerSocket, wire: Socket, options: PeerOptions) {
    const now = options.env.clock()
    this.connection = new Connection(options.identity, this, options.env)
    this.codec = options.codec
    this.openedAt = now
    this.#socket = socket
    this.#wire = wire
    this.#env = options.env
    this.#onGone = options.onGone
    this.#compresses = socket.extensions !== ''
    this.#lastHeard = now
    this.#pingAt = now + options.env.settings.streamPingInterval
    socket.peer = this
    socket.on('message', onMessage)
    socket.on('ping', onPing)
    socket.on('pong', onLife)
    socket.on('error', onError)
    socket.on('close', onClose)
  }

  begin(principal: Principal, accessToken: string): void {
    this.connection.begin(principal, accessToken)
  }

  feel(event: GateEvent): void {
    try {
      this.connection.feel(event)
    } catch (error) {
      this.#fail(error)
    }
  }

  get queuedBytes(): number {
    return this.#socket.bufferedAmount
  }

  tick(now: number): void {
    try {
      this.#watch(now)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** A fault of ours ends one connection: the others must feel the same event, and the node must live. */
  #fail(error: unknown): void {
    this.#env.onFault(error, this.connection.connectionId)
    this.close('internalError', 'the server failed')
  }

  #watch(now: number): void {
    if (this.#closing !== undefined) {
      if (now - this.#closing.since >= CLOSE_TIMEOUT) this.#socket.terminate()
      return
    }
    if (this.connection.due() <= now) this.connection.tick(now)
    const { streamIdleTimeout: idleTimeout, streamPingInterval: pingInterval } = this.#env.settings
    // Frames that are left unread say nothing about silence.
    if (!this.#listening) this.#lastHeard = now
    else if (now - this.#lastHeard >= idleTimeout / 2) this.#suspect(now, idleTimeout)
    if (this.#congestedSince !== undefined) {
      if (this.#socket.bufferedAmount <= this.#env.settings.streamSendQueueBytes / 2) this.#ease()
      else if (now - this.#congestedSince >= idleTimeout) this.close('overload', 'reads too slowly')
    }
    if (now < this.#pingAt || this.#closing !== undefined) return
    this.#pingAt = now + pingInterval
    this.#socket.ping()
  }

  /** Frames of an unfinished message are frames too, though nothing announces them: they show as bytes. */
  #suspect(now: number, idleTimeout: number): void {
    const { bytesRead } = this.#wire
    if (this.#suspectedAfter === this.#lastHeard && bytesRead !== this.#bytesThen) this.#lastHeard = now
    if (this.#suspectedAfter !== this.#lastHeard) {
      this.#suspectedAfter = this.#lastHeard
      this.#bytesThen = bytesRead
    }
    if (now - this.#lastHeard >= idleTimeout) this.close('policy', 'no frame for too long')
  }

  // Outlet: what the connection asks of its socket.

  send(message: Message): void {
    const payload = this.codec.encode(message)
    if (this.#compresses) this.#sendPayload(payload)
    else this.#writeFrame(frameMessage(payload))
  }

  deliver(broadcast: Broadcast, slow: 'latest' | 'close'): void {
    if (this.#congestedSince === undefined) {
      if (this.#compresses) this.#sendPayload(broadcast.payload(this.codec))
      else this.#writeFrame(broadcast.frame(this.codec))
    } else if (slow === 'close') this.close('overload', 'reads too slowly')
    else {
      // Written now: that it cannot be written is its publisher's to hear, not for whoever drains the queue.
      broadcast.payload(this.codec)
      this.#newest ??= new Map()
      if (this.#newest.has(broadcast.key)) this.#env.counters.messagesCoalesced++
      this.#newest.set(broadcast.key, broadcast)
    }
  }

  listen(listening: boolean): void {
    this.#listening = listening
    if (listening) this.#socket.resume()
    else this.#socket.pause()
  }

  close(name: CloseName, reason: string): void {
    if (this.#closing !== undefined) return
    this.#closing = { code: CLOSE_CODES[name].code, since: this.#env.clock() }
    this.connection.closed()
    this.#newest = undefined
    this.#socket.close(this.#closing.code, reason)
    // The answer to the close must be read.
    this.#socket.resume()
  }

  #sendPayload(payload: string | Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#socket.send(payload, this.codec.binary ? BINARY : TEXT)
    this.#sent()
  }

  /** One write for a whole frame costs less than the two of the socket layer, which writes nothing later than at once here. */
  #writeFrame(frame: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#wire.write(frame)
    this.#sent()
  }

  #sent(): void {
    this.#env.counters.messagesOut++
    this.#boundQueue()
  }

  #boundQueue(): void {
    if (this.#congestedSince === undefined && this.#socket.bufferedAmount > this.#env.settings.streamSendQueueBytes)
      this.#congest()
  }

  #congest(): void {
    this.#congestedSince = this.#env.clock()
    this.connection.congest(true)
    // The queue may have eased without ever being empty: then the listener of last time still waits.
    if (!this.#awaitsDrain) this.#wire.once('drain', () => this.#drained())
    this.#awaitsDrain = true
  }

  #drained(): void {
    this.#awaitsDrain = false
    this.#ease()
  }

  #ease(): void {
    if (this.#congestedSince === undefined || this.#closing !== undefined) return
    this.#congestedSince = undefined
    const newest = this.#newest
    this.#newest = undefined
    for (const broadcast of newest?.values() ?? []) this.connection.take(broadcast, this.#env.clock())
    if (this.#congestedSince === undefined) this.connection.congest(false)
  }

  hear(data: RawData, isBinary: boolean): void {
    this.#lastHeard = this.#env.clock()
    if (this.#closing !== undefined || !Buffer.isBuffer(data)) return
    if (isBinary !== this.codec.binary) {
      this.close('unsupportedData', `${isBinary ? 'binary' : 'text'} frames are not part of this sub-protocol`)
      return
    }
    try {
      this.connection.receive(this.codec.decode(data), data.length)
    } catch (error) {
      this.#fail(error)
    }
  }

  isAlive(): void {
    this.#lastHeard = this.#env.clock()
  }

  /** The socket has answered a ping: a client that reads no pongs fills the queue with them as with any message. */
  ponged(): void {
    this.isAlive()
    if (this.#closing === undefined) this.#boundQueue()
  }

  /** The client broke the framing; the socket closes itself with the code that RFC 6455 gives. */
  breakDown(error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? FRAME_ERRORS[error.code] : undefined
    this.#closing ??= { code: code ?? CLOSE_CODES.protocolError.code, since: this.#env.clock() }
    this.connection.closed()
  }

  /** Ends the socket without a word: the time for words is over. */
  cut(): void {
    this.#socket.terminate()
  }

  gone(code: number): void {
    this.connection.closed()
    const seen = this.#closing?.code ?? code
    increment(this.#env.counters.closes, COUNTED_CLOSES.has(seen) ? seen : 'other')
    this.#onGone(this)
  }
}

const TEXT = { binary: false }
const BINARY = { binary: true }

/** Ours, and the two by which RFC 6455 §7.4.1 names a close without a code; clients may make up thousands of others. */
const COUNTED_CLOSES: ReadonlySet<number> = new Set([...Object.values(CLOSE_CODES).map(({ code }) => code), 1005, 1006])

const FRAME_ERRORS: Readonly<Record<string, number>> = {
  WS_ERR_INVALID_UTF8: CLOSE_CODES.invalidData.code,
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: CLOSE_CODES.tooBig.code,
  WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH: CLOSE_CODES.tooBig.code,
  WS_ERR_TOO_MANY_BUFFERED_PARTS: CLOSE_CODES.policy.code,
  Z_DATA_ERROR: CLOSE_CODES.invalidData.code,
}

// One set of listeners for all sockets: an idle connection holds no closures.

function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
  peerOf(this)?.hear(data, isBinary)
}

function onPing(this: WebSocket): void {
  peerOf(this)?.ponged()
}

function onLife(this: WebSocket): void {
  peerOf(this)?.isAlive()
}

function onError(this: WebSocket, error: Error): void {
  peerOf(this)?.breakDown(error)
}

function onClose(this: WebSocket, code: number): void {
  peerOf(this)?.gone(code)
}

function peerOf(socket: WebSocket): Peer | undefined {
  return socket instanceof PeerSocket ? socket.peer : undefined
}
