/**
 * The echo endpoint: returns every message, for conformance suites of the WebSocket protocol. Its connections have the
 * limits of the gateway, but no rate: the suites send as fast as they can.
 */
import type { Socket } from 'node:net'
import { CLOSE_CODES, type MonotonicClock } from 'gatehouse-protocol'
import { IdleTimer } from '../connection/idle-timer.ts'
import type { QueueLimit, QueueOwner, Queues } from '../connection/queue-bounds.ts'
import { increment, type StreamCounters } from '../metrics.ts'
import type { StreamSettings } from '../settings.ts'
import { frameDeflated, type Windows } from '../websocket/deflate.ts'
import { frameMessage } from '../websocket/frame.ts'
import { ServerSocket, type SocketHandler } from '../websocket/server-socket.ts'

const CLOSE_TIMEOUT = 5_000

interface EchoOptions {
  readonly settings: StreamSettings
  readonly monotonic: MonotonicClock
  readonly queues: Queues
  readonly counters: StreamCounters
}

export class Echo {
  readonly #options: EchoOptions
  readonly #peers = new Set<EchoPeer>()

  constructor(options: EchoOptions) {
    this.#options = options
  }

  open(tcp: Socket, head: Buffer, windows: Windows | undefined, address: string): void {
    const maxMessageBytes = this.#options.settings.streamMaxMessageBytes
    const socket = new ServerSocket(tcp, { maxMessageBytes, windows })
    const peer = new EchoPeer(socket, address, this.#options, () => this.#peers.delete(peer))
    this.#peers.add(peer)
    socket.open(peer, head)
  }

  tick(now: number): void {
    for (const peer of this.#peers) peer.tick(now)
  }

  stop(): void {
    for (const peer of this.#peers) peer.terminate()
  }
}

class EchoPeer implements SocketHandler, QueueOwner {
  readonly address: string
  readonly #socket: ServerSocket
  readonly #options: EchoOptions
  readonly #onClosed: () => void
  readonly #idle: IdleTimer
  /** The client is not read, because it does not read what is queued for it. */
  #congestedSince: number | undefined
  #closingSince: number | undefined

  constructor(socket: ServerSocket, address: string, options: EchoOptions, onClosed: () => void) {
    this.address = address
    this.#socket = socket
    this.#options = options
    this.#onClosed = onClosed
    this.#idle = new IdleTimer(socket, options.settings.streamIdleTimeout, options.monotonic())
  }

  get isClosing(): boolean {
    return this.#closingSince !== undefined
  }

  get queuedBytes(): number {
    return this.#socket.queuedBytes
  }

  get receivedBytes(): number {
    return this.#socket.receivedBytes
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    this.#idle.restart(this.#options.monotonic())
    const { windows } = this.#socket
    const payload = isBinary ? data : data.toString()
    const threshold = this.#options.settings.streamDeflateThreshold
    const frame = windows === undefined ? frameMessage(payload) : frameDeflated(payload, windows.server, threshold)
    this.#socket.send(frame, data.length)
    this.#checkQueue()
  }

  onFrame(): void {
    this.#idle.restart(this.#options.monotonic())
    this.#checkQueue()
  }

  onRead(): void {
    this.#options.queues.receive.update(this)
  }

  onDrain(): void {
    this.#checkQueue()
  }

  #checkQueue(): void {
    const { settings, monotonic, queues } = this.#options
    queues.send.update(this)
    if (this.isClosing) return
    const { queuedBytes } = this.#socket
    if (queuedBytes > settings.streamSendQueueBytes) {
      this.#congestedSince ??= monotonic()
      this.#socket.pause()
    } else if (this.#congestedSince !== undefined && queuedBytes <= settings.streamSendQueueBytes / 2) {
      this.#congestedSince = undefined
      this.#idle.restart(monotonic())
      this.#socket.resume()
    }
  }

  tick(now: number): void {
    if (this.#closingSince !== undefined) {
      if (now - this.#closingSince >= CLOSE_TIMEOUT) this.terminate()
      return
    }
    this.#checkQueue()
    if (this.#congestedSince === undefined) {
      if (this.#idle.isOver(now)) this.#close('policy', 'no frame for too long')
    } else if (now - this.#congestedSince >= this.#options.settings.streamIdleTimeout) this.#closeAsSlow()
  }

  closeAsSlow(limit: QueueLimit): void {
    increment(this.#options.counters.slowCloses, limit)
    this.#close('overload', `reads too slowly: the send queues of this ${limit} are full`)
  }

  closeAsFlooding(limit: QueueLimit): void {
    increment(this.#options.counters.floodCloses, limit)
    this.#close('overload', `the receive queues of this ${limit} are full`)
  }

  #closeAsSlow(): void {
    increment(this.#options.counters.slowCloses, 'connection')
    this.#close('overload', 'reads too slowly')
  }

  #close(name: 'policy' | 'overload', reason: string): void {
    this.onClosing()
    this.#socket.close(CLOSE_CODES[name].code, reason, { discardsQueue: true, discardsInput: true })
  }

  onClosing(): void {
    this.#closingSince ??= this.#options.monotonic()
  }

  onFault(): void {
    this.terminate()
  }

  onClosed(): void {
    this.onClosing()
    this.onRead()
    this.#options.queues.send.update(this)
    this.#onClosed()
  }

  terminate(): void {
    this.#socket.terminate()
  }
}
