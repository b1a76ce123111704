/** Byte arrays in the encoding PLAIN of Parquet: each after its length, in one buffer. */
import { grown } from '../../types/words.ts'

const FIRST_BYTES = 16 * 1024
/** A larger buffer is not kept for the next page. */
const MAX_KEPT_BYTES = 1024 * 1024
/** Longer texts are written faster by Node than here. */
const SHORT_TEXT = 40
/** The most bytes of a UTF-16 code unit. */
const UNIT_BYTES = 3
const LENGTH_BYTES = 4

export class ByteValues {
  #bytes = Buffer.alloc(FIRST_BYTES)
  #end = 0

  get length(): number {
    return this.#end
  }

  addText(text: string): void {
    this.#reserve(LENGTH_BYTES + text.length * UNIT_BYTES)
    const bytes = this.#bytes
    const start = this.#end + LENGTH_BYTES
    let length = 0
    if (text.length <= SHORT_TEXT) {
      for (; length < text.length; length++) {
        const code = text.charCodeAt(length)
        if (code > 127) break
        bytes[start + length] = code
      }
    }
    if (length < text.length) length = bytes.write(text, start)
    bytes.writeInt32LE(length, this.#end)
    this.#end = start + length
  }

  addBytes(value: Uint8Array): void {
    this.#reserve(LENGTH_BYTES + value.length)
    this.#bytes.writeInt32LE(value.length, this.#end)
    this.#bytes.set(value, this.#end + LENGTH_BYTES)
    this.#end += LENGTH_BYTES + value.length
  }

  /** A value of fixed length, which is not written. */
  addHex(digits: string): void {
    this.#reserve(digits.length / 2)
    this.#end += this.#bytes.write(digits, this.#end, 'hex')
  }

  /** What was added since the last call, valid until the next value is added. */
  take(): Uint8Array {
    const values = this.#bytes.subarray(0, this.#end)
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.alloc(FIRST_BYTES)
    this.#end = 0
    return values
  }

  #reserve(more: number): void {
    while (this.#end + more > this.#bytes.length) this.#bytes = Buffer.from(grown(this.#bytes).buffer)
  }
}
