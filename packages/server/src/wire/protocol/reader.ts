/** Splits the bytes of a connection into messages. Type and length are checked before anything of a message is kept. */
import type { ConnectionMemory } from './connection-memory.ts'
import {
  type FrontendMessage,
  MESSAGE_TYPES,
  ProtocolViolation,
  parseMessage,
  type RefusedMessage,
} from './messages.ts'

export interface MessageLimits {
  /** Query and Parse. */
  readonly statementBytes: number
  /** Bind. */
  readonly bindBytes: number
}

const SIGN_IN_BYTES = 64 * 1024
const COPY_DATA_BYTES = 1024 * 1024
/** Messages that hold a name at most. */
const SMALL_BYTES = 10_000
/** How much longer than allowed a Query or Parse can be without the end of the connection: its bytes are skipped. */
const SKIPPED_BYTES = 1024 * 1024
/** Type and length. */
const HEADER_BYTES = 5
const NOTHING = Buffer.alloc(0)

export class MessageReader {
  readonly #limits: MessageLimits
  /** What has arrived and is not read yet. */
  #bytes: Buffer = NOTHING
  #at = 0
  /** A message of which the rest is still to come: filled as it arrives, in parts of any size. */
  #coming: Buffer | undefined
  #filled = 0
  /** A message that is too long: the bytes that are still to be skipped, and the reply once they are. */
  #skipped: { left: number; readonly reply: RefusedMessage } | undefined
  /** Where its bytes are counted. */
  #memory: Pick<ConnectionMemory, 'take' | 'give'> | undefined

  constructor(limits: MessageLimits) {
    this.#limits = limits
  }

  /** From now on, long messages are counted. */
  countIn(memory: Pick<ConnectionMemory, 'take' | 'give'>): void {
    this.#memory = memory
  }

  /** Takes a chunk, of which it keeps views until its messages are read. */
  add(chunk: Buffer): void {
    if (this.#skipped !== undefined && this.#skipped.left > chunk.length) {
      this.#skipped.left -= chunk.length
      return
    }
    const coming = this.#coming
    if (coming !== undefined) {
      const taken = chunk.copy(coming, this.#filled)
      this.#filled += taken
      if (this.#filled < coming.length) return
      this.#memory?.give(coming.length)
      this.#coming = undefined
      this.#bytes = taken === chunk.length ? coming : Buffer.concat([coming, chunk.subarray(taken)])
      this.#at = 0
      return
    }
    this.#bytes = this.#at === this.#bytes.length ? chunk : Buffer.concat([this.#bytes.subarray(this.#at), chunk])
    this.#at = 0
  }

  /** Undefined until a whole message is there. */
  next(): FrontendMessage | undefined {
    const body = this.#take()
    if (body === undefined) return this.#endSkipped()
    return parseMessage(this.#type, body)
  }

  /** The body of a message of the sign-in. */
  nextPassword(): Buffer | undefined {
    if (this.#at < this.#bytes.length && this.#bytes[this.#at] !== MESSAGE_TYPES.password)
      throw new ProtocolViolation('Sign-in needs a password message')
    return this.#take()
  }

  /** Whether bytes wait that are not read yet. */
  get isEmpty(): boolean {
    return this.#coming === undefined && this.#skipped === undefined && this.#at === this.#bytes.length
  }

  #type = 0

  #take(): Buffer | undefined {
    const available = this.#bytes.length - this.#at
    if (this.#coming !== undefined || this.#skipped !== undefined) return undefined
    if (available === 0) {
      // Holds no chunk of an idle connection.
      this.#bytes = NOTHING
      this.#at = 0
      return undefined
    }
    const type = this.#bytes[this.#at] ?? 0
    const most = this.#mostBytes(type)
    if (available < HEADER_BYTES) return undefined
    const length = this.#bytes.readUInt32BE(this.#at + 1)
    if (length < 4) throw new ProtocolViolation(`A message cannot have the length ${length}`)
    if (length - 4 > most) {
      if (isStatement(type) && length - 4 <= most + SKIPPED_BYTES) {
        this.#skipped = { left: length + 1, reply: this.#tooLong(type, length - 4) }
        return undefined
      }
      throw new ProtocolViolation(
        `A message of type ${printable(type)} has at most ${most} bytes here, not ${length - 4}`,
      )
    }
    if (available < length + 1) {
      this.#memory?.take(length + 1)
      this.#coming = Buffer.allocUnsafeSlow(length + 1)
      this.#filled = this.#bytes.copy(this.#coming, 0, this.#at)
      this.#bytes = NOTHING
      this.#at = 0
      return undefined
    }
    const start = this.#at + HEADER_BYTES
    this.#at += length + 1
    this.#type = type
    return this.#bytes.subarray(start, this.#at)
  }

  /** The reply to a message that was too long, once all of it has arrived. */
  #endSkipped(): RefusedMessage | undefined {
    const skipped = this.#skipped
    if (skipped === undefined) return undefined
    const arrived = Math.min(skipped.left, this.#bytes.length - this.#at)
    skipped.left -= arrived
    this.#at += arrived
    if (skipped.left > 0) return undefined
    this.#skipped = undefined
    return skipped.reply
  }

  #tooLong(type: number, length: number): RefusedMessage {
    return {
      kind: 'refused',
      sqlstate: '54000',
      reason: `A statement has at most ${this.#limits.statementBytes} bytes, and the message has ${length}`,
      hint: TOO_LONG_HINT,
      endsWithReady: type === MESSAGE_TYPES.query,
    }
  }

  #mostBytes(type: number): number {
    switch (type) {
      case MESSAGE_TYPES.query:
      case MESSAGE_TYPES.parse:
        return this.#limits.statementBytes + SMALL_BYTES
      case MESSAGE_TYPES.bind:
        return this.#limits.bindBytes
      case MESSAGE_TYPES.copyData:
        return COPY_DATA_BYTES
      case MESSAGE_TYPES.password:
        return SIGN_IN_BYTES
      case MESSAGE_TYPES.functionCall:
      case MESSAGE_TYPES.describe:
      case MESSAGE_TYPES.execute:
      case MESSAGE_TYPES.close:
      case MESSAGE_TYPES.sync:
      case MESSAGE_TYPES.flush:
      case MESSAGE_TYPES.copyDone:
      case MESSAGE_TYPES.copyFail:
      case MESSAGE_TYPES.terminate:
        return SMALL_BYTES
      default:
        throw new ProtocolViolation(`There is no message of type ${printable(type)}`)
    }
  }
}

function isStatement(type: number): boolean {
  return type === MESSAGE_TYPES.query || type === MESSAGE_TYPES.parse
}

const TOO_LONG_HINT = 'Send fewer rows in a statement (in pandas with chunksize=500), or use COPY'

function printable(type: number): string {
  return type > 0x20 && type < 0x7f ? String.fromCharCode(type) : `0x${type.toString(16).padStart(2, '0')}`
}
