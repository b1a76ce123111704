/**
 * The frames that one socket sends, in order. What the system does not take at once, or follows a frame that is still
 * being compressed, waits here and not in Node's own buffer, so that all of its memory is counted.
 */
import type { Socket } from 'node:net'
import { ownBytes } from '../../lib/own-bytes.ts'

/** Whether the client caused the frame itself, or others did. */
export type SendKind = 'reply' | 'push'

interface QueuedFrame {
  frame: Buffer | Promise<Buffer>
  readonly kind: SendKind
  /** The memory that it takes. */
  readonly bytes: number
}

export interface SendQueueHandler {
  /** Some of what waited has been sent. */
  onDrain(): void
  /** A frame could not be compressed, or the handler failed; the socket is destroyed. */
  onFault(error: unknown): void
}

/** The objects that hold a waiting frame: for a pong they are larger than its bytes. */
const FRAME_OVERHEAD = 160
/** Frames that waited are sent together up to this size, so that short ones do not need a system call each. */
const BATCH_BYTES = 64 * 1024

export class SendQueue {
  readonly #tcp: Socket
  #handler: SendQueueHandler | undefined
  #frames: QueuedFrame[] | undefined
  #bytes = 0
  /** How many of these bytes are replies. */
  replyBytes = 0
  /** Node has a batch that it could not write at once; the next is given to it when that one is sent. */
  #isWaiting = false
  #endsWhenEmpty = false

  constructor(tcp: Socket) {
    this.#tcp = tcp
  }

  open(handler: SendQueueHandler): void {
    this.#handler = handler
    this.#tcp.on('drain', () => this.#guard(() => handler.onDrain()))
  }

  /** The memory of what the client has not taken yet. */
  get bytes(): number {
    return this.#tcp.destroyed ? 0 : this.#tcp.writableLength + this.#bytes
  }

  /** `bytes` is the size to count for a frame that is still being compressed. */
  write(frame: Buffer | Promise<Buffer>, bytes: number, kind: SendKind = 'reply'): void {
    if (this.#frames === undefined && !(frame instanceof Promise) && this.#tcp.writableLength === 0) {
      this.#tcp.write(frame)
      return
    }
    const kept = frame instanceof Promise ? frame : ownBytes(frame)
    const queued = { frame: kept, kind, bytes: FRAME_OVERHEAD + (kept instanceof Promise ? bytes : kept.length) }
    this.#frames ??= []
    this.#frames.push(queued)
    this.#count(queued, 1)
    if (frame instanceof Promise) this.#resolve(queued, frame)
    else this.#flush()
  }

  discard(): void {
    this.#frames = undefined
    this.#bytes = 0
    this.replyBytes = 0
  }

  #count({ kind, bytes }: QueuedFrame, sign: 1 | -1): void {
    this.#bytes += sign * bytes
    if (kind === 'reply') this.replyBytes += sign * bytes
  }

  /** Ends the connection after the last frame. */
  end(): void {
    if (this.#frames === undefined) this.#tcp.end()
    else this.#endsWhenEmpty = true
  }

  async #resolve(queued: QueuedFrame, compression: Promise<Buffer>): Promise<void> {
    try {
      queued.frame = await compression
      if (this.#frames?.[0] !== queued) return
      this.#flush()
      this.#handler?.onDrain()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** For callbacks of Node: a fault of the server ends only this connection. */
  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#handler?.onFault(error)
    this.#tcp.destroy()
  }

  #flush(): void {
    while (this.#frames !== undefined && !this.#isWaiting) {
      const batch = this.#takeBatch(this.#frames)
      if (batch === undefined) return
      if (this.#frames.length === 0) this.#frames = undefined
      if (this.#tcp.writableLength === 0) this.#tcp.write(batch)
      else {
        this.#isWaiting = true
        this.#tcp.write(batch, () => this.#guard(() => this.#onWritten()))
      }
    }
    if (this.#frames === undefined && this.#endsWhenEmpty) this.#tcp.end()
  }

  #onWritten(): void {
    this.#isWaiting = false
    if (this.#tcp.destroyed) return
    this.#flush()
    this.#handler?.onDrain()
  }

  /** The frames at the head of the queue as one buffer; undefined if the first is still being compressed. */
  #takeBatch(frames: QueuedFrame[]): Buffer | undefined {
    const batch: Buffer[] = []
    let length = 0
    for (const queued of frames) {
      const { frame } = queued
      if (frame instanceof Promise || (length > 0 && length + frame.length > BATCH_BYTES)) break
      batch.push(frame)
      length += frame.length
      this.#count(queued, -1)
    }
    frames.splice(0, batch.length)
    return batch.length > 1 ? Buffer.concat(batch, length) : batch[0]
  }
}
