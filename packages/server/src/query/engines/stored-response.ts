/**
 * The response that is stored with an idempotency key, as a text: the column `answer` of `_gh_requests`. Rows of that table are inserted
 * by `idempotency-keys.ts` of each engine.
 */
import { refuse } from '../errors.ts'
import type { Cell } from '../model/result.ts'
import type { IdempotencyKey, WriteOutcome } from './engine.ts'

/** A response that is longer counts by its bytes, others by their number only. */
export const LONG_RESPONSE_BYTES = 4096

/** A row of `_gh_requests`. */
export interface ResponseRow {
  readonly fingerprint: string
  readonly answer: string
}

/** The stored outcome. Refuses a key that was used for another request. */
export function readResponse(row: ResponseRow, { key, fingerprint }: IdempotencyKey): WriteOutcome {
  if (row.fingerprint !== fingerprint)
    throw refuse(
      'Request.IdempotencyMismatch',
      `The Idempotency-Key ${JSON.stringify(key)} was used for a request with another body`,
    )
  return readOutcome(row.answer)
}

/** JSON that keeps bytes distinct from texts, and integers from numbers. Cells are converted first: a replacer takes ten times as long. */
export function writeOutcome(outcome: WriteOutcome): string {
  return JSON.stringify({ ...outcome, rows: outcome.rows.map((row) => row.map(storedCell)) })
}

function storedCell(cell: Cell): unknown {
  if (typeof cell === 'bigint') return { integer: cell.toString() }
  if (typeof cell === 'number' && (!Number.isFinite(cell) || Object.is(cell, -0)))
    return { double: Object.is(cell, -0) ? '-0' : String(cell) }
  return cell instanceof Uint8Array ? { bytes: Buffer.from(cell).toString('base64') } : cell
}

function readOutcome(text: string): WriteOutcome {
  const outcome: StoredOutcome = JSON.parse(text)
  return { ...outcome, rows: outcome.rows.map((row) => row.map(readCell)) }
}

type StoredOutcome = Omit<WriteOutcome, 'rows'> & { readonly rows: readonly (readonly StoredCell[])[] }

type StoredCell =
  | Exclude<Cell, bigint | Uint8Array>
  | { readonly integer: string }
  | { readonly double: string }
  | { readonly bytes: string }
  /** As earlier versions wrote bytes: Buffer.toJSON. */
  | { readonly data: readonly number[] }

function readCell(cell: StoredCell): Cell {
  if (typeof cell !== 'object' || cell === null) return cell
  if ('integer' in cell) return BigInt(cell.integer)
  if ('double' in cell) return Number(cell.double)
  return 'bytes' in cell ? Buffer.from(cell.bytes, 'base64') : Buffer.from(cell.data)
}
