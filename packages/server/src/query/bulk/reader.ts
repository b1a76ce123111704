/** What a bulk format is: it finds the columns of a body, then reads its rows as batches of columns. */
import type { ColumnBatch } from '../batches/batch.ts'
import type { NamedColumn } from '../batches/row-error.ts'
import type { BodyMemory } from './reader-memory.ts'
import type { Spool } from './spools.ts'

/** Bytes of a body as they arrive. */
export type ByteSource = AsyncIterable<Uint8Array>

export interface ReadBatch extends ColumnBatch {
  /** The line of each row; absent for binary formats, whose rows are counted. */
  readonly lines?: Uint32Array | undefined
}

export interface BulkReader {
  /** The columns that the body names, in its order; undefined if it names none. */
  readonly names: readonly string[] | undefined
  /** Reads the rows: `columns` are those of the table, in the order of the body. */
  read(columns: readonly NamedColumn[]): AsyncGenerator<ReadBatch, void, void>
}

/** A body that is kept on disk, for a format that describes its rows at its end. */
export interface KeptBody {
  readonly length: number
  read(start: number, end: number): Promise<Uint8Array>
}

/** What the readers of binary formats need of the request. */
export interface BodyStore {
  keep(source: ByteSource): Promise<KeptBody>
  /** For what is held for longer than a batch. */
  readonly memory: BodyMemory
  /** For what does not fit into memory. */
  openFile(): Promise<Spool>
  readonly signal: AbortSignal
}

/** A batch ends after this many rows or bytes. */
export const BATCH_ROWS = 8192
export const BATCH_BYTES = 1024 * 1024
/** A table has fewer. */
export const MAX_COLUMNS = 2000
