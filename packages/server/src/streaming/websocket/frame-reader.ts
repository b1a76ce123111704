/**
 * Reads the frames of a client from bytes in pieces of any size (RFC 6455 §5), one at a time, so that the caller can
 * stop between any two. The fragments of a message are copied into one buffer: the cost of a message depends on its
 * bytes, not on the number of its fragments or of the pieces in which they arrive.
 */
import { isUtf8 } from 'node:buffer'
import { endianness } from 'node:os'
import type { CloseName } from 'gatehouse-protocol'
import { OPCODE } from './frame.ts'
import { Utf8Check } from './utf8-check.ts'

export type ReceivedFrame =
  | { readonly kind: 'message'; readonly data: Buffer; readonly isBinary: boolean; readonly isCompressed: boolean }
  /** A frame of a message that is not complete yet. */
  | { readonly kind: 'fragment' }
  | { readonly kind: 'ping'; readonly data: Buffer }
  | { readonly kind: 'pong' }
  | { readonly kind: 'close'; readonly code: number }

/** The client violated the protocol or a limit; the connection must be closed with this code. */
export class FrameError extends Error {
  readonly close: CloseName

  constructor(close: CloseName, message: string) {
    super(message)
    this.close = close
  }
}

export interface FrameReaderOptions {
  /** Whether compression was negotiated, which gives the first reserved bit its meaning. */
  readonly allowsCompression: boolean
}

/** More than any program needs, Autobahn's 4 MiB in parts of 64 bytes: the rate would let a message of single bytes take minutes. */
const MAX_FRAGMENTS = 65_536

const FRAGMENT: ReceivedFrame = { kind: 'fragment' }
const PONG: ReceivedFrame = { kind: 'pong' }
const EMPTY = Buffer.alloc(0)

export class FrameReader {
  readonly #options: FrameReaderOptions
  #maxMessageBytes = 0
  /** Bytes that have arrived and are not read yet. */
  #input: Buffer = EMPTY
  /** The frame whose payload is being read. */
  #frame: OpenFrame | undefined
  /** The message of which at least one fragment has been read. */
  #message: OpenMessage | undefined
  /** Of a text whose bytes did not arrive at once. */
  #utf8: Utf8Check | undefined

  constructor(options: FrameReaderOptions) {
    this.#options = options
  }

  /** The memory of the message that is incomplete, and of input that has not been read. */
  get bytes(): number {
    return this.#input.length + (this.#frame?.payload?.length ?? 0) + (this.#message?.data.length ?? 0)
  }

  /** Forgets what has arrived. */
  clear(): void {
    this.#input = EMPTY
    this.#frame = undefined
    this.#message = undefined
    this.#utf8 = undefined
  }

