/** The memory of writes that may happen only once: what a repetition is told, and when it is refused. */
import type { Refusal } from '../../protocol/refusal.ts'
import { refuse } from '../errors.ts'
import type { Once, WriteOutcome } from './engine.ts'

/** An outcome as text; bytes are told apart from texts, integers from digits. */
export function writeOutcome(outcome: WriteOutcome): string {
  return JSON.stringify(outcome, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { integer: value.toString() }
    if (typeof value === 'number' && !Number.isFinite(value)) return { double: String(value) }
    return value
  })
}

export function readOutcome(text: string): WriteOutcome {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value
    if ('integer' in value) return BigInt(String(value.integer))
    if ('double' in value) return Number(value.double)
    // What Buffer.toJSON makes.
    return 'type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data)
      ? Buffer.from(value.data)
      : value
  }) as WriteOutcome
}

export function mismatch(once: Once): Refusal {
  return refuse(
    'Request.IdempotencyMismatch',
    `The Idempotency-Key ${JSON.stringify(once.key)} was used for a request with another body`,
  )
}
