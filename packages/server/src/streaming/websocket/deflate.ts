/**
 * Compression of messages (RFC 7692), always without context takeover: a message is compressed and decompressed by
 * itself, so that a connection keeps no state between messages and all connections can share a compressed message.
 */
import { promisify } from 'node:util'
import { constants, deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { ownBytes } from '../../lib/own-bytes.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { frameCompressed, frameMessage } from './frame.ts'
import { checkText, FrameError } from './frame-reader.ts'

/** The window sizes that were agreed, as powers of two. */
export interface Windows {
  readonly server: number
  /** Undefined if the client did not offer to limit its window (§7.1.2.2). */
  readonly client: number | undefined
}

/** The first acceptable offer, undefined if there is none; an offer with invalid parameters is declined (§7). */
export function agreeOnWindows(offers: readonly ExtensionOffer[], maxBits: number): Windows | undefined {
  for (const { name, parameters } of offers) {
    const windows = name === 'permessage-deflate' ? readOffer(parameters, maxBits) : undefined
    if (windows !== undefined) return windows
  }
  return undefined
}

export interface ExtensionOffer {
  readonly name: string
  /** A parameter without a value has the value undefined. */
  readonly parameters: readonly (readonly [name: string, value: string | undefined])[]
}

function readOffer(parameters: ExtensionOffer['parameters'], maxBits: number): Windows | undefined {
  let server = maxBits
  let client: number | undefined
  const seen = new Set<string>()
  for (const [name, value] of parameters) {
    if (seen.has(name)) return undefined
    seen.add(name)
    const bits = value !== undefined && /^(?:[89]|1[0-5])$/.test(value) ? Number(value) : undefined
    switch (name) {
      case 'server_no_context_takeover':
      case 'client_no_context_takeover':
        if (value !== undefined) return undefined
        break
      case 'server_max_window_bits':
        if (bits === undefined) return undefined
        server = Math.min(maxBits, bits)
        break
      case 'client_max_window_bits':
        if (value !== undefined && bits === undefined) return undefined
        client = Math.min(maxBits, bits ?? maxBits)
        break
      default:
        return undefined
    }
  }
  return { server, client }
}

/** The value of Sec-WebSocket-Extensions in the reply. */
export function describeWindows({ server, client }: Windows): string {
  const limit = client === undefined ? '' : `; client_max_window_bits=${client}`
  return `permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=${server}${limit}`
}

/** A longer message is compressed on another thread: on this one it would hold up all other connections. */
const MAX_SYNC_BYTES = 16 * 1024
const deflateAsync = promisify<Buffer, object, Buffer>(deflateRaw)
/** Half of the threads of Node's pool, which others need as well. */
const compressions = createSemaphore(2, Number.POSITIVE_INFINITY)

/** The frame of a message, compressed unless it is shorter than the threshold; a promise of it if it is long. */
export function frameDeflated(
  payload: string | Buffer,
  windowBits: number,
  threshold: number,
): Buffer | Promise<Buffer> {
  const isText = typeof payload === 'string'
  const length = isText ? Buffer.byteLength(payload) : payload.length
  if (length < threshold) return frameMessage(payload)
  const chunkSize = chunkBytes(length)
  const options = { level: 3, memLevel: 4, windowBits, chunkSize, finishFlush: constants.Z_SYNC_FLUSH }
  if (length <= MAX_SYNC_BYTES) return frameCompressed(withoutTail(deflateRawSync(payload, options)), isText)
  const frame = frameOnThread(Buffer.from(payload), options, isText)
  // The connection may end before it awaits the frame; then a failure does not matter.
  frame.catch(ignore)
  return frame
}

function ignore(): void {}

async function frameOnThread(payload: Buffer, options: object, isText: boolean): Promise<Buffer> {
  return ownBytes(frameCompressed(withoutTail(await inPool(() => deflateAsync(payload, options))), isText))
}

/** Waits for a thread of the pool. */
async function inPool<Result>(work: () => Promise<Result>): Promise<Result> {
  const outcome = await compressions.run(work)
  if (outcome === 'full') throw new Error('The queue of compressions has no limit')
  return outcome.result
}

/**
 * The buffer that zlib allocates for its output, and again whenever it is full. With the default of 16 KiB, short
 * messages fragment the memory of the process: 27 KiB for each connection instead of 14 (test/streaming/memory.test.ts).
 */
function chunkBytes(length: number): number {
  return length <= MAX_SYNC_BYTES ? 2048 : 65_536
}

/** The end of a flushed block, which is not sent (§7.2.1). */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff])

