/** IQL errors that occur while a statement runs, and therefore have no position in its text. */

import {
  ERRORS,
  type ErrorName,
  MAX_SEARCH_STEPS,
  MAX_SERIES_ROWS_TEXT,
  type MissingLicence,
  unknownZone,
  ZONE_WIDTH,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { licenceRefusal } from '../catalogue/licences.ts'
import { refuse } from '../errors.ts'
import type { ConstraintText } from './constraint-text.ts'

/** The hint is the advice of the table of errors. */
export function iqlError(name: ErrorName, detail: string): Refusal {
  const { status, advice } = ERRORS[name]
  return new Refusal(`IQL.${name}`, status, detail, { members: { Hint: advice } })
}

/** The types whose values have a range. Which Decimal it was is not known to every database. */
export type RangedType = 'Integer' | 'Decimal' | 'Double' | 'Timestamp' | 'Date' | 'Interval'

/** Errors that both engines report. */
export const overflowError = (type: RangedType): Refusal =>
  iqlError('Overflow', `The result is out of range for ${type}`)
export const underflowError = (): Refusal => iqlError('Underflow', 'The result is too close to zero for a Double')
export const rowFilterError = (): Refusal =>
  iqlError('RowFilter', 'The row filter of the table would hide the written row from its writer')
/** Of a row that may not be written: see emit/write.ts. */
export function verdictError(verdict: number, constraints: readonly ConstraintText[]): Refusal {
  const violated = constraints[verdict - 1]
  if (violated === undefined) return rowFilterError()
  const { name, text, missing } = violated
  return missing === undefined ? checkError(name, text) : insertNeedsLicence(missing)
}
function insertNeedsLicence({ products, reason }: MissingLicence): Refusal {
  const text = `Real-time access to ${products.join(' or ')} is needed to insert this row: ${reason}`
  return licenceRefusal('Licence.Needed', text, { Products: products, Reason: reason })
}
export const checkError = (name: string, condition: string): Refusal =>
  refuse('Data.CheckViolation', `A row does not meet the check ${name}: ${condition}`, {
    members: { Constraint: name },
  })
export const rowTwiceError = (): Refusal =>
  iqlError('RowTwice', 'Two of the given rows have the same key, and one would change the other')
export const manyRowsError = (): Refusal =>
  iqlError('ManyRows', 'A sub-query used as a value returned more than one row')
export const notNullError = (column: string): Refusal => iqlError('NotNull', `The column ${column} must have a value`)
export const keyTakenError = (columns: readonly string[]): Refusal =>
  refuse('Data.UniqueViolation', `A row with this ${columns.join(', ')} already exists`, {
    members: { Columns: columns },
  })
export const nameTakenError = (cause: Error): Refusal => refuse('Data.TableExists', 'The name is taken', { cause })
export const complexityError = (cause: Error): Refusal =>
  refuse('Limit.Complexity', 'The statement is too large for the database', { cause })
/** The argument of ntile. */
export const partsError = (): Refusal => iqlError('BadValue', 'The number of parts must be positive')
/** The number of a row for nth_value. */
export const rowNumberError = (): Refusal => iqlError('BadValue', 'The rows of a frame are counted from 1')
/** The second argument of ema. */
export const averagedRowsError = (): Refusal =>
  iqlError('BadValue', 'An exponential moving average is over at least one row')
export const zeroPowerError = (): Refusal => iqlError('BadValue', 'Zero raised to a negative power')
export const negativePowerError = (): Refusal =>
  iqlError('BadValue', 'A negative number raised to a power that is not an integer')
/** A parameter of percentile_cont or percentile_disc. */
export const badFractionError = (): Refusal =>
  iqlError('BadValue', 'The fraction of a percentile is a number from 0 to 1')
/** One process or connection needs too much memory. */
export const memoryError = (cause?: Error): Refusal =>
  refuse('Limit.Memory', 'The query needs more memory than one query may use', { cause })
/** Files for sorts, groups and joins that do not fit into memory. */
export const tempFilesError = (
  bytes: number,
  setting: 'query_temp_bytes' | 'query_temp_bytes_per_user' = 'query_temp_bytes',
): Refusal =>
  refuse(
    'Limit.Disk',
    `${setting === 'query_temp_bytes' ? 'The query needs' : 'Your queries need'} temporary files of more than ${bytes} bytes, which is the limit (the setting ${setting})`,
  )
/** A group of a median or a percentile. */
export const manyValuesError = (): Refusal =>
  refuse('Limit.Memory', 'A group has more values than the medians and percentiles of a statement can hold')

export const widthError = (): Refusal => iqlError('BadValue', 'The width of a bucket must be positive')
export const zoneWidthError = (): Refusal => iqlError('BadValue', `With a time zone a bucket has ${ZONE_WIDTH}`)
/** The value of a parameter. */
export function unknownZoneError(name: string, hint: string): Refusal {
  return new Refusal('IQL.BadValue', ERRORS.BadValue.status, unknownZone(name), { members: { Hint: hint } })
}
/** The arguments of generate_series. */
export const seriesStepError = (): Refusal => iqlError('BadValue', 'The step of a series must be positive')
export const seriesRowsError = (): Refusal =>
  iqlError('BadValue', `A series can have at most ${MAX_SERIES_ROWS_TEXT} rows`)

/** A function or || would create a longer text than the statement allows each of them. */
export const valueTooLongError = (maxBytes: number | bigint | string): Refusal =>
  refuse('Limit.Value', `A text that the statement creates would have more than ${maxBytes} bytes`)
/** A search whose steps may be too many: see gatehouse-iql's bound/search.ts. */
export const searchTooLongError = (): Refusal =>
  refuse(
    'Limit.Value',
    `A text and what is searched for in it are too long: their bytes, multiplied, may be at most ${MAX_SEARCH_STEPS}`,
    { members: { Hint: 'search for a shorter text, or search a part of the text, such as left(x, 100000)' } },
  )
/** The texts of one row together are longer than a row of a result may be, which also bounds the rows that are written. */
export const rowTooLongError = (maxBytes: number | bigint | string): Refusal =>
  refuse('Limit.Value', `A row of the result would have more than ${maxBytes} bytes`)
/** The copies of long texts that the statement makes for one row would take too much memory. */
export const heldTextsError = (maxBytes: number | bigint | string): Refusal =>
  refuse(
    'Limit.Value',
    `The statement uses the texts of a row so often that one of them may have at most ${maxBytes} bytes`,
  )
/** The least or the greatest text of a group. */
export const groupTextError = (maxBytes: number | bigint | string): Refusal =>
  refuse('Limit.Value', `Texts in the min and max of a group can have at most ${maxBytes} bytes`)
/** The rows of a query with which NOT IN compares. */
export const longListError = (maxBytes: number | bigint | string): Refusal =>
  refuse(
    'Limit.Memory',
    `The query in IN has rows of more than ${maxBytes} bytes, which the database would hold in memory`,
  )
/** A value in a key or an index. */
export const keyTooLongError = (column: string, maxBytes: number | bigint | string): Refusal =>
  refuse('Limit.Value', `The value of ${column} is in a key or an index, where it can have at most ${maxBytes} bytes`)
/** A parameter of LIMIT or OFFSET. */
export const rowCountError = (value: unknown): Refusal =>
  iqlError('BadLimit', `LIMIT and OFFSET take a whole number, 0 or greater, not ${String(value)}`)
