/** The replies of a session. Those of INSERTs that share a write are buffered until it is done. */
import type { ConnectionMemory } from '../protocol/connection-memory.ts'
import type { RowOutput } from './contract.ts'

/** Type and length of a message. */
const COPY_HEAD = 5
/** Of a reply that is buffered, besides its bytes. */
const REPLY_BYTES = 120

export class Replies implements RowOutput {
  readonly #output: RowOutput
  readonly #memory: Pick<ConnectionMemory, 'take' | 'give'>
  #buffered: Uint8Array[] | undefined
  #bufferedBytes = 0
  #hasEnded = false
  #copyHeader: Uint8Array | undefined

  constructor(output: RowOutput, memory: Pick<ConnectionMemory, 'take' | 'give'>) {
    this.#output = output
    this.#memory = memory
  }

  write(bytes: Uint8Array): boolean {
    if (this.#hasEnded) return true
    if (this.#copyHeader !== undefined) return this.#writeCopyHeader(bytes, this.#copyHeader)
    if (this.#buffered === undefined) return this.#output.write(bytes)
    this.#memory.take(bytes.length + REPLY_BYTES)
    this.#bufferedBytes += bytes.length + REPLY_BYTES
    this.#buffered.push(bytes)
    return true
  }

  /**
   * The next bytes begin with a CopyData, whose body gets the header of a binary COPY before it. PostgreSQL sends both in one message,
   * and DuckDB and ADBC read them so. Undefined: there is no such message after all.
   */
  beginCopy(header: Uint8Array | undefined): void {
    this.#copyHeader = header
  }

  #writeCopyHeader(bytes: Uint8Array, header: Uint8Array): boolean {
    this.#copyHeader = undefined
    const head = Buffer.alloc(COPY_HEAD + header.length)
    const length = new DataView(bytes.buffer, bytes.byteOffset, COPY_HEAD).getInt32(1)
    head.writeUInt8(bytes[0] ?? 0)
    head.writeInt32BE(length + header.length, 1)
    head.set(header, COPY_HEAD)
    this.write(head)
    return this.write(bytes.subarray(COPY_HEAD))
  }

  drained(): Promise<void> {
    return this.#output.drained()
  }

  hasSentAll(): boolean {
    return this.#buffered === undefined && this.#output.hasSentAll()
  }

  /** From now on, until they are sent or dropped. */
  buffer(): void {
    this.#buffered ??= []
  }

  /** What is sent is counted until the client takes it. */
  sendBuffered(): void {
    const buffered = this.#buffered ?? []
    const bytes = this.#bufferedBytes
    this.#buffered = undefined
    this.#bufferedBytes = 0
    for (const each of buffered) this.write(each)
    if (bytes > 0) void this.#output.drained().then(() => this.#memory.give(bytes))
  }

  /** It did not happen. */
  dropBuffered(): void {
    this.#memory.give(this.#bufferedBytes)
    this.#buffered = undefined
    this.#bufferedBytes = 0
  }

  /** The connection is gone. */
  end(): void {
    this.#hasEnded = true
    this.#buffered = undefined
  }
}