function withoutTail(deflated: Buffer): Buffer {
  return deflated.subarray(0, -TAIL.length)
}

/** Stops at `maxBytes`, however much more the message would decompress to. */
export function inflateMessage(data: Buffer, isBinary: boolean, windowBits = 15, maxBytes: number): Buffer {
  const inflation = new Inflation(data, windowBits, maxBytes)
  try {
    while (!inflation.isComplete) inflation.add(inflateRawSync(inflation.input, inflation.options))
    return checked(inflation.message, isBinary)
  } catch (error) {
    throw asFrameError(error)
  }
}

/** Inflates on another thread a message that would hold up all other connections. */
export async function inflateOnThread(
  data: Buffer,
  isBinary: boolean,
  windowBits = 15,
  maxBytes: number,
): Promise<Buffer> {
  const inflation = new Inflation(data, windowBits, maxBytes)
  try {
    while (!inflation.isComplete) inflation.add(await inPool(() => inflateAsync(inflation.input, inflation.options)))
    return checked(inflation.message, isBinary)
  } catch (error) {
    throw asFrameError(error)
  }
}

/** zlib's output with, because of the option `info`, the engine that knows how much input was read. */
type Inflated = Buffer | { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } }
const inflateAsync = promisify<Buffer, object, Inflated>(inflateRaw)

/** Each costs the start of a decompressor, so that thousands in one message would hold up the others. */
const MAX_FINAL_BLOCKS = 16
const MAX_WINDOW_BYTES = 32 * 1024

/**
 * The decompression of one message. zlib stops at a block with BFINAL, but in a message others may follow it, from the
 * next byte on (§7.2.1, §7.2.3.4): they are decompressed by another run, with the output so far as its window.
 */
class Inflation {
  input: Buffer
  readonly #windowBits: number
  readonly #maxBytes: number
  readonly #chunkSize: number
  #message: Buffer | undefined
  #runs = 0

  constructor(data: Buffer, windowBits: number, maxBytes: number) {
    this.input = Buffer.concat([data, TAIL])
    this.#windowBits = windowBits
    this.#maxBytes = maxBytes
    this.#chunkSize = chunkBytes(data.length)
  }

  get options() {
    return {
      windowBits: this.#windowBits,
      // Zero is not allowed; `add` checks the sum.
      maxOutputLength: Math.max(1, this.#maxBytes - this.message.length),
      chunkSize: this.#chunkSize,
      finishFlush: constants.Z_SYNC_FLUSH,
      info: true,
      ...(this.#message === undefined ? {} : { dictionary: this.#message.subarray(-MAX_WINDOW_BYTES) }),
    }
  }

  /** What is left after a final block may be the tail alone, if the client sent nothing after it. */
  get isComplete(): boolean {
    return this.#runs > 0 && this.input.length <= TAIL.length
  }

  get message(): Buffer {
    return this.#message ?? Buffer.alloc(0)
  }

  add(inflated: Inflated): void {
    if (Buffer.isBuffer(inflated)) throw new Error('zlib did not return its engine')
    if (++this.#runs > MAX_FINAL_BLOCKS) throw new FrameError('invalidData', 'too many final blocks')
    const { buffer, engine } = inflated
    this.#message = this.#message === undefined ? buffer : Buffer.concat([this.#message, buffer])
    if (this.#message.length > this.#maxBytes) throw new FrameError('tooBig', 'the message is too long')
    this.input = this.input.subarray(engine.bytesWritten)
  }
}

function checked(message: Buffer, isBinary: boolean): Buffer {
  if (!isBinary) checkText(message)
  return message
}

function asFrameError(error: unknown): FrameError {
  if (error instanceof FrameError) return error
  return isTooLong(error)
    ? new FrameError('tooBig', 'the message is too long')
    : new FrameError('invalidData', 'the compressed data is invalid')
}

function isTooLong(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}
