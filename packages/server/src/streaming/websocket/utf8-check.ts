/** Checks a text that arrives in pieces (RFC 6455 §8.1): what cannot become UTF-8 any more is found with the piece that has it. */
import { isUtf8 } from 'node:buffer'

const EMPTY = Buffer.alloc(0)
const MAX_CHARACTER_BYTES = 4

export class Utf8Check {
  /** The first bytes of a character whose others have not arrived. */
  #open: Buffer = EMPTY

  /** Whether the text can still be UTF-8. */
  push(piece: Buffer): boolean {
    const bytes = this.#open.length === 0 ? piece : Buffer.concat([this.#open, piece])
    const end = wholeCharacters(bytes)
    // A copy: the piece belongs to a larger buffer, which is reused.
    this.#open = end === bytes.length ? EMPTY : Buffer.from(bytes.subarray(end))
    return isUtf8(bytes.subarray(0, end)) && canBeCompleted(this.#open)
  }

  /** Whether the text ends with a whole character. */
  get isWhole(): boolean {
    return this.#open.length === 0
  }
}

/** Where the last character begins if it is incomplete, else the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= 0 && at > bytes.length - MAX_CHARACTER_BYTES; at--) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) return at + characterBytes(byte) > bytes.length ? at : bytes.length
  }
  return bytes.length
}

function characterBytes(first: number): number {
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
}

/** The second byte of some characters is limited, to the lower or to the upper part of its range. */
function canBeCompleted(open: Buffer): boolean {
  const [first] = open
  if (first === undefined) return true
  const missing = characterBytes(first) - open.length
  return [0x80, 0xbf].some((byte) => isUtf8(Buffer.concat([open, Buffer.alloc(missing, byte)])))
}
