/** The rows of a portal as messages: those that are ready, and those that the engine still delivers. */
import { release } from '../../../lib/release.ts'
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../../lib/turns.ts'
import { CHUNK_BYTES, TextBytes, wireRowWriter } from '../../../query/codecs.ts'
import { type Encoding, type QueryResult, type ReadOutcome, wireForm } from '../../../query/index.ts'

type RowChunks = AsyncGenerator<Uint8Array, ReadOutcome, void>

const LENGTH_AT = 1
const NO_BYTES = new Uint8Array(0)

export class RowStream {
  /** Whole messages that are not sent yet. */
  #ready: Uint8Array
  readonly #chunks: RowChunks | undefined
  #rowCount: number
  #isTruncated = false
  #hasEnded: boolean

  constructor(ready: Uint8Array | undefined, rowCount: number, chunks?: RowChunks) {
    this.#ready = ready ?? NO_BYTES
    this.#rowCount = rowCount
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

  /** The number of all rows; 0 until the engine reports it, at the end. */
  get rowCount(): number {
    return this.#rowCount
  }

  /** The result is larger than the limit. */
  get isTruncated(): boolean {
    return this.#isTruncated
  }

  /** Resolves when the first messages are ready, or there are none. */
  async begin(): Promise<void> {
    await this.#fill()
  }

  /** The next messages, at most `maxRows` of them; undefined when there are none left. */
  async next(maxRows: number): Promise<{ readonly bytes: Uint8Array; readonly rows: number } | undefined> {
    return (await this.#fill()) ? this.take(maxRows) : undefined
  }

  /** Whether messages are ready. */
  async #fill(): Promise<boolean> {
    while (this.#ready.length === 0) {
      if (this.#hasEnded || this.#chunks === undefined) return false
      const next = await this.#chunks.next()
      if (next.done) {
        this.#hasEnded = true
        this.#rowCount = next.value.rowCount
        this.#isTruncated = next.value.truncated !== 'no'
        return false
      }
      this.#ready = next.value
    }
    return true
  }

  /** At most `maxRows` messages of those that are ready. */
  take(maxRows: number): { readonly bytes: Uint8Array; readonly rows: number } {
    const ready = this.#ready
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

  /** Ends the read in the engine. */
  async close(): Promise<void> {
    this.#ready = NO_BYTES
    if (this.#hasEnded) return
    this.#hasEnded = true
    await this.#chunks?.return({ rowCount: 0, truncated: 'no', lastKey: [] })
  }
}

export async function streamRows(result: QueryResult, encoding: Encoding): Promise<RowStream> {
  switch (result.kind) {
    case 'stream':
      return new RowStream(undefined, 0, result.chunks)
    case 'whole':
      return new RowStream(result.read.bytes, result.read.outcome.rowCount)
    case 'rows':
      return new RowStream(await inTurns(encodeRows(result, encoding)), result.rows.length)
  }
}

/** The few rows that a write returns, or those of EXPLAIN and SHOW. */
function* encodeRows(
  { encoders, rows }: Extract<QueryResult, { kind: 'rows' }>,
  encoding: Encoding,
): Steps<Uint8Array> {
  const write = wireRowWriter(wireForm(encoding), encoders.columns)
  const out = new TextBytes()
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    write(out, row)
    if (out.length >= CHUNK_BYTES) chunks.push(out.take())
    if (index % STEPS_PER_PAUSE === STEPS_PER_PAUSE - 1) yield
  }
  chunks.push(out.take())
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/** Frees chunks that the socket has sent. */
export function freeChunks(chunks: Uint8Array[]): void {
  for (const chunk of chunks) release(chunk)
  chunks.length = 0
}
