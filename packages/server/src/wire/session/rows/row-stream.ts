/** The rows of a portal: messages that are ready, and those that a stream still delivers. */

import { release } from '../../../lib/release.ts'
import type { ReadOutcome } from '../../../query/index.ts'

export type RowChunks = AsyncGenerator<Uint8Array, ReadOutcome, void>

const LENGTH_AT = 1
const NO_BYTES = new Uint8Array(0)

export class PortalRows {
  /** Whole messages that are not sent yet. */
  #ready: Uint8Array
  readonly #chunks: RowChunks | undefined
  #outcome: ReadOutcome | undefined
  #hasEnded: boolean

  constructor(ready: Uint8Array | undefined, chunks: RowChunks | undefined) {
    this.#ready = ready ?? NO_BYTES
    this.#chunks = chunks
    this.#hasEnded = chunks === undefined
  }

  /** Of messages that are not sent yet. */
  get readyBytes(): number {
    return this.#ready.length
  }

  /** All rows are taken. */
  get isDone(): boolean {
    return this.#hasEnded && this.#ready.length === 0
  }

  /** What the stream told at its end. */
  get outcome(): ReadOutcome | undefined {
    return this.#outcome
  }

  /** The next messages, at most `maxRows` of them; undefined when there are none left. */
  async next(maxRows: number): Promise<{ readonly bytes: Uint8Array; readonly rows: number } | undefined> {
    while (this.#ready.length === 0) {
      if (this.#hasEnded || this.#chunks === undefined) return undefined
      const next = await this.#chunks.next()
      if (next.done) {
        this.#hasEnded = true
        this.#outcome = next.value
        return undefined
      }
      this.#ready = next.value
    }
    return this.take(maxRows)
  }

  /** The same of the messages that are ready. */
  take(maxRows: number): { readonly bytes: Uint8Array; readonly rows: number } | undefined {
    const ready = this.#ready
    if (ready.length === 0) return undefined
    if (maxRows === 0) {
      this.#ready = NO_BYTES
      return { bytes: ready, rows: -1 }
    }
    const view = new DataView(ready.buffer, ready.byteOffset, ready.byteLength)
    let rows = 0
    let end = 0
    while (rows < maxRows && end < ready.length) {
      end += LENGTH_AT + view.getUint32(end + LENGTH_AT)
      rows++
    }
    this.#ready = end === ready.length ? NO_BYTES : ready.subarray(end)
    return { bytes: ready.subarray(0, end), rows }
  }

  /** Ends the stream. */
  async close(): Promise<void> {
    this.#ready = NO_BYTES
    if (this.#hasEnded) return
    this.#hasEnded = true
    await this.#chunks?.return({ rowCount: 0, truncated: 'no', lastKey: [] })
  }
}

export function countMessages(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let at = 0; at < bytes.length; at += LENGTH_AT + view.getUint32(at + LENGTH_AT)) count++
  return count
}

/** Frees chunks that the socket has sent. */
export function releaseAll(chunks: Uint8Array[]): void {
  for (const chunk of chunks) release(chunk)
  chunks.length = 0
}
