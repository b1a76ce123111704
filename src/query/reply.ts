/** Sends a result: whole when it is small, else as a stream that is read only as fast as the client takes it. */
import { pipeline, type Writable } from 'node:stream'
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import type { Exchange } from '../http/exchange.ts'
import type { ReadOutcome } from './engines/engine.ts'
import { release } from './release.ts'
import type { Encoding } from './result/encoding.ts'
import { type Coding, MEDIA_TYPES } from './result/negotiate.ts'

/** Below this a result is sent as it is: compressing costs more than it saves. */
const WORTH_COMPRESSING = 1024

export interface StreamedResult {
  readonly chunks: AsyncGenerator<Uint8Array, ReadOutcome, void>
  readonly end: (outcome: ReadOutcome) => Uint8Array
  /** Bytes that tell of an error after the first; undefined cuts the connection. */
  readonly failure: (error: unknown) => Uint8Array | undefined
  readonly done: () => void
}

export function sendWhole(exchange: Exchange, { format }: Encoding, coding: Coding, body: string | Buffer): void {
  const type = MEDIA_TYPES[format]
  if (coding === 'identity' || Buffer.byteLength(body) < WORTH_COMPRESSING) exchange.send(type, body)
  else sendCompressed(exchange, type, coding, [Buffer.from(body)])
}

/** Throws what goes wrong before the first chunk has left, so that it gets a status of its own. */
export async function sendStream(
  exchange: Exchange,
  encoding: Encoding,
  coding: Coding,
  result: StreamedResult,
): Promise<void> {
  const { chunks, end, done } = result
  let first: IteratorResult<Uint8Array, ReadOutcome>
  let second: IteratorResult<Uint8Array, ReadOutcome>
  try {
    first = await chunks.next()
    second = first.done ? first : await nextUnlessLarge(chunks, first.value)
  } catch (error) {
    done()
    throw error
  }
  if (first.done || second.done) {
    done()
    const bytes = first.done ? [] : [first.value]
    if (second.done) bytes.push(end(second.value))
    return sendWhole(exchange, encoding, coding, Buffer.concat(bytes))
  }
  const type = MEDIA_TYPES[encoding.format]
  const bytes = rest(first.value, second, result)
  if (coding !== 'identity') return sendCompressed(exchange, type, coding, bytes)
  const response = exchange.begin(type)
  pour(bytes, response).catch(() => response.destroy())
}

const LARGE = 32 * 1024
const MORE: IteratorResult<Uint8Array, ReadOutcome> = { done: false, value: new Uint8Array(0) }

/** A small chunk is the last one: what follows it is the outcome, or an error that can still have its status. */
async function nextUnlessLarge(
  chunks: StreamedResult['chunks'],
  first: Uint8Array,
): Promise<IteratorResult<Uint8Array, ReadOutcome>> {
  return first.byteLength < LARGE ? chunks.next() : MORE
}

/** More is asked for when what was given has left. */
async function* rest(
  first: Uint8Array,
  second: IteratorResult<Uint8Array, ReadOutcome>,
  { chunks, end, failure, done }: StreamedResult,
): AsyncGenerator<Uint8Array> {
  try {
    yield first
    release(first)
    if (!second.done && second.value.byteLength > 0) yield second.value
    for (;;) {
      const next = await chunks.next()
      if (next.done) {
        yield end(next.value)
        return
      }
      if (next.value.byteLength > 0) yield next.value
      release(next.value)
    }
  } catch (error) {
    const told = failure(error)
    if (told === undefined) throw error
    yield told
  } finally {
    done()
    await chunks.return({ rowCount: 0, truncated: 'no', lastKey: [] })
  }
}

function sendCompressed(
  exchange: Exchange,
  type: string,
  coding: Exclude<Coding, 'identity'>,
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): void {
  const compressor = COMPRESSORS[coding]()
  pour(bytes, compressor).catch((error) => compressor.destroy(error))
  // Either that ends too early takes the other with it: a client that goes, or a result that cannot be told to its end.
  pipeline(compressor, exchange.begin(type, { 'content-encoding': coding, vary: 'accept-encoding' }), () => {})
}

/** Takes the next bytes when the last have left; throws what cannot be told, which is for the connection to show. */
async function pour(bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, into: Writable): Promise<void> {
  let settle: (error?: Error | null) => void = () => {}
  into.once('close', () => settle(new Error('closed')))
  const leave = (chunk: Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      settle = (error) => (error ? reject(error) : resolve())
      if (into.destroyed) settle(new Error('closed'))
      else into.write(chunk, settle)
    })
  for await (const chunk of bytes) await leave(chunk)
  into.end()
}

const COMPRESSORS = {
  gzip: () => createGzip({ level: 4 }),
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
} as const
