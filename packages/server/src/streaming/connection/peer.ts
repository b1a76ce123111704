/** One WebSocket and its connection: frames in and out, liveness checks and slow readers. */

import { CLOSE_CODES, type CloseName, type Message, type Moment } from 'gatehouse-protocol'
import type { GateEvent } from '../../events/bus.ts'
import { increment } from '../../lib/counts.ts'
import type { Codec } from '../codec/codec.ts'
import { MAX_CREATED_VALUES, weighValues } from '../codec/value-count.ts'
import type { SlowPolicy } from '../topics/controller.ts'
import type { Broadcast } from '../topics/hub.ts'
import { frameDeflated } from '../websocket/deflate.ts'
import { frameMessage } from '../websocket/frame.ts'
import type { SendKind } from '../websocket/send-queue.ts'
import type { ServerSocket, SocketHandler } from '../websocket/server-socket.ts'
import { Connection } from './connection.ts'
import { IdleTimer } from './idle-timer.ts'
import type { QueueLimit, QueueOwner, Queues } from './queue-bounds.ts'
import type { ConnectionEnv, ConnectionIdentity, Transport } from './types.ts'

export interface PeerOptions {
  readonly identity: ConnectionIdentity
  readonly codec: Codec
  readonly env: ConnectionEnv
  readonly queues: Queues
  readonly onClosed: (peer: Peer) => void
}

/** While more bytes of replies than this are queued, further requests wait. Pushed messages may fill the whole send queue. */
const MAX_BYTES_OF_REPLIES = 32 * 1024
/** How long a client may take to answer a close frame. */
const CLOSE_TIMEOUT = 5_000
/** A slow connection with more than this queued would not receive its close frame in time. */
const MAX_BYTES_BEFORE_CLOSE = 256 * 1024

/**
 * A client that reads slowly brings its connection into three states, by the bytes in its send queue (`limit` is `streamSendQueueBytes`):
 *
 * | state | begins above | ends at | meanwhile |
 * |---|---|---|---|
 * | `topicsMustWait` | limit / 2 | limit / 2; they are notified at limit / 4 | subscriptions that their topic runs send nothing |
 * | `#fullSince` | limit | limit / 2 | other topics keep their latest message, or close the connection (`SlowPolicy`) |
 * | `#requestsWaitSince` | limit, or 32 KiB of replies | not full, and 16 KiB of replies | no request is read or started |
 *
 * It is closed when it has been full, or has taken nothing while requests wait, for `streamIdleTimeout`.
 */
export class Peer implements Transport, SocketHandler, QueueOwner {
  readonly connection: Connection
  readonly codec: Codec
  readonly openedAt: number
  readonly #socket: ServerSocket
  readonly #env: ConnectionEnv
  readonly #queues: Queues
  readonly #onClosed: (peer: Peer) => void
  readonly #idle: IdleTimer
  #nextPingAt: number
  #reading = true
  /** Set while requests wait: when the client last took some bytes, or the wait began. */
  #requestsWaitSince: number | undefined
  #fullSince: number | undefined
  /** While full: the latest message of each topic that allows dropping. */
  #latest: Map<string, Broadcast> | undefined
  #hasWaitingTopics = false
  /** Whether something was queued, and received, when it was last counted. */
  #isQueued = false
  #isReceiving = false
  #closing: { readonly code: number; readonly since: number } | undefined

  constructor(socket: ServerSocket, options: PeerOptions) {
    const now = options.env.monotonic()
    this.connection = new Connection(options.identity, this, options.env)
    this.codec = options.codec
    this.openedAt = options.env.clock()
    this.#socket = socket
    this.#env = options.env
    this.#queues = options.queues
    this.#onClosed = options.onClosed
    this.#idle = new IdleTimer(socket, options.env.settings.streamIdleTimeout, now)
    this.#nextPingAt = now + options.env.settings.streamPingInterval
  }

  get queuedBytes(): number {
    return this.#socket.queuedBytes
  }

  /** The memory of an incomplete message and of unanswered requests. */
  get receivedBytes(): number {
    return this.#socket.receivedBytes + this.connection.pendingBytes
  }

