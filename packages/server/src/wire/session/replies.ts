/** The replies of a session. Those of INSERTs that share a write are held back until it is done. */

import type { ConnectionMemory } from '../protocol/kept-memory.ts'
import type { ClientOutput } from './runner.ts'

/** Type and length of a message. */
const COPY_HEAD = 5
/** Of a reply that is held back, besides its bytes. */
const REPLY_BYTES = 120

export class Replies implements ClientOutput {
  readonly #output: ClientOutput
  readonly #memory: Pick<ConnectionMemory, 'take' | 'give'>
  #held: Uint8Array[] | undefined
  #heldBytes = 0
  #hasEnded = false
  #copyHeader: Uint8Array | undefined

  constructor(output: ClientOutput, memory: Pick<ConnectionMemory, 'take' | 'give'>) {
    this.#output = output
    this.#memory = memory
  }

  write(bytes: Uint8Array): boolean {
    if (this.#hasEnded) return true
    if (this.#copyHeader !== undefined) return this.#writeCopyHeader(bytes, this.#copyHeader)
    if (this.#held === undefined) return this.#output.write(bytes)
    this.#memory.take(bytes.length + REPLY_BYTES)
    this.#heldBytes += bytes.length + REPLY_BYTES
    this.#held.push(bytes)
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
    return this.#held === undefined && this.#output.hasSentAll()
  }

  watchStall(milliseconds: number, act: () => void): () => void {
    return this.#output.watchStall(milliseconds, act)
  }

  hold(): void {
    this.#held ??= []
  }

  /** Sends what was held back. It is counted until the client takes it. */
  release(): void {
    const held = this.#held ?? []
    const bytes = this.#heldBytes
    this.#held = undefined
    this.#heldBytes = 0
    for (const each of held) this.write(each)
    if (bytes > 0) void this.#output.drained().then(() => this.#memory.give(bytes))
  }

  /** Forgets what was held back: it did not happen. */
  drop(): void {
    this.#memory.give(this.#heldBytes)
    this.#held = undefined
    this.#heldBytes = 0
  }

  /** The connection is gone. */
  end(): void {
    this.#hasEnded = true
    this.#held = undefined
  }
}
