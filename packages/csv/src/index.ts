/** Files of separated values: their delimiter, the types of their columns, their rows. The one entry of this package. */
export {
  type Duplicates,
  insertPart,
  type PartOutcome,
  type PendingRow,
  type RefusedRow,
  type SendPart,
} from './bulk-part.ts'
export { type Guess, guessType, parseType } from './column-types.ts'
export { DATE_FORMATS, dateFormatsOfMost, findDateFormat } from './date-formats.ts'
export { DELIMITER_SAMPLE, delimiterName, guessDelimiter, readDelimiter } from './delimiter.ts'
export { type Doubt, describeDoubt, findDoubt } from './doubts.ts'
export { findNumberFormat, NUMBER_FORMATS, numberFormatsFor, usualNumberFormat } from './number-formats.ts'
export { type CsvRow, csvField, parseCsvRecord } from './record.ts'
export { hasNotes, rejectedHeader, rejectedLine, withoutNotes } from './rejected.ts'
export { parseFields, rowCsv, rowFields, type TargetColumn } from './row.ts'
export { inZone, isZone, toUtc } from './time-zone.ts'
export type { ValueFormat } from './value-format.ts'