  get address(): string {
    return this.connection.caller.identity.address
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  get maxMessageBytes(): number {
    return this.connection.maxMessageBytes
  }

  waitsForLimit(): boolean {
    return this.connection.waitsForSignIn()
  }

  onMessage(data: Buffer, isBinary: boolean, cost: number): void {
    const now = this.#env.monotonic()
    this.#idle.restart(now)
    if (this.#closing !== undefined) return
    if (isBinary !== this.codec.binary) {
      this.close('unsupportedData', `${isBinary ? 'binary' : 'text'} frames are not part of this sub-protocol`)
      return
    }
    const weight = weighValues(data, isBinary)
    if (weight === undefined) {
      this.close('tooBig', `more than ${MAX_CREATED_VALUES} texts, arrays, maps and binary values`)
      return
    }
    try {
      this.connection.receive(this.codec.decode(data), cost + weight, now)
    } catch (error) {
      this.connection.onFault(error)
    }
  }

  onFrame(kind: 'ping' | 'pong' | 'fragment'): void {
    this.#idle.restart(this.#env.monotonic())
    this.connection.countFrame(kind)
    // A pong follows, which fills the send queue of a client that does not read.
    if (kind === 'ping') this.#checkSendQueue()
  }

  onRead(): void {
    const isReceiving = this.receivedBytes > 0
    if (!isReceiving && !this.#isReceiving) return
    this.#isReceiving = isReceiving
    this.#queues.receive.update(this)
  }

  onEvent(event: GateEvent): void {
    try {
      this.connection.onEvent(event)
    } catch (error) {
      this.connection.onFault(error)
    }
  }

  tick(now: Moment): void {
    try {
      this.#checkDeadlines(now)
    } catch (error) {
      this.connection.onFault(error)
    }
  }

  #checkDeadlines(moment: Moment): void {
    const now = moment.monotonic
    if (this.#closing !== undefined) {
      if (now - this.#closing.since >= CLOSE_TIMEOUT) this.#socket.terminate()
      return
    }
    if (this.#isQueued) this.#countQueue()
    if (this.#isReceiving) this.onRead()
    if (this.connection.isDue(moment)) this.connection.tick(moment)
    const { streamIdleTimeout: idleTimeout, streamPingInterval: pingInterval } = this.#env.settings
    // While we do not read, the absence of frames says nothing about the client.
    if (!this.#reading) this.#idle.restart(now)
    else if (this.#idle.isOver(now)) this.close('policy', 'no frame for too long')
    this.#checkDrained()
    const slowSince = Math.min(this.#fullSince ?? now, this.#requestsWaitSince ?? now)
    if (now - slowSince >= idleTimeout) this.closeAsSlow()
    if (now < this.#nextPingAt || this.#closing !== undefined) return
    this.#nextPingAt = now + pingInterval
    this.#socket.ping()
  }

  send(message: Message): void {
    const payload = this.codec.encode(message)
    const { windows } = this.#socket
    if (windows === undefined) this.#sendFrame(frameMessage(payload), 0)
    else {
      const frame = frameDeflated(payload, windows.server, this.#env.settings.streamDeflateThreshold)
      this.#sendFrame(frame, payload.length)
    }
  }

  get topicsMustWait(): boolean {
    const mustWait = this.#socket.queuedBytes > this.#env.settings.streamSendQueueBytes / 2
    this.#hasWaitingTopics ||= mustWait
    return mustWait
  }

  sendBroadcast(broadcast: Broadcast, slow: SlowPolicy | 'queue'): void {
    if (this.#fullSince === undefined || slow === 'queue') {
      const frame = broadcast.frame(this.codec, this.#socket.windows?.server, this.#env.settings.streamDeflateThreshold)
      this.#sendFrame(frame, broadcast.payload(this.codec).length, 'push')
    } else if (slow === 'close') this.closeAsSlow()
    else {
      // Encoded now, so that data that cannot be encoded throws at its publisher and not when the queue drains.
      broadcast.payload(this.codec)
      this.#latest ??= new Map()
      if (this.#latest.has(broadcast.key)) this.#env.counters.messagesCoalesced++
      this.#latest.set(broadcast.key, broadcast)
    }
  }

  setReading(reading: boolean): void {
    this.#reading = reading
    if (reading) this.#socket.resume()
    else this.#socket.pause()
  }

  close(name: CloseName, reason: string): void {
    this.#close(name, reason)
  }

  terminate(): void {
    this.#socket.terminate()
  }

  /** Discards the queue, to free memory and to send the close frame. `limit` says which one was exceeded, by default the connection's own. */
  closeAsSlow(limit: QueueLimit | 'connection' = 'connection'): void {
    if (this.#closing === undefined) increment(this.#env.counters.slowCloses, limit)
    const isShared = limit !== 'connection'
    const reason = isShared ? `reads too slowly: the send queues of this ${limit} are full` : 'reads too slowly'
    this.#close('overload', reason, { discardsQueue: true })
    if (isShared && this.#socket.queuedBytes > MAX_BYTES_BEFORE_CLOSE) this.#socket.terminate()
  }

  closeAsFlooding(limit: QueueLimit): void {
    if (this.#closing === undefined) increment(this.#env.counters.floodCloses, limit)
    this.#close('overload', `the receive queues of this ${limit} are full`, { discardsInput: true })
  }

  #close(name: CloseName, reason: string, discards: { discardsQueue?: true; discardsInput?: true } = {}): void {
    if (this.#closing !== undefined) return
    this.#closing = { code: CLOSE_CODES[name].code, since: this.#env.monotonic() }
    this.connection.onClosed()
    this.#latest = undefined
    this.#socket.close(this.#closing.code, reason, discards)
  }

  #sendFrame(frame: Buffer | Promise<Buffer>, bytes: number, kind: SendKind = 'reply'): void {
    if (!this.#socket.send(frame, bytes, kind)) return
    this.#env.counters.messagesOut++
    this.#checkSendQueue()
  }

  #checkSendQueue(): void {
    const { queuedBytes } = this.#socket
    if (queuedBytes > 0) this.#countQueue()
    const isFull = queuedBytes > this.#env.settings.streamSendQueueBytes
    if ((!isFull && this.#socket.queuedReplyBytes <= MAX_BYTES_OF_REPLIES) || this.#closing !== undefined) return
    if (isFull) this.#fullSince ??= this.#env.monotonic()
    if (this.#requestsWaitSince !== undefined) return
    this.#requestsWaitSince = this.#env.monotonic()
    this.connection.setRequestsPaused(true)
  }

  #countQueue(): void {
    this.#isQueued = this.#socket.queuedBytes > 0
    this.#queues.send.update(this)
  }

  onDrain(): void {
    if (this.#requestsWaitSince !== undefined) this.#requestsWaitSince = this.#env.monotonic()
    try {
      this.#countQueue()
      this.#checkDrained()
      this.#wakeTopics()
    } catch (error) {
      this.connection.onFault(error)
    }
  }

  #wakeTopics(): void {
    if (!this.#hasWaitingTopics || this.#closing !== undefined) return
    if (this.#socket.queuedBytes > this.#env.settings.streamSendQueueBytes / 4) return
    this.#hasWaitingTopics = false
    this.connection.subscriptions.onDrained()
  }

  #checkDrained(): void {
    if (this.#requestsWaitSince === undefined || this.#closing !== undefined) return
    if (this.#fullSince !== undefined) {
      if (this.#socket.queuedBytes > this.#env.settings.streamSendQueueBytes / 2) return
      this.#fullSince = undefined
      const latest = this.#latest
      this.#latest = undefined
      for (const broadcast of latest?.values() ?? [])
        this.connection.subscriptions.deliver(broadcast, this.#env.clock())
    }
    if (this.#fullSince !== undefined || this.#socket.queuedReplyBytes > MAX_BYTES_OF_REPLIES / 2) return
    this.#requestsWaitSince = undefined
    this.connection.setRequestsPaused(false)
  }

  /** The client closes, or it violated the protocol and is closed with this code. */
  onClosing(code: number): void {
    this.#closing ??= { code, since: this.#env.monotonic() }
    this.connection.onClosed()
  }

  onFault(error: unknown): void {
    this.#env.onFault(error, this.connection.caller.connectionId)
  }

  onClosed(receivedCode: number): void {
    this.connection.onClosed()
    this.#closing ??= { code: receivedCode, since: this.#env.monotonic() }
    if (this.#isQueued) this.#countQueue()
    this.onRead()
    const { code } = this.#closing
    increment(this.#env.counters.closes, COUNTED_CLOSES.has(code) ? code : 'other')
    this.#onClosed(this)
  }
}

/** Our codes, and the two for a close without a code (RFC 6455 §7.4.1). Clients may send thousands of others. */
const COUNTED_CLOSES: ReadonlySet<number> = new Set([...Object.values(CLOSE_CODES).map(({ code }) => code), 1005, 1006])
