/** Maps errors of PostgreSQL to refusals where the caller caused them. */

import { ERRORS, type ErrorName } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { DatabaseError } from 'pg'
import { isUnavailable, StatementTimeout } from '../../../lib/unavailable.ts'
import { heldError, tooOldError, withHorizon } from '../../catalogue/retention.ts'
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
import { HELD, TOO_OLD } from './retention/retention-triggers.ts'
import { IQL_ERROR_STATE } from './setup/helper-function.ts'

export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof DatabaseError)) return asUnavailable(error)
  const refusal = BY_STATE.get(error.code ?? '')
  return refusal === undefined ? asUnavailable(error) : refusal(error)
}

const outOfRange = (error: DatabaseError): Refusal => {
  if (isUnderflow(error.message)) return underflowError()
  // Only gh_at_most adds integers of 32 bits.
  return error.routine === 'int4pl' ? manyValuesError() : overflowError(rangedType(error.message))
}

/** By SQLSTATE. */
const BY_STATE: ReadonlyMap<string, (error: DatabaseError) => Refusal | undefined> = new Map([
  [IQL_ERROR_STATE, raised],
  ['22012', () => iqlError('DivisionByZero', 'Division by zero')],
  ['22003', outOfRange],
  ['22008', outOfRange],
  ['22015', outOfRange],
  ['2201E', () => iqlError('BadValue', 'The logarithm of a number that is not positive')],
  ['2201F', badPower],
  ['2201G', partsError],
  ['22014', partsError],
  ['22016', rowNumberError],
  ['22025', () => iqlError('BadValue', 'The pattern of LIKE ends with its escape character')],
  ['22019', () => iqlError('BadValue', 'The escape of LIKE must be one character')],
  ['21000', ({ routine }) => (routine === 'ExecOnConflictUpdate' ? rowTwiceError() : manyRowsError())],
  ['23502', ({ column }) => notNullError(column ?? '')],
  ['23505', keyTaken],
  ['23514', closedOrHeld],
  ['42P07', nameTakenError],
  ['54001', tooComplex],
  ['54011', tooComplex],
  ['54023', tooComplex],
  ['54000', tooComplex],
  ['53200', (cause) => refuse('Limit.Memory', 'The query needs more memory than the database has', { cause })],
  ['53400', tempFileLimit],
  ['GATEHOUSE_LOST_WRITES', ({ message }) => refuse('Data.LostWrites', message)],
  ['57014', (cause) => refuse('Limit.Time', 'The time limit was reached (the setting query_seconds)', { cause })],
])

/** Limits that our functions raise (setup/functions.ts), with the number of bytes as the detail. */
const LIMITS: ReadonlyMap<string, (detail: string) => Refusal> = new Map([
  ['Limit.Value', valueTooLongError],
  ['Limit.Search', searchTooLongError],
  ['Limit.Held', heldTextsError],
  ['Limit.Group', groupTextError],
  ['Limit.List', longListError],
  ['Limit.Row', rowTooLongError],
  ['Limit.Key', keyTooLong],
])

/** Raised by our functions. */
function raised({ message, detail = '' }: DatabaseError): Refusal | undefined {
  return LIMITS.get(message)?.(detail) ?? (isErrorName(message) ? iqlError(message, detail) : undefined)
}

/** Raised by the triggers of retention, under names that no check of another program has. */
function closedOrHeld({ constraint, table = '', detail = '' }: DatabaseError): Refusal | undefined {
  if (constraint === HELD) return heldError(table)
  return constraint === TOO_OLD ? withHorizon(tooOldError(table), BigInt(detail)) : undefined
}

function badPower({ message }: DatabaseError): Refusal {
  if (/square root/.test(message)) return iqlError('BadValue', 'The square root of a negative number')
  return /^zero/.test(message) ? zeroPowerError() : negativePowerError()
}

function tooComplex(error: DatabaseError): Refusal {
  // Many other columns are in the index too.
  if (/^index row/.test(error.message)) return refuse('Limit.Value', 'An entry of a key or an index would be too long')
  return complexityError(error)
}

function tempFileLimit(error: DatabaseError): Refusal | undefined {
  if (!/temp_file_limit/.test(error.message)) return asUnavailable(error)
  return tempFilesError(1024 * Number(/\((\d+)kB\)/.exec(error.message)?.[1]))
}

/** Why a query failed: the reason for stopping it, unless the database did not even answer the cancel request. */
export function toFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted && !(error instanceof StatementTimeout)) return signal.reason
  return asRefusal(error) ?? error
}

/** A serialization failure or deadlock: the transaction can be retried. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  // Rights and functions of two transactions are in the same rows of PostgreSQL's catalog.
  return error.code === '40001' || error.code === '40P01' || error.message === 'tuple concurrently updated'
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

/**
 * A connection that broke does not say whether the last statement, which may be the commit, was run; and a commit that was cancelled while
 * it waited for a standby is a commit.
 */
export function mayBeCommitted(error: unknown): boolean {
  return !isOfStatement(error) && isUnavailable(error)
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
function keyTaken({ detail = '' }: DatabaseError): Refusal {
  const columns = (/^Key \((.*?)\)=/.exec(detail)?.[1] ?? '').split(', ').map((name) => name.replaceAll('"', ''))
  return keyTakenError(columns)
}
