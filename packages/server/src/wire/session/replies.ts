/** The replies of a session. Those of INSERTs that share a write are held back until it is done. */

import type { SessionOutput } from './contract.ts'
import type { RowOutput } from './runner.ts'

/** Type and length of a message. */
const COPY_HEAD = 5

export class Replies implements RowOutput {
  readonly #output: Pick<SessionOutput, 'write' | 'drained'>
  #held: Uint8Array[] | undefined
  #hasEnded = false
  #copyHeader: Uint8Array | undefined

  constructor(output: Pick<SessionOutput, 'write' | 'drained'>) {
    this.#output = output
  }

  write(bytes: Uint8Array): boolean {
    if (this.#hasEnded) return true
    if (this.#copyHeader !== undefined) return this.#writeCopyHeader(bytes, this.#copyHeader)
    if (this.#held === undefined) return this.#output.write(bytes)
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

  hold(): void {
    this.#held ??= []
  }

  /** Sends what was held back. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const bytes of held) this.write(bytes)
  }

  /** Forgets what was held back: it did not happen. */
  drop(): void {
    this.#held = undefined
  }

  /** The connection is gone. */
  end(): void {
    this.#hasEnded = true
    this.#held = undefined
  }
}
