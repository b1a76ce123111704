/** Maps errors of SQLite to refusals where the caller caused them, and carries errors from one process to another. */
import { Refusal } from 'gatehouse-protocol'
import { WritesStopped } from '../../../store/database/wal-sync.ts'
import { heldError, tooOldError } from '../../catalogue/retention.ts'
import { refuse } from '../../errors.ts'
import { asUnavailable } from '../../unavailable.ts'
import {
  complexityError,
  keyTakenError,
  memoryError,
  nameTakenError,
  notNullError,
  overflowError,
  partsError,
  rowNumberError,
} from '../runtime-error.ts'
import { HELD, TOO_OLD } from './retention/retention-triggers.ts'

export type Failure =
  | {
      readonly kind: 'refusal'
      readonly code: string
      readonly status: number
      readonly detail: string
      readonly members: Readonly<Record<string, unknown>>
      readonly headers: Readonly<Record<string, string>>
    }
  | { readonly kind: 'bug'; readonly message: string; readonly stack: string | undefined }

export function describeFailure(error: unknown): Failure {
  const known = asRefusal(error)
  if (known !== undefined) {
    const { code, status, message, details } = known
    return {
      kind: 'refusal',
      code,
      status,
      detail: message,
      members: details.members ?? {},
      headers: details.headers ?? {},
    }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'bug', message, stack }
}

export function reviveFailure(failure: Failure): Error {
  if (failure.kind === 'refusal') {
    const { code, status, detail, members, headers } = failure
    return new Refusal(code, status, detail, { members, headers })
  }
  return Object.assign(new Error(failure.message), { stack: failure.stack })
}

/** The error as a Refusal that the caller gets; undefined for a bug of the service. */
export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return undefined
  if (error instanceof WritesStopped)
    return refuse('Data.WritesStopped', 'The disk failed; no writes are accepted until the server is restarted', {
      cause: error,
    })
  const code: unknown = 'code' in error ? error.code : undefined
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
    return keyTakenError(columnsIn(error.message))
  if (code === 'SQLITE_CONSTRAINT_NOTNULL') return notNullError(columnsIn(error.message).join(', '))
  if (code === 'SQLITE_CONSTRAINT_TRIGGER') return refusalOfTrigger(error.message)
  if (/integer overflow/.test(error.message)) return overflowError('Integer')
  if (/ntile must be a positive/.test(error.message)) return partsError()
  if (/nth_value must be a positive/.test(error.message)) return rowNumberError()
  for (const [pattern, refusal] of BY_MESSAGE) if (pattern.test(error.message)) return refusal(error)
  return asUnavailable(error)
}

function refusalOfTrigger(message: string): Refusal | undefined {
  if (message.startsWith(TOO_OLD)) return tooOldError(message.slice(TOO_OLD.length))
  return message.startsWith(HELD) ? heldError(message.slice(HELD.length)) : undefined
}

const BY_MESSAGE: readonly (readonly [RegExp, (cause: Error) => Refusal])[] = [
  [/string or blob too big|out of memory|Array buffer allocation failed|Invalid string length/, memoryError],
  [
    /parser stack overflow|Expression tree is too large|too many (terms|SQL variables|columns|references|FROM clause terms|arguments)|at most \d+ tables in a join/,
    complexityError,
  ],
  [/^index .* already exists$/, nameTakenError],
  [/LIKE or GLOB pattern too complex/, (cause) => refuse('Limit.Complexity', 'The pattern is too long', { cause })],
]

/** The columns in 'UNIQUE constraint failed: trades.id, trades.leg'. */
function columnsIn(message: string): string[] {
  const list = message.slice(message.indexOf(': ') + 2)
  return list.split(', ').map((name) => name.slice(name.indexOf('.') + 1))
}
