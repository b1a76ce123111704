/** Checks the rows of a batch before they are spooled: values that must be there, and lengths. */
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import type { Nulls, Vector } from '../batches/batch.ts'
import { atPlace, type NamedColumn, type Place } from '../batches/row-error.ts'
import { keyTooLongError, notNullError } from '../engines/runtime-error.ts'
import { refuse } from '../errors.ts'
import { type ClosedRows, refuseClosed } from './closed-rows.ts'
import type { ReadBatch } from './reader.ts'

export interface CheckedColumn extends NamedColumn {
  /** It must have a value, and has no default. */
  readonly isRequired: boolean
  /** The most bytes of a value in a key or an index. */
  readonly maxBytes: number | undefined
}

/** `before`: the rows of earlier batches. */
export function checkBatch(
  batch: ReadBatch,
  columns: readonly CheckedColumn[],
  before: number,
  closed: ClosedRows | undefined,
): void {
  const { rows, columns: vectors, lines } = batch
  const rowPlace = (row: number): Place => {
    const line = lines?.[row]
    return line === undefined ? { row: before + row + 1 } : { line }
  }
  let longest = 0
  for (const [index, { name, isRequired, maxBytes }] of columns.entries()) {
    const vector = vectors[index]
    if (vector === undefined) throw new Error('A batch without a column')
    const missing = isRequired ? firstNull(vector.nulls) : -1
    if (missing >= 0) throw atPlace(notNullError(name), rowPlace(missing))
    if (vector.kind !== 'bytes') continue
    longest += vector.data.length
    const long = maxBytes === undefined ? -1 : vector.lengths.findIndex((length) => length > maxBytes)
    if (long >= 0) throw atPlace(keyTooLongError(name, maxBytes ?? 0), rowPlace(long))
  }
  if (closed !== undefined) refuseClosed(batch, closed, rowPlace)
  if (longest <= MAX_RESULT_ROW_BYTES) return
  for (let row = 0; row < rows; row++)
    if (rowBytes(vectors, row) > MAX_RESULT_ROW_BYTES)
      throw atPlace(refuse('Limit.Value', `The row has more than ${MAX_RESULT_ROW_BYTES} bytes`), rowPlace(row))
}

function firstNull(nulls: Nulls): number {
  return nulls === undefined ? -1 : nulls.indexOf(1)
}

function rowBytes(vectors: readonly Vector[], row: number): number {
  return vectors.reduce((sum, vector) => sum + (vector.kind === 'bytes' ? (vector.lengths[row] ?? 0) : 0), 0)
}
