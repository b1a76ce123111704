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
export async function readFrame(source: Readable): Promise<Frame | undefined> {
  const head = await readBytes(source, HEADER_BYTES)
  if (head === undefined) return undefined
  const payload = await readBytes(source, head.readUInt32LE(1))
  return payload === undefined ? undefined : { kind: head.readUInt8(0), payload }
}

async function readBytes(source: Readable, size: number): Promise<Buffer | undefined> {
  if (size === 0) return Buffer.alloc(0)
  for (;;) {
    const bytes: unknown = source.read(size)
    if (Buffer.isBuffer(bytes)) return bytes.byteLength === size ? bytes : undefined
    if (source.readableEnded || source.destroyed) return undefined
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        source.off('readable', wake).off('end', wake).off('close', wake).off('error', wake)
        resolve()
      }
      source.on('readable', wake).on('end', wake).on('close', wake).on('error', wake)
    })
  }
}

function header(kind: FrameKind, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  bytes.writeUInt8(kind, 0)
  bytes.writeUInt32LE(length, 1)
  return bytes
}

function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.byteLength; ) offset += writeSync(descriptor, bytes, offset)
}

function readExactly(descriptor: number, size: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(size)
  for (let offset = 0; offset < size; ) {
    const count = readSync(descriptor, bytes, offset, size - offset, null)
    if (count === 0) return undefined
    offset += count
  }
  return bytes
}
