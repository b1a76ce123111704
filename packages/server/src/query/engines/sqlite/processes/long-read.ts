/** Reads a result of any size in a reader process: as pages where Node.js returns them, otherwise row by row. */
import { collectGarbage } from '../../../../child-process/collect-garbage.ts'
import { type ReadOutcome, type RowEncoder, wireForm } from '../../../model/result.ts'
import { createEncoder } from '../../../results/byte-encoder.ts'
import { LongRows } from '../../../results/long-rows.ts'
import { BoundedRows, CHUNK_BYTES } from '../../bounded-rows.ts'
import { type PartsResult, readParts } from '../read/part-read.ts'
import type { TableRecord } from '../read/records.ts'
import type { RowTaker } from '../read/row-pages.ts'
import { longRowDecoder } from '../representation.ts'
import type { ReadJob } from './query-process.ts'
import type { ReadConnections } from './read-connections.ts'

/** `send` is called with every chunk of the result. */
export async function readLong(
  connections: Connections,
  job: ReadJob,
  send: (chunk: Uint8Array) => void,
): Promise<ReadOutcome> {
  const target = await createTarget(job)
  const result = new LongResult(job, target, send)
  const mayReadPages = target.addRecord !== undefined && job.parts === undefined && job.keyColumns.length === 0
  const pages = mayReadPages ? await connections.forPages() : undefined
  if (pages?.canRead(job.columns)) pages.read(job, job.columns, result)
  else await readRows(connections, job, result)
  return result.end()
}

type Connections = Pick<ReadConnections, 'forRows' | 'forPages'>

async function readRows(connections: Connections, job: ReadJob, result: LongResult): Promise<void> {
  const { connection, feed, segments } = await connections.forRows()
  const names = [...job.columns.map((_, index) => `c${index}`), ...job.keyColumns.map((_, index) => `k${index}`)]
  const addAll = (read: PartsResult): void => {
    if ('sql' in read) feed.read(read, names, (raw) => result.takeRow(raw))
    else for (const raw of read) if (!result.takeRow(raw)) return
  }
  const isRead = job.parts !== undefined && readParts(connection, job, job.parts, segments, addAll)
  if (!isRead) addAll(job)
}

interface RecordTarget {
  readonly encoder: RowEncoder
  /** Adds a row to the encoder; undefined if it has none for records. Other formats take more time for records than for rows. */
  readonly addRecord: ((record: TableRecord) => void) | undefined
}

async function createTarget({ encoding, columns }: ReadJob): Promise<RecordTarget> {
  if (encoding.format !== 'wire') return { encoder: await createEncoder(encoding, columns), addRecord: undefined }
  const { createRecordEncoder } = await import('../read/wire-records.ts')
  return createRecordEncoder(wireForm(encoding), columns)
}

const LONG_CHUNK_BYTES = 4 * CHUNK_BYTES
/**
 * Long values are collected after this many bytes, before the process waits for a slow client. By itself V8 would keep several copies of
 * each of them: those of functions, of the row and of its encoded form.
 */
const COLLECTED_BYTES = 4 * 1024 * 1024

/** Encodes rows and sends them in chunks. */
class LongResult implements RowTaker {
  readonly #job: ReadJob
  readonly #target: RecordTarget
  readonly #longRows: LongRows
  readonly #rows: BoundedRows<unknown[]>
  readonly #send: (chunk: Uint8Array) => void
  /** The first rows are sent soon; what follows is for clients that read all, in fewer and longer chunks. */
  #chunkBytes = CHUNK_BYTES
  /** Bytes of long values since they were last collected. */
  #longBytes = 0

  constructor(job: ReadJob, target: RecordTarget, send: (chunk: Uint8Array) => void) {
    this.#job = job
    this.#target = target
    this.#longRows = new LongRows(target.encoder, job.columns, job.encoding)
    this.#rows = new BoundedRows(this.#longRows, job.limits, longRowDecoder(job.columns, job.keyColumns))
    this.#send = send
  }

  takeRow(raw: unknown[]): boolean {
    if (!this.#rows.add(raw)) return false
    return this.#longRows.hasLongRow ? this.#sendPieces(raw) : this.#sendFull()
  }

  takeRecord(record: TableRecord): boolean {
    const { addRecord } = this.#target
    return addRecord !== undefined && this.#rows.addWith(record, addRecord) && this.#sendFull()
  }

  end(): ReadOutcome {
    const { encoder } = this.#target
    encoder.end?.()
    do this.#sendChunk()
    while (encoder.pending > 0)
    return { ...this.#rows.outcome(this.#job.columns.length), trailer: encoder.trailer?.() }
  }

  #sendFull(): true {
    const { encoder } = this.#target
    if (encoder.pending < this.#chunkBytes) return true
    this.#sendChunk()
    if (this.#job.encoding.format === 'wire') this.#chunkBytes = LONG_CHUNK_BYTES
    while (encoder.pending >= CHUNK_BYTES) this.#sendChunk()
    return true
  }

  #sendPieces(raw: unknown[]): true {
    // Its key alone is needed after the row.
    raw.fill(null, 0, this.#job.columns.length)
    this.#collect(this.#longRows.longLength)
    for (const piece of this.#longRows.pieces()) this.#send(this.#rows.count(piece))
    return true
  }

  #sendChunk(): void {
    const chunk = this.#target.encoder.take()
    if (chunk.byteLength > LONG_CHUNK_BYTES) this.#collect(chunk.byteLength)
    this.#send(this.#rows.count(chunk))
  }

  #collect(bytes: number): void {
    this.#longBytes += bytes
    if (this.#longBytes < COLLECTED_BYTES) return
    this.#longBytes = 0
    collectGarbage()
  }
}
