/** Maps errors of PostgreSQL to refusals where the caller caused them. */

import { ERRORS, type ErrorName } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { DatabaseError } from 'pg'
import { StatementTimeout } from '../../../lib/unavailable.ts'
import { refuse } from '../../errors.ts'
import { asUnavailable } from '../../unavailable.ts'
import {
  complexityError,
  groupTextError,
  heldTextsError,
  iqlError,
  keyTakenError,
  keyTooLongError,
  longListError,
  manyRowsError,
  manyValuesError,
  nameTakenError,
  negativePowerError,
  notNullError,
  overflowError,
  partsError,
  type RangedType,
  rowNumberError,
  rowTooLongError,
  rowTwiceError,
  searchTooLongError,
  tempFilesError,
  underflowError,
  valueTooLongError,
  zeroPowerError,
} from '../runtime-error.ts'
import { IQL_ERROR_STATE } from './setup/helper-function.ts'

export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof DatabaseError)) return asUnavailable(error)
  const { code = '', message, detail = '', column } = error
  switch (code) {
    case IQL_ERROR_STATE:
      if (message === 'Limit.Value') return valueTooLongError(detail)
      if (message === 'Limit.Search') return searchTooLongError()
      if (message === 'Limit.Held') return heldTextsError(detail)
      if (message === 'Limit.Group') return groupTextError(detail)
      if (message === 'Limit.List') return longListError(detail)
      if (message === 'Limit.Row') return rowTooLongError(detail)
      if (message === 'Limit.Key') return keyTooLong(detail)
      return isErrorName(message) ? iqlError(message, detail) : undefined
    case '22012':
      return iqlError('DivisionByZero', 'Division by zero')
    case '22003':
    case '22008':
    case '22015':
      if (isUnderflow(message)) return underflowError()
      // Only gh_at_most adds integers of 32 bits.
      if (error.routine === 'int4pl') return manyValuesError()
      return overflowError(rangedType(message))
    case '2201E':
      return iqlError('BadValue', 'The logarithm of a number that is not positive')
    case '2201F':
      if (/square root/.test(message)) return iqlError('BadValue', 'The square root of a negative number')
      return /^zero/.test(message) ? zeroPowerError() : negativePowerError()
    case '2201G':
    case '22014':
      return partsError()
    case '22016':
      return rowNumberError()
    case '22025':
      return iqlError('BadValue', 'The pattern of LIKE ends with its escape character')
    case '22019':
      return iqlError('BadValue', 'The escape of LIKE must be one character')
    case '21000':
      return error.routine === 'ExecOnConflictUpdate' ? rowTwiceError() : manyRowsError()
    case '23502':
      return notNullError(column ?? '')
    case '23505':
      return keyTaken(detail)
    case '42P07':
      return nameTakenError(error)
    case '54001':
    case '54011':
    case '54023':
    case '54000':
      // Many other columns are in the index too.
      if (/^index row/.test(message)) return refuse('Limit.Value', 'An entry of a key or an index would be too long')
      return complexityError(error)
    case '53200':
      return refuse('Limit.Memory', 'The query needs more memory than the database has', { cause: error })
    case '53400':
      if (!/temp_file_limit/.test(message)) return asUnavailable(error)
      return tempFilesError(1024 * Number(/\((\d+)kB\)/.exec(message)?.[1]))
    case '57014':
      return refuse('Limit.Time', 'The time limit was reached (the setting query_seconds)', { cause: error })
    default:
      return asUnavailable(error)
  }
}

/** What a query failed with: the reason why it was stopped, unless the database did not even answer the request to stop it. */
export function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted && !(error instanceof StatementTimeout)) return signal.reason
  return asRefusal(error) ?? error
}

/** A serialization failure or deadlock: the transaction can be retried. */
export function isTransient(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** The statement was prepared before its table changed. */
export function isOutdated(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
}

/** Waited for a lock, or ran, longer than the settings of its connection allow. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '57014')
}

/** SQLSTATEs of the server or the connection, which concern every statement of the round trip. */
const OF_SERVER = /^(?:08|57P|58|25P03|XX)/

/** Only the statement failed: the connection is usable, and what was not committed is rolled back. */
export function isOfStatement(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && !OF_SERVER.test(error.code ?? '')
}

function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(ERRORS, name)
}

/** The message is 'value out of range: underflow', or '"1e-400" is out of range for type double precision'. */
function isUnderflow(message: string): boolean {
  const text = /^"(.*)" is out of range for type double precision$/.exec(message)?.[1]
  return text === undefined ? /underflow/.test(message) : Number(text) === 0
}

function rangedType(message: string): RangedType {
  if (/bigint|integer/.test(message)) return 'Integer'
  if (/numeric/.test(message)) return 'Decimal'
  if (/interval/.test(message)) return 'Interval'
  return /date|timestamp/.test(message) ? 'Timestamp' : 'Double'
}

/** The detail is the number of bytes, then the column. */
function keyTooLong(detail: string): Refusal {
  const [bytes = '', ...column] = detail.split(' ')
  return keyTooLongError(column.join(' '), bytes)
}

/** The detail is 'Key (symbol, id)=(ACME, 7) already exists.' */
function keyTaken(detail: string): Refusal {
  const columns = (/^Key \((.*?)\)=/.exec(detail)?.[1] ?? '').split(', ').map((name) => name.replaceAll('"', ''))
  return keyTakenError(columns)
}
