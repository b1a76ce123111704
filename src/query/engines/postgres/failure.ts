/** What went wrong in PostgreSQL, as a Refusal where it is the caller's doing. */
import { DatabaseError } from 'pg'
import { Refusal } from '../../../protocol/refusal.ts'
import { refuse } from '../../errors.ts'
import { ERRORS, type ErrorName } from '../../iql/errors.ts'
import { iqlError, TOO_SMALL } from '../runtime-error.ts'
import { IQL_ERROR_STATE } from './functions.ts'

export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof DatabaseError)) return undefined
  const { code = '', message, detail = '', column } = error
  switch (code) {
    case IQL_ERROR_STATE:
      return isErrorName(message) ? iqlError(message, detail) : undefined
    case '22012':
      return iqlError('DivisionByZero', 'Division by zero')
    case '22003':
    case '22008':
    case '22015':
      if (isUnderflow(message)) return iqlError('Underflow', TOO_SMALL)
      return iqlError('Overflow', overflowText(message))
    case '2201E':
      return iqlError('BadValue', 'The logarithm of a number that is not above zero')
    case '2201F':
      return iqlError(
        'BadValue',
        /square root/.test(message) ? 'The square root of a number below zero' : 'The power is not defined',
      )
    case '2201G':
    case '22014':
      return iqlError('BadValue', 'The number of parts must be above zero')
    case '22025':
      return iqlError('BadValue', 'The pattern of LIKE ends with its escape character')
    case '22019':
      return iqlError('BadValue', 'The escape of LIKE is one character')
    case '21000':
      if (error.routine === 'ExecOnConflictUpdate')
        return iqlError('RowTwice', 'Two of the rows given have the same key, and one of them would change the other')
      return iqlError('ManyRows', 'A sub-query used as a value gave more than one row')
    case '23502':
      return iqlError('NotNull', `The column ${column ?? ''} must have a value`)
    case '23505':
      return keyTaken(detail)
    case '42P07':
      return refuse('Data.TableExists', 'The name is taken')
    case '54001':
    case '54011':
    case '54023':
    case '54000':
      return refuse('Limit.Complexity', 'The statement is too large for the database', { cause: error })
    case '53200':
    case '53100':
      return refuse('Limit.Memory', 'The query needs more memory than the database has', { cause: error })
    case '53300':
      return refuse('Limit.Overload', 'The database takes no more connections', {
        headers: { 'Retry-After': '1' },
        cause: error,
      })
    case '57014':
      return refuse('Limit.Time', 'The time limit was reached', { cause: error })
    default:
      return undefined
  }
}

/** A transaction that lost against another one and may be tried again. */
export function isTransient(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** The statement was prepared over a table that has since become another one of the same name. */
export function isOutdated(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
}

/** Waited for a lock, or ran, for longer than its connection allows. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '57014')
}

/** Of the server or the connection: what it says of one statement it says of all that were under way. */
const OF_THE_SERVER = /^(?:08|57P|58|25P03|XX)/

/** The statement failed, and nothing else: the connection lives, and what was not committed is undone. */
export function isOfStatement(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && !OF_THE_SERVER.test(error.code ?? '')
}

function isErrorName(name: string): name is ErrorName {
  return name in ERRORS
}

/** "value out of range: underflow", or of a text: "1e-400" is out of range for type double precision. */
function isUnderflow(message: string): boolean {
  const text = /^"(.*)" is out of range for type double precision$/.exec(message)?.[1]
  return text === undefined ? /underflow/.test(message) : Number(text) === 0
}

function overflowText(message: string): string {
  if (/bigint|integer/.test(message)) return 'The result leaves the range of Integer'
  if (/numeric/.test(message)) return 'The result leaves the range of Decimal'
  if (/interval|date|timestamp/.test(message)) return 'The result leaves the range of Timestamp'
  return 'The result leaves the range of Double'
}

/** Detail: "Key (symbol, id)=(BHP, 7) already exists." */
function keyTaken(detail: string): Refusal {
  const columns = (/^Key \((.*?)\)=/.exec(detail)?.[1] ?? '').split(', ').map((name) => name.replaceAll('"', ''))
  return refuse('Data.UniqueViolation', `A row with this ${columns.join(', ')} exists already`, {
    members: { Columns: columns },
  })
}
