/** Decodes untrusted MessagePack: no extension types, and no allocation larger than the bytes received justify. */
import { isUtf8 } from 'node:buffer'

const MAX_DEPTH = 64
const ID_KEY = 'TransactionID'
/** Shorter texts are read faster byte by byte than by a call of the decoder. */
const SHORT_TEXT = 16
const EMPTY = Buffer.alloc(0)
const FLOATS: readonly number[] = [0xca, 0xcb]

/** Undefined if the bytes are not exactly one value. */
export function unpackMessage(bytes: Buffer): unknown {
  const reader = new MessagePackReader(bytes)
  try {
    const value = reader.value(0)
    return reader.atEnd() ? value : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

class MessagePackReader {
  #at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  atEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  value(depth: number): unknown {
    const head = this.#bytes[this.#skip(1)] ?? 0
    if (head < 0x80) return head
    if (head < 0x90) return this.#map(head & 0x0f, depth)
    if (head < 0xa0) return this.#array(head & 0x0f, depth)
    if (head < 0xc0) return this.#string(head & 0x1f)
    if (head >= 0xe0) return head - 0x100
    switch (head) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#binary(this.#unsigned(1 << (head - 0xc4)))
      case 0xca:
        return this.#bytes.readFloatBE(this.#skip(4))
      case 0xcb:
        return this.#bytes.readDoubleBE(this.#skip(8))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (head - 0xcc))
      case 0xcf:
        return narrow(this.#bytes.readBigUInt64BE(this.#skip(8)))
      case 0xd0:
      case 0xd1:
      case 0xd2: {
        const size = 1 << (head - 0xd0)
        return this.#bytes.readIntBE(this.#skip(size), size)
      }
      case 0xd3:
        return narrow(this.#bytes.readBigInt64BE(this.#skip(8)))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#unsigned(1 << (head - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#array(this.#unsigned(2 << (head - 0xdc)), depth)
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 << (head - 0xde)), depth)
      default:
        throw new RangeError('an extension type or an unused byte')
    }
  }

  #array(length: number, depth: number): unknown[] {
    this.#enter(length, depth)
    // The first push to an empty array makes room for 17 items.
    if (length === 1) return [this.value(depth + 1)]
    const items: unknown[] = []
    for (let index = 0; index < length; index++) items.push(this.value(depth + 1))
    return items
  }

  #map(length: number, depth: number): Record<string, unknown> {
    this.#enter(length * 2, depth)
    const members: Record<string, unknown> = {}
    for (let index = 0; index < length; index++) {
      const key = this.value(depth + 1)
      if (typeof key !== 'string') throw new RangeError('a key that is not a string')
      const value = depth === 0 && key === ID_KEY ? this.#id() : this.value(depth + 1)
      if (key === '__proto__') Object.defineProperty(members, key, { value, enumerable: true })
      else members[key] = value
    }
    return members
  }

  /** A float is not a valid id, as `1.0` is not in JSON: it becomes NaN. */
  #id(): unknown {
    const isFloat = FLOATS.includes(this.#bytes[this.#at] ?? 0)
    const value = this.value(1)
    return isFloat ? Number.NaN : value
  }

  /** Every item takes at least one byte, so a length beyond the remaining bytes is false. */
  #enter(items: number, depth: number): void {
    if (depth >= MAX_DEPTH) throw new RangeError('nested too deeply')
    if (items > this.#bytes.length - this.#at) throw new RangeError('longer than the message')
  }

  #string(length: number): string {
    const start = this.#skip(length)
    if (length <= SHORT_TEXT) {
      const text = this.#ascii(start, length)
      if (text !== undefined) return text
    }
    const text = this.#bytes.toString('utf8', start, start + length)
    // What is not UTF-8 is decoded as this character.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, start + length)))
      throw new RangeError('a string that is not UTF-8')
    return text
  }

  #ascii(start: number, length: number): string | undefined {
    let text = ''
    for (let at = start; at < start + length; at++) {
      const code = this.#bytes[at] ?? 0
      if (code >= 0x80) return undefined
      text += String.fromCharCode(code)
    }
    return text
  }

  #binary(length: number): Buffer {
    const start = this.#skip(length)
    if (length === 0) return EMPTY
    const copy = Buffer.allocUnsafe(length)
    // Without a view of the bytes, which would take as long as the copy of a few.
    this.#bytes.copy(copy, 0, start, start + length)
    return copy
  }

  #unsigned(size: number): number {
    return this.#bytes.readUIntBE(this.#skip(size), size)
  }

  /** Returns the position before the bytes. A view of them would take much longer to create than to read. */
  #skip(length: number): number {
    const start = this.#at
    if (length > this.#bytes.length - start) throw new RangeError('shorter than declared')
    this.#at = start + length
    return start
  }
}

function narrow(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
