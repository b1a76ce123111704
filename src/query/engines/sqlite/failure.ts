/** What went wrong in SQLite, in words that can cross a pipe and that the caller may read. */
import { Refusal } from '../../../protocol/refusal.ts'
import { WritesStopped } from '../../../store/wal-sync.ts'
import { type QueryErrorCode, refuse } from '../../errors.ts'
import { iqlError } from '../runtime-error.ts'

export type Failure =
  | {
      readonly kind: 'refusal'
      readonly code: string
      readonly status: number
      readonly detail: string
      readonly members: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'bug'; readonly message: string; readonly stack: string | undefined }

export function describeFailure(error: unknown): Failure {
  const known = asRefusal(error)
  if (known !== undefined) {
    const { code, status, message, details } = known
    return { kind: 'refusal', code, status, detail: message, members: details.members ?? {} }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'bug', message, stack }
}

export function reviveFailure(failure: Failure): Error {
  if (failure.kind === 'refusal')
    return new Refusal(failure.code, failure.status, failure.detail, { members: failure.members })
  return Object.assign(new Error(failure.message), { stack: failure.stack })
}

/** What the caller has done, or has to know, as a Refusal; undefined for a bug of ours. */
export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return undefined
  if (error instanceof WritesStopped)
    return refuse('Data.WritesStopped', 'The disk failed; nothing is written until the server is restarted', {
      cause: error,
    })
  const code: unknown = 'code' in error ? error.code : undefined
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return keyTaken(error.message)
  if (code === 'SQLITE_CONSTRAINT_NOTNULL') return notNull(error.message)
  if (/integer overflow/.test(error.message)) return iqlError('Overflow', 'The result leaves the range of Integer')
  if (/ntile must be a positive/.test(error.message))
    return iqlError('BadValue', 'The number of parts must be above zero')
  for (const [pattern, name, detail] of BY_MESSAGE) {
    if (pattern.test(error.message)) return refuse(name, detail, { cause: error })
  }
  return undefined
}

const BY_MESSAGE: readonly (readonly [RegExp, QueryErrorCode, string])[] = [
  [/string or blob too big|out of memory/, 'Limit.Memory', 'The query needs more memory than one query may have'],
  [
    /parser stack overflow|Expression tree is too large|too many (terms|SQL variables|columns)/,
    'Limit.Complexity',
    'The statement is too large for the database',
  ],
  [/^index .* already exists$/, 'Data.TableExists', 'The name is taken'],
  [/LIKE or GLOB pattern too complex/, 'Limit.Complexity', 'The pattern is too long'],
]

/** "UNIQUE constraint failed: trades.id, trades.leg" → the columns. */
function keyTaken(message: string): Refusal {
  const columns = columnsIn(message)
  return refuse('Data.UniqueViolation', `A row with this ${columns.join(', ')} exists already`, {
    members: { Columns: columns },
  })
}

function notNull(message: string): Refusal {
  const columns = columnsIn(message)
  return iqlError('NotNull', `The column ${columns.join(', ')} must have a value`)
}

function columnsIn(message: string): string[] {
  const list = message.slice(message.indexOf(': ') + 2)
  return list.split(', ').map((name) => name.slice(name.indexOf('.') + 1))
}
