/** Decodes untrusted MessagePack: no extension types, and no allocation larger than the bytes received justify. */
import { isUtf8 } from 'node:buffer'

const MAX_DEPTH = 64
const ID_KEY = 'TransactionID'
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
    const head = this.#unsigned(1)
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
        return Buffer.from(this.#take(this.#unsigned(1 << (head - 0xc4))))
      case 0xca:
        return this.#take(4).readFloatBE()
      case 0xcb:
        return this.#take(8).readDoubleBE()
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (head - 0xcc))
      case 0xcf:
        return narrow(this.#take(8).readBigUInt64BE())
      case 0xd0:
      case 0xd1:
      case 0xd2: {
        const size = 1 << (head - 0xd0)
        return this.#take(size).readIntBE(0, size)
      }
      case 0xd3:
        return narrow(this.#take(8).readBigInt64BE())
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
    const bytes = this.#take(length)
    if (!isUtf8(bytes)) throw new RangeError('a string that is not UTF-8')
    return bytes.toString()
  }

  #unsigned(size: number): number {
    return this.#take(size).readUIntBE(0, size)
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('shorter than declared')
    const part = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return part
  }
}

function narrow(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
