/** The pipes between the server and a query process: jobs in, chunks of results out, each in a frame with its length. */
import { readSync, writeSync, writevSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import { release } from '../lib/release.ts'

/**
 * A process is ready once it has started; then it replies to jobs. A write is prepared when its rows are written and its reply is sent:
 * the process commits only when the server sends `commit`.
 */
export const FRAME = { job: 1, chunk: 2, done: 3, failed: 4, ready: 5, prepared: 6, commit: 7 } as const
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

const HEADER_BYTES = 5
/** Of a longer frame, no more than this is held twice. */
const MAX_AWAITED_BYTES = 256 * 1024

export interface Frame {
  readonly kind: number
  readonly payload: Buffer
}

/** Blocks on purpose: a full pipe makes the process read no faster than the client does. */
export function writeFrameSync(descriptor: number, kind: FrameKind, payload: Uint8Array): void {
  // In one call: otherwise the server would wake for the header, and again for the payload.
  const head = header(kind, payload.byteLength)
  const written = retrying(() => writevSync(descriptor, [head, payload]))
  writeAllSync(descriptor, head.subarray(written))
  writeAllSync(descriptor, payload.subarray(Math.max(0, written - head.byteLength)))
}

/** Undefined when the other side has closed the pipe. */
export function readFrameSync(descriptor: number): Frame | undefined {
  const head = readExactly(descriptor, HEADER_BYTES)
  if (head === undefined) return undefined
  const payload = readExactly(descriptor, head.readUInt32LE(1))
  return payload === undefined ? undefined : { kind: head.readUInt8(0), payload }
}

export function encodeFrame(kind: FrameKind, value: unknown): Buffer {
  const payload = serialize(value)
  return Buffer.concat([header(kind, payload.byteLength), payload])
}

export function decodePayload(payload: Buffer): unknown {
  return deserialize(payload)
}

/** Reads a frame only when it is wanted, so that otherwise the pipe fills and the process waits. */
export class PipeReader {
  readonly #source: Readable
  /** Data not yet consumed. */
  readonly #pieces: Buffer[] = []
  /** Bytes of the first piece that are consumed. */
  #taken = 0
  /** Bytes that must arrive before they are consumed. */
  #awaited = 0
  #hasEnded = false
  #wake: () => void = () => {}

  constructor(source: Readable) {
    this.#source = source.pause()
    // Not read(), which would copy the pieces into one.
    source.on('data', (piece: Buffer) => {
      this.#pieces.push(piece)
      this.#awaited -= piece.byteLength
      if (this.#awaited > 0) return
      source.pause()
      this.#wake()
    })
    for (const event of ['end', 'close', 'error']) {
      source.on(event, () => {
        this.#hasEnded = true
        this.#wake()
      })
    }
  }

  /** Undefined when the other side has closed the pipe. */
  async next(): Promise<Frame | undefined> {
    const head = await this.#take(HEADER_BYTES)
    if (head === undefined) return undefined
    const payload = await this.#take(head.readUInt32LE(1))
    return payload === undefined ? undefined : { kind: head.readUInt8(0), payload }
  }

  async #take(size: number): Promise<Buffer | undefined> {
    const whole = Buffer.allocUnsafe(size)
    for (let length = 0; length < size; ) {
      const piece = this.#pieces[0] ?? (await this.#more(size - length))
      if (piece === undefined) return undefined
      const count = piece.copy(whole, length, this.#taken)
      length += count
      this.#taken += count
      if (this.#taken < piece.byteLength) continue
      this.#pieces.shift()
      this.#taken = 0
      release(piece)
    }
    return whole
  }

  /** Waits for many pieces at a time: to pause the pipe and to wake for each of them would take longer than to copy it. */
  async #more(size: number): Promise<Buffer | undefined> {
    this.#awaited = Math.min(size, MAX_AWAITED_BYTES)
    while (this.#pieces.length === 0 && !this.#hasEnded) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#source.resume()
      await woken
    }
    return this.#pieces[0]
  }
}

function header(kind: FrameKind, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  bytes.writeUInt8(kind, 0)
  bytes.writeUInt32LE(length, 1)
  return bytes
}

function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.byteLength; ) offset += retrying(() => writeSync(descriptor, bytes, offset))
}

function retrying(write: () => number): number {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EAGAIN') throw error
      // The pipe is full and non-blocking: try again shortly.
      Atomics.wait(NEVER_WOKEN, 0, 0, 2)
    }
  }
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4))

function readExactly(descriptor: number, size: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(size)
  for (let offset = 0; offset < size; ) {
    const count = readSync(descriptor, bytes, offset, size - offset, null)
    if (count === 0) return undefined
    offset += count
  }
  return bytes
}
