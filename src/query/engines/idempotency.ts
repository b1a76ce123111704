/** Stored responses of requests with an Idempotency-Key: what both engines share. */
import { refuse } from '../errors.ts'
import type { IdempotencyKey, WriteOutcome } from './engine.ts'

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

/** JSON that keeps bytes distinct from texts, and integers from numbers. */
export function writeOutcome(outcome: WriteOutcome): string {
  return JSON.stringify(outcome, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { integer: value.toString() }
    if (typeof value === 'number' && !Number.isFinite(value)) return { double: String(value) }
    return value
  })
}

function readOutcome(text: string): WriteOutcome {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value
    if ('integer' in value) return BigInt(String(value.integer))
    if ('double' in value) return Number(value.double)
    // The form of Buffer.toJSON.
    return 'type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data)
      ? Buffer.from(value.data)
      : value
  }) as WriteOutcome
}
