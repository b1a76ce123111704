/** Sends a long result as a stream, which is read as fast as the client reads; compresses; encodes the rows that a write returns. */
import { pipeline, type Writable } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import type { Context } from '../../http/context.ts'
import { release } from '../../lib/release.ts'
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../lib/turns.ts'
import { CHUNK_BYTES } from '../engines/bounded-rows.ts'
import { type Encoding, isText, type ReadOutcome, type RowEncoder } from '../model/result.ts'
import { createEncoder } from '../results/byte-encoder.ts'
import { endOfResult, type ResultEnd } from '../results/encoders.ts'
import type { QueryResult } from '../run/call.ts'
import { type Compression, mediaType } from './request.ts'

export interface StreamedResult {
  readonly chunks: AsyncGenerator<Uint8Array, ReadOutcome, void>
  /** The first rows are about to be sent, and there are more. */
  readonly onRows: () => void
  readonly end: (outcome: ReadOutcome) => Uint8Array
  /** The error as bytes in the result; undefined closes the connection. */
  readonly failure: (error: unknown) => Uint8Array | undefined
  readonly done: () => void
}

/**
 * A stream holds no more than two chunks in memory. The bytes of a result that turns out to be small are returned, not sent.
 * Throws what goes wrong before the first chunk is sent, so that the reply can still have an error status.
 */
export async function sendStream(
  context: Context,
  encoding: Encoding,
  compression: Compression,
  result: StreamedResult,
): Promise<Buffer | undefined> {
  const { chunks, end, done } = result
  let first: Next
  let second: Promise<Next>
  let known: Next | undefined
  try {
    first = await chunks.next()
    second = first.done ? Promise.resolve(first) : chunks.next()
    // A small chunk is the last one: the outcome follows, or an error that can still have a status. If a larger result is a single
    // chunk, its outcome follows immediately.
    const isSmall = first.done || first.value.byteLength < CHUNK_BYTES
    known = await (isSmall ? second : Promise.race([second, immediate(undefined)]))
  } catch (error) {
    done()
    throw error
  }
  if (first.done || known?.done) {
    done()
    const bytes = first.done ? [] : [first.value]
    if (known?.done) bytes.push(end(known.value))
    return Buffer.concat(bytes)
  }
  result.onRows()
  const type = mediaType(encoding)
  const bytes = rest(first.value, second, result)
  if (compression === 'identity') {
    const response = context.stream(type)
    pour(bytes, response).catch(() => response.destroy())
  } else sendCompressedResult(context, type, compression, bytes)
  return undefined
}

type Next = IteratorResult<Uint8Array, ReadOutcome>

/** Each chunk after the second is requested when the previous one has been sent. */
async function* rest(
  first: Uint8Array,
  second: Promise<Next>,
  { chunks, end, failure, done }: StreamedResult,
): AsyncGenerator<Uint8Array> {
  try {
    yield first
    release(first)
    for (let next = await second; ; next = await chunks.next()) {
      if (next.done) {
        yield end(next.value)
        return
      }
      if (next.value.byteLength > 0) yield next.value
      release(next.value)
    }
  } catch (error) {
    const bytes = failure(error)
    if (bytes === undefined) throw error
    yield bytes
  } finally {
    done()
    await chunks.return({ rowCount: 0, truncated: 'no', lastKey: [] })
  }
}

export function sendCompressedResult(
  context: Context,
  type: string,
  compression: Exclude<Compression, 'identity'>,
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): void {
  const compressor = COMPRESSORS[compression]()
  pour(bytes, compressor).catch((error) => compressor.destroy(error))
  // If either ends early, so does the other: the client has closed, or the result cannot be completed.
  context.setHeader('content-encoding', compression)
  context.addVary('accept-encoding')
  pipeline(compressor, context.stream(type), () => {})
}

/** Writes with back-pressure; an error that cannot be reported in the result closes the connection. */
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

type RowsResult = Extract<QueryResult, { kind: 'rows' }>

/** The rows that a write returns, in turns if they are many. */
export async function encodeRows(
  { encoders, rows }: RowsResult,
  encoding: Encoding,
  outcome: ReadOutcome,
  end: ResultEnd,
): Promise<Buffer> {
  const encoder = isText(encoding) ? encoders.create(encoding) : await createEncoder(encoding, encoders.columns)
  const chunks = await inTurns(encodeAll(encoder, rows))
  return Buffer.concat([...chunks, endOfResult(encoding, { ...outcome, trailer: encoder.trailer?.() }, end)])
}

function* encodeAll(encoder: RowEncoder, rows: RowsResult['rows']): Steps<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    encoder.add(row)
    const isLong = encoder.pending >= CHUNK_BYTES
    if (isLong) chunks.push(encoder.take())
    if (isLong || index % STEPS_PER_PAUSE === STEPS_PER_PAUSE - 1) yield
  }
  encoder.end?.()
  chunks.push(encoder.take())
  while (encoder.pending > 0) {
    yield
    chunks.push(encoder.take())
  }
  return chunks
}