  push(chunk: Buffer): void {
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk])
  }

  /**
   * The next frame; undefined until more bytes arrive. Throws a FrameError; after `tooBig` it can be called again with a higher limit.
   * The limit is that of an uncompressed message; a compressed one may be longer by as much as compression can add.
   */
  next(maxMessageBytes: number): ReceivedFrame | undefined {
    this.#maxMessageBytes = maxMessageBytes
    this.#frame ??= this.#readHeader()
    const frame = this.#frame
    if (frame === undefined) return undefined
    const payload = this.#readPayload(frame)
    if (payload === undefined) return undefined
    this.#frame = undefined
    return frame.opcode >= OPCODE.close ? readControl(frame.opcode, payload) : this.#readData(frame, payload)
  }

  /** Only an incomplete header stays in the input, at most 13 bytes: its size does not grow with each piece. */
  #readHeader(): OpenFrame | undefined {
    const input = this.#input
    if (input.length < 2) return this.#keepHeader()
    // Not by destructuring: the iterator of a buffer is slow until it is compiled.
    const first = input[0] ?? 0
    const second = input[1] ?? 0
    const short = second & 0x7f
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0
    this.#checkHeader(first, second)
    if (input.length < 2 + extended + 4) return this.#keepHeader()
    const length = extended === 0 ? short : extended === 2 ? input.readUInt16BE(2) : readLength(input)
    const opcode = first & 0x0f
    if (opcode < OPCODE.close) this.#checkLength(first, length)
    const end = 2 + extended + 4
    const mask = input.readUInt32LE(end - 4)
    this.#input = input.subarray(end)
    return { first, opcode, mask, length, payload: undefined, filled: 0 }
  }

  #checkLength(first: number, length: number): void {
    const message = this.#message
    if ((message?.length ?? 0) + length > this.#maxBytes(first))
      throw new FrameError('tooBig', 'the message is too long')
    if ((message?.fragments ?? 0) >= MAX_FRAGMENTS)
      throw new FrameError('tooBig', `a message has at most ${MAX_FRAGMENTS} fragments`)
  }

  #maxBytes(first: number): number {
    const isCompressed = this.#message?.isCompressed ?? (first & 0x40) !== 0
    return isCompressed ? maxDeflatedBytes(this.#maxMessageBytes) : this.#maxMessageBytes
  }

  /** A copy, because the piece of input that it comes from is much larger. */
  #keepHeader(): undefined {
    this.#input = this.#input.length === 0 ? EMPTY : Buffer.from(this.#input)
    return undefined
  }

  #checkHeader(first: number, second: number): void {
    const opcode = first & 0x0f
    const isFinal = first >= 0x80
    const reserved = first & 0x70
    const isMessageStart = opcode === OPCODE.text || opcode === OPCODE.binary
    if (reserved !== 0 && !(reserved === 0x40 && isMessageStart && this.#options.allowsCompression))
      throw new FrameError('protocolError', 'a reserved bit is set')
    if (second < 0x80) throw new FrameError('protocolError', 'the frame is not masked')
    if (opcode > OPCODE.pong || (opcode > OPCODE.binary && opcode < OPCODE.close))
      throw new FrameError('protocolError', 'the opcode is unknown')
    if (opcode >= OPCODE.close) {
      if (!isFinal) throw new FrameError('protocolError', 'a control frame is fragmented')
      if ((second & 0x7f) > 125) throw new FrameError('protocolError', 'a control frame is too long')
    } else if (isMessageStart === (this.#message !== undefined))
      throw new FrameError('protocolError', isMessageStart ? 'the last message is incomplete' : 'no message is open')
  }

  /** The unmasked payload once it is complete. A whole payload within the input is unmasked in place. */
  #readPayload(frame: OpenFrame): Buffer | undefined {
    const input = this.#input
    const missing = frame.length - frame.filled
    if (frame.filled === 0 && input.length >= missing) {
      this.#input = input.length === missing ? EMPTY : input.subarray(missing)
      const payload = input.subarray(0, missing)
      unmask(payload, frame.mask, 0)
      return payload
    }
    const piece = input.subarray(0, missing)
    this.#input = input.length <= missing ? EMPTY : input.subarray(missing)
    unmask(piece, frame.mask, frame.filled)
    if (this.#isPlainText(frame)) this.#checkPiece(piece)
    frame.payload = append(frame.payload ?? EMPTY, frame.filled, piece, frame.length)
    frame.filled += piece.length
    return frame.filled === frame.length ? frame.payload.subarray(0, frame.length) : undefined
  }

  /** Compressed text is checked when it is decompressed, as a whole. */
  #isPlainText({ first, opcode }: OpenFrame): boolean {
    if (opcode >= OPCODE.close) return false
    if (this.#message !== undefined) return !this.#message.isBinary && !this.#message.isCompressed
    return opcode === OPCODE.text && (first & 0x40) === 0
  }

  #checkPiece(piece: Buffer): void {
    this.#utf8 ??= new Utf8Check()
    if (!this.#utf8.push(piece)) throw notUtf8()
  }

  #readData(frame: OpenFrame, payload: Buffer): ReceivedFrame {
    const { first, opcode } = frame
    const isFinal = first >= 0x80
    if (this.#isPlainText(frame)) this.#checkPlainText(frame, payload, isFinal)
    if (this.#message === undefined) {
      const isBinary = opcode === OPCODE.binary
      const isCompressed = (first & 0x40) !== 0
      if (isFinal) return { kind: 'message', data: payload, isBinary, isCompressed }
      const data = append(EMPTY, 0, payload, this.#maxBytes(first))
      this.#message = { data, length: payload.length, fragments: 1, isBinary, isCompressed }
      return FRAGMENT
    }
    const message = this.#message
    message.data = append(message.data, message.length, payload, this.#maxBytes(first))
    message.length += payload.length
    message.fragments++
    if (!isFinal) return FRAGMENT
    this.#message = undefined
    const { isBinary, isCompressed } = message
    return { kind: 'message', data: message.data.subarray(0, message.length), isBinary, isCompressed }
  }

  /** Most messages are one frame that has arrived whole. What arrived in pieces has been checked. */
  #checkPlainText(frame: OpenFrame, payload: Buffer, isFinal: boolean): void {
    if (isFinal && this.#utf8 === undefined) {
      checkText(payload)
      return
    }
    if (frame.filled === 0) this.#checkPiece(payload)
    if (!isFinal) return
    const isWhole = this.#utf8?.isWhole
    this.#utf8 = undefined
    if (isWhole === false) throw notUtf8()
  }
}

interface OpenFrame {
  /** The first byte of the header: FIN, reserved bits and opcode. */
  readonly first: number
  readonly opcode: number
  readonly mask: number
  readonly length: number
  payload: Buffer | undefined
  filled: number
}

interface OpenMessage {
  data: Buffer
  length: number
  fragments: number
  readonly isBinary: boolean
  readonly isCompressed: boolean
}

/**
 * The most bytes that DEFLATE can make of a message: nine bits for each, and the headers of its blocks (zlib's
 * `deflateBound` for the settings that expand the most).
 */
function maxDeflatedBytes(bytes: number): number {
  return bytes + Math.ceil(bytes / 8) + Math.ceil(bytes / 64) + 64
}

/** A length of more than 32 bits is over any limit. */
function readLength(input: Buffer): number {
  return input.readUInt32BE(2) === 0 ? input.readUInt32BE(6) : Number.POSITIVE_INFINITY
}

const LITTLE_ENDIAN = endianness() === 'LE'
/** A shorter piece is unmasked faster byte by byte. */
const MIN_BYTES_BY_WORD = 64

/**
 * Removes the mask (§5.3). The offset is that of the piece in its payload. A longer piece is seen as words, between the bytes
 * before and after them: to read and decode a message of 60 KiB then takes half as long as with a loop over its bytes.
 */
function unmask(piece: Buffer, mask: number, offset: number): void {
  if (mask === 0) return
  const { length, buffer, byteOffset } = piece
  let turned = rotate(mask, offset % 4)
  let at = 0
  if (length >= MIN_BYTES_BY_WORD && LITTLE_ENDIAN) {
    const before = -byteOffset & 3
    at = unmaskBytes(piece, turned, 0, before)
    turned = rotate(turned, before)
    const words = new Int32Array(buffer, byteOffset + at, (length - at) >>> 2)
    for (let word = 0; word < words.length; word++) words[word] = (words[word] ?? 0) ^ turned
    at += words.byteLength
  }
  unmaskBytes(piece, turned, at, length)
}

/** The mask as it applies `bytes` later. Its first byte is the lowest. */
function rotate(mask: number, bytes: number): number {
  return bytes === 0 ? mask : (mask >>> (bytes * 8)) | (mask << (32 - bytes * 8))
}

function unmaskBytes(piece: Buffer, mask: number, start: number, end: number): number {
  for (let at = start; at < end; at++) piece[at] = (piece[at] ?? 0) ^ (mask >>> (((at - start) & 3) * 8))
  return end
}

/** Doubles the buffer when it is full: the copies take time in proportion to the bytes, the memory follows what arrives. */
function append(buffer: Buffer, used: number, piece: Buffer, most: number): Buffer {
  const needed = used + piece.length
  let target = buffer
  if (needed > buffer.length) {
    target = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(most, Math.max(1024, buffer.length * 2))))
    buffer.copy(target, 0, 0, used)
  }
  piece.copy(target, used)
  return target
}

/** Text must be UTF-8 (§8.1); compressed text is checked when it is decompressed. */
export function checkText(data: Buffer): void {
  if (!isUtf8(data)) throw notUtf8()
}

function notUtf8(): FrameError {
  return new FrameError('invalidData', 'the text is not UTF-8')
}

function readControl(opcode: number, payload: Buffer): ReceivedFrame {
  if (opcode === OPCODE.ping) return { kind: 'ping', data: payload }
  if (opcode === OPCODE.pong) return PONG
  if (payload.length === 0) return { kind: 'close', code: 1005 }
  if (payload.length === 1) throw new FrameError('protocolError', 'the close code is incomplete')
  const code = payload.readUInt16BE(0)
  if (!isCloseCode(code)) throw new FrameError('protocolError', 'the close code is invalid')
  checkText(payload.subarray(2))
  return { kind: 'close', code }
}

/** RFC 6455 §7.4: the registered codes that may be sent, and those for libraries and applications. */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999)
}
