/** The messages of an Arrow stream (Arrow columnar format, "Encapsulated message format"): metadata, and the bytes of their bodies. */
import { badBody } from '../../columns/row-error.ts'
import type { ByteSource } from '../reader.ts'
import { FlatTable } from './flatbuffer-reader.ts'

export const MESSAGE = { schema: 1, dictionary: 2, batch: 3 } as const

export interface ArrowMessage {
  readonly kind: number
  readonly header: FlatTable
  readonly body: Buffer
}

/** A schema of a thousand columns has some 100 KB. */
const MAX_METADATA_BYTES = 4 * 1024 * 1024
/** What a record batch may hold in memory. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
const FILE_START = Buffer.from('ARROW1\0\0')
const CONTINUATION = 0xffff_ffff

export async function* readMessages(source: ByteSource): AsyncGenerator<ArrowMessage, void, void> {
  const bytes = new ExactBytes(source)
  for (let isStart = true; ; isStart = false) {
    const first = await bytes.take(4)
    // A file (Feather 2) is a stream between this and a footer.
    if (isStart && first?.equals(FILE_START.subarray(0, 4))) {
      if ((await bytes.must(4)).equals(FILE_START.subarray(4))) continue
      throw badBody('The body is not an Arrow file')
    }
    // The end of the stream needs no marker.
    if (first === undefined) return
    const marker = first.readUInt32LE(0)
    // Before version 0.15 there was no continuation marker.
    const length = marker === CONTINUATION ? (await bytes.must(4)).readUInt32LE(0) : marker
    if (length === 0) return
    if (length > MAX_METADATA_BYTES)
      throw badBody('The body is neither an Arrow stream nor an Arrow file: send one of the IPC formats')
    const metadata = FlatTable.root(await bytes.must(length))
    const header = metadata.table(2)
    const bodyLength = metadata.long(3)
    if (header === undefined) throw badBody('The Arrow stream is damaged: a message has no header')
    if (bodyLength > MAX_BODY_BYTES)
      throw badBody(
        `A record batch has ${bodyLength} bytes, and may have ${MAX_BODY_BYTES}: write smaller ones (in pyarrow max_chunksize=100_000)`,
      )
    yield { kind: metadata.byte(1), header, body: bodyLength === 0 ? Buffer.alloc(0) : await bytes.must(bodyLength) }
  }
}

/** Takes as many bytes as are asked for, at an aligned place of memory. */
class ExactBytes {
  readonly #source: AsyncIterator<Uint8Array>
  #piece: Uint8Array = new Uint8Array(0)

  constructor(source: ByteSource) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Undefined at the end of the source. Memory grows with what has arrived, not with what is announced. */
  async take(length: number): Promise<Buffer | undefined> {
    let whole = Buffer.allocUnsafeSlow(Math.min(length, FIRST_BYTES))
    let got = 0
    while (got < length) {
      if (this.#piece.length === 0) {
        const { value, done } = await this.#source.next()
        if (done) {
          if (got === 0) return undefined
          throw badBody('The Arrow stream ends within a message')
        }
        this.#piece = value
        continue
      }
      const part = this.#piece.subarray(0, length - got)
      if (got + part.length > whole.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(length, Math.max(2 * whole.length, got + part.length)))
        whole.copy(larger, 0, 0, got)
        whole = larger
      }
      whole.set(part, got)
      got += part.length
      this.#piece = this.#piece.subarray(part.length)
    }
    return whole
  }

  async must(length: number): Promise<Buffer> {
    const taken = await this.take(length)
    if (taken === undefined) throw badBody('The Arrow stream ends within a message')
    return taken
  }
}

const FIRST_BYTES = 1024 * 1024
