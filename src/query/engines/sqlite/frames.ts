/** The pipe between the server and a reader process: jobs go in, chunks of a result come out, each in a frame with its length. */
import { readSync, writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'

export const FRAME = { job: 1, chunk: 2, done: 3, failed: 4 } as const
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

const HEADER_BYTES = 5

export interface Frame {
  readonly kind: number
  readonly payload: Buffer
}

/** The child's side blocks on purpose: a full pipe is how a slow client slows the reading down. */
export function writeFrameSync(descriptor: number, kind: FrameKind, payload: Uint8Array): void {
  writeAllSync(descriptor, header(kind, payload.byteLength))
  writeAllSync(descriptor, payload)
}

/** Undefined when the other side is gone. */
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

/** Reads frames only as fast as they are asked for, so that the pipe fills and the child waits. */
export class FrameReader {
  readonly #source: Readable
  #chunks: Buffer[] = []
  #length = 0
  #hasEnded = false
  #wake: () => void = () => {}

  constructor(source: Readable) {
    this.#source = source
    // One listener for good: adding it anew would be told at once of what is too little still.
    source.on('readable', () => this.#wake())
    for (const event of ['end', 'close', 'error']) {
      source.on(event, () => {
        this.#hasEnded = true
        this.#wake()
      })
    }
  }

  /** Undefined when the other side is gone. */
  async next(): Promise<Frame | undefined> {
    const head = await this.#take(HEADER_BYTES)
    if (head === undefined) return undefined
    const payload = await this.#take(head.readUInt32LE(1))
    return payload === undefined ? undefined : { kind: head.readUInt8(0), payload }
  }

  async #take(size: number): Promise<Buffer | undefined> {
    while (this.#length < size) {
      const chunk: unknown = this.#source.read()
      if (Buffer.isBuffer(chunk)) {
        this.#chunks.push(chunk)
        this.#length += chunk.byteLength
      } else if (this.#hasEnded) return undefined
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
    const whole =
      this.#chunks.length === 1 && this.#chunks[0] !== undefined ? this.#chunks[0] : Buffer.concat(this.#chunks)
    const rest = whole.subarray(size)
    this.#chunks = rest.byteLength === 0 ? [] : [rest]
    this.#length = rest.byteLength
    return whole.subarray(0, size)
  }
}

function header(kind: FrameKind, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  bytes.writeUInt8(kind, 0)
  bytes.writeUInt32LE(length, 1)
  return bytes
}

function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.byteLength; ) {
    try {
      offset += writeSync(descriptor, bytes, offset)
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EAGAIN') throw error
      // The pipe is full and does not block: look again in a moment.
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
